"""The width that each method is planned with, against its formula; the smallest n; mistakes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.inference import planning
from lmprobe.inference.planning import (
    PLANNED,
    claimable_effect,
    meaning_of_variance,
    sample_size,
)
from lmprobe.intervals.methods.stratified import bernstein_halfwidth

N, SHARE, BOUND, CONFIDENCE = 700, 0.3, 3.0, 0.9
ALPHA = 1 - CONFIDENCE
LARGEST = 9 / 4
"""The variance of costs that are 0 and 3 equally often."""
GIVEN: dict[str, Any] = {"group_share": SHARE, "cost_bound": BOUND, "confidence": CONFIDENCE}
WITHIN = ("exact", "stratified-bernstein", "betting", "score", "bootstrap")
"""Methods whose variance is that of the cost within a group."""


def width(method: str, variance: float | None = None, n: float = N) -> float:
    return claimable_effect(n, **GIVEN, variance=variance, method=method)


class TestWidths:
    @pytest.mark.parametrize("variance", [None, 1.7])
    def test_bernsteins_is_equation_3(self, variance: float | None) -> None:
        t = width("bernstein", variance)
        # The amortized disparity lies within C / γ of zero, and so varies by at most (C / γ)².
        known = (BOUND / SHARE) ** 2 if variance is None else variance
        exponent = -N * t**2 / (2 * known + 2 / 3 * (BOUND / SHARE) * t)
        assert 2 * math.exp(exponent) == pytest.approx(ALPHA)

    def test_hoeffdings_is_that_of_a_range_of_twice_the_amortized_bound(self) -> None:
        t = width("hoeffding")
        assert 2 * math.exp(-2 * N * t**2 / (2 * BOUND / SHARE) ** 2) == pytest.approx(ALPHA)

    def test_the_stratified_one_adds_the_ranges_of_both_groups(self) -> None:
        t = width("stratified")
        spread = BOUND**2 / (0.3 * N) + BOUND**2 / (0.7 * N)
        assert 2 * math.exp(-2 * t**2 / spread) == pytest.approx(ALPHA)

    @pytest.mark.parametrize(
        ("variance", "rate"),
        # 0.1 and 0.2 are the rates at which 0/1 costs vary by 0.09 and 0.16.
        [(None, 0.5), (9 * 0.09, 0.1), (9 * 0.16, 0.2), (0.0, 0.0), (50.0, 0.5)],
    )
    def test_the_stratified_bernstein_takes_costs_of_zero_and_the_bound(
        self, variance: float | None, rate: float
    ) -> None:
        mean, spread = 3 * rate, 9 * rate * (1 - rate)
        expected = bernstein_halfwidth(
            210, 490, means=(mean, mean), variances=(spread, spread), cost_bound=3.0, confidence=0.9
        )
        assert width("stratified-bernstein", variance) == pytest.approx(expected)

    @pytest.mark.parametrize(("n", "finite"), [(3, False), (3.34, True), (5, True)])
    def test_a_group_of_one_row_has_no_variance(self, n: float, finite: bool) -> None:
        """A share of 0.3 is 0.9 of a row of three."""
        assert math.isfinite(width("stratified-bernstein", n=n)) is finite

    def test_a_group_of_exactly_one_row_has_no_variance_either(self) -> None:
        assert claimable_effect(2, method="stratified-bernstein") == math.inf

    @pytest.mark.parametrize("method", ["score", "bootstrap"])
    @pytest.mark.parametrize(("variance", "known"), [(None, LARGEST), (1.7, 1.7), (50.0, LARGEST)])
    def test_the_approximate_ones_follow_the_normal_law(
        self, method: str, variance: float | None, known: float
    ) -> None:
        error = math.sqrt(known / (0.3 * N) + known / (0.7 * N))
        assert width(method, variance) == pytest.approx(stats.norm.isf(0.05) * error)

    @pytest.mark.parametrize(("variance", "known"), [(None, LARGEST), (1.7, 1.7), (50.0, LARGEST)])
    def test_bettings_is_hoeffdings_with_the_variance(
        self, variance: float | None, known: float
    ) -> None:
        log = math.log(2 / (0.95 * ALPHA))
        spread = known / (0.3 * N) + known / (0.7 * N)
        assert width("betting", variance) == pytest.approx(math.sqrt(2 * log * spread))

    @pytest.mark.parametrize(
        ("variance", "rate"), [(None, 0.5), (9 * 0.09, 0.1), (9 * 0.16, 0.2), (0.0, 0.0), (50, 0.5)]
    )
    def test_the_exact_one_takes_costs_of_zero_and_the_bound(
        self, monkeypatch: pytest.MonkeyPatch, variance: float | None, rate: float
    ) -> None:
        def found(*given: float) -> float:
            assert given == pytest.approx((N, SHARE, rate, CONFIDENCE))
            return 0.2

        monkeypatch.setattr(planning, "exact_claimable_effect", found)
        assert width("exact", variance) == pytest.approx(3 * 0.2)

    @pytest.mark.parametrize("method", sorted({*WITHIN} - {"exact"}))
    def test_no_cost_varies_more_than_one_of_even_odds(self, method: str) -> None:
        assert width(method, LARGEST) == width(method)
        assert width(method, 2 * LARGEST) == width(method)
        assert width(method, LARGEST / 2) < width(method)

    def test_the_defaults_are_even_groups_a_cost_of_one_and_95_percent(self) -> None:
        log = math.log(2 / 0.05)
        assert claimable_effect(800, method="hoeffding") == pytest.approx(
            4 * math.sqrt(log / (2 * 800))
        )
        # 4² log 40 / (2 effect²), rounded up.
        assert sample_size(0.1, method="hoeffding") == math.ceil(16 * log / (2 * 0.1**2))
        assert claimable_effect(800) == claimable_effect(800, method="bernstein")
        assert sample_size(0.1) == sample_size(0.1, method="bernstein")


class TestSmallest:
    @pytest.mark.parametrize("method", ["hoeffding", "stratified", "score", "betting", "bernstein"])
    def test_an_effect_as_large_as_the_half_width_needs_one_row_more(self, method: str) -> None:
        effect = claimable_effect(1000, method=method)
        assert sample_size(effect, method=method) == 1001
        assert sample_size(math.nextafter(effect, 1), method=method) == 1000

    def test_two_rows_are_the_fewest(self) -> None:
        assert sample_size(1.0, confidence=0.1, variance=1e-9, method="score") == 2

    def test_no_effect_is_planned_that_needs_more_than_two_to_the_sixtieth(self) -> None:
        last = claimable_effect(2**60, method="hoeffding")
        assert sample_size(1.001 * last, method="hoeffding") == pytest.approx(2**60, rel=0.01)
        with pytest.raises(InputError, match="no sample is large enough to claim"):
            sample_size(0.999 * last, method="hoeffding")

    def test_the_largest_cost_is_the_largest_effect(self) -> None:
        assert sample_size(3.0, cost_bound=3.0, method="hoeffding") == sample_size(
            1.0, method="hoeffding"
        )
        with pytest.raises(InputError, match="`effect` must be positive and at most"):
            sample_size(3.01, cost_bound=3.0, method="hoeffding")
        with pytest.raises(InputError, match="`effect` must be positive and at most"):
            sample_size(0.0, method="hoeffding")

    def test_the_exact_number_depends_on_the_share_of_the_bound(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def found(*given: float) -> int:
            assert given == pytest.approx((0.25, SHARE, 0.1, CONFIDENCE))
            return 33

        monkeypatch.setattr(planning, "exact_sample_size", found)
        assert sample_size(0.75, **GIVEN, variance=9 * 0.09, method="exact") == 33


class TestMistakes:
    @pytest.mark.parametrize("n", [0, -1, math.nan])
    def test_rows_are_positive(self, n: float) -> None:
        with pytest.raises(InputError, match="`n` must be positive"):
            claimable_effect(n, method="hoeffding")
        assert claimable_effect(0.5, method="hoeffding") > 1

    @pytest.mark.parametrize("bound", [0, -1, math.inf, math.nan])
    def test_the_cost_bound_is_positive_and_finite(self, bound: float) -> None:
        with pytest.raises(InputError, match="`cost_bound` must be positive and finite"):
            claimable_effect(100, cost_bound=bound, method="hoeffding")
        assert claimable_effect(1e6, cost_bound=0.5, method="hoeffding") < 0.5

    @pytest.mark.parametrize("variance", [-0.01, math.inf, math.nan])
    def test_the_variance_is_finite_and_not_negative(self, variance: float) -> None:
        with pytest.raises(InputError, match="`variance` must be finite and not negative"):
            claimable_effect(100, variance=variance)

    @pytest.mark.parametrize("method", PLANNED)
    def test_no_variance_at_all_is_refused_by_the_normal_law_alone(self, method: str) -> None:
        if method in ("score", "bootstrap"):
            with pytest.raises(InputError, match=f'`variance` must be positive for "{method}"'):
                claimable_effect(100, variance=0, method=method)
        else:
            assert claimable_effect(8, variance=0, method=method) >= 0
        assert claimable_effect(8, variance=0.2, method=method) > 0

    def test_a_method_is_one_that_can_be_planned(self) -> None:
        with pytest.raises(InputError, match='no plan for "scor"; did you mean "score"'):
            claimable_effect(100, method="scor")

    @pytest.mark.parametrize(
        ("argument", "value"), [("confidence", 1.0), ("group_share", 0.51), ("group_share", 0.0)]
    )
    def test_the_argument_is_named(self, argument: str, value: float) -> None:
        with pytest.raises(InputError, match=f"`{argument}`"):
            claimable_effect(100, **{argument: value})  # type: ignore[arg-type]


def test_what_the_variance_is_of() -> None:
    meanings = {method: meaning_of_variance(method) for method in PLANNED}
    assert meanings.pop("bernstein") == "of the amortized disparity"
    assert {meanings.pop(name) for name in ("hoeffding", "stratified")} == {"not used"}
    assert set(meanings) == set(WITHIN)
    assert set(meanings.values()) == {"of the cost within a group"}
