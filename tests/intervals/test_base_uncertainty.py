"""The correction of a counted base against plain loops over its tables."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.intervals import base_uncertainty
from lmprobe.intervals.base_uncertainty import (
    BaseCorrection,
    Reliability,
    base_correction,
    checked_counts,
    concentration,
    is_enough,
    posterior_rates,
    reliability,
    survey_correction,
    with_noise,
)
from lmprobe.intervals.cross_fit import CrossFittedLean, blurred_lean, cross_fitted_lean
from lmprobe.results import Interval

COUNTS = np.array([[7.0, 2.0, 4.0], [1.0, 6.0, 5.0]])
GIVEN_TASK, GIVEN_GROUP = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_half_of_what_there_is_must_be_seen() -> None:
    assert is_enough(0.5)
    assert is_enough(1.0)
    assert not is_enough(0.4999)
    assert is_enough(None)


class TestCorrection:
    def corrected(self, proportional: float, even: float = 1.0) -> BaseCorrection:
        draw = rng(1)
        parts = draw.uniform(-1, 1, (2, 20, 2, 3))
        lean = CrossFittedLean(parts[0, 0], parts[1, 0])
        return BaseCorrection(lean, Reliability(proportional, even), 9, CrossFittedLean(*parts))

    @pytest.mark.parametrize(("proportional", "divisor"), [(0.8, 0.8), (0.1, 1 / 3), (0.4, 0.4)])
    def test_values_and_their_noise_are_divided_by_what_is_found(
        self, proportional: float, divisor: float
    ) -> None:
        found = self.corrected(proportional)
        predicted = rng(2).random((4, 2, 3))
        expected = (found.lean.weight * predicted - found.lean.offset) / divisor
        assert found.cells(predicted) == pytest.approx(expected)
        scale = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])
        values = [
            np.mean((weight * predicted.mean(axis=0) - offset) * scale)
            for weight, offset in zip(found.redrawn.weight, found.redrawn.offset, strict=True)
        ]
        noise = math.sqrt(sum((one - np.mean(values)) ** 2 for one in values) / 19)
        assert found.noise(predicted, scale) == pytest.approx(noise / divisor)

    @pytest.mark.parametrize(
        ("proportional", "even", "stretch"),
        [(0.9, 0.6, 1.5), (0.5, 0.5, 1), (0.6, 0.9, 1), (0.9, 0.2, 2.7), (0.2, 0.4, 1)],
    )
    def test_ends_are_stretched_away_from_zero(
        self, proportional: float, even: float, stretch: float
    ) -> None:
        found = self.corrected(proportional, even)
        for low, high in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.2), (0.0, 0.2)):
            wide = found.widened(Interval(low, high, 0.9, "t"))
            assert wide.low == pytest.approx(low * stretch if low < 0 else low)
            assert wide.high == pytest.approx(high * stretch if high > 0 else high)
            assert (wide.confidence, wide.method) == (0.9, "t")


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_noise_widens_each_half(confidence: float) -> None:
    found = with_noise(Interval(-0.1, 0.5, confidence, "t"), 0.2, 0.1)
    reach = stats.norm.ppf((1 + confidence) / 2) * 0.1
    assert found.low == pytest.approx(0.2 - math.sqrt(0.3**2 + reach**2))
    assert found.high == pytest.approx(0.2 + math.sqrt(0.3**2 + reach**2))
    assert (found.confidence, found.method, found.status) == (confidence, "t", "ok")


def test_noise_leaves_open_and_undefined_ends_as_they_are() -> None:
    for one in (Interval.too_few_units(0.95, "t"), Interval.undefined(0.95, "t")):
        found = with_noise(one, 0.2, 0.1)
        assert found.status == one.status
        assert found.to_dict() == one.to_dict()
    half_open = with_noise(Interval(-math.inf, 0.2, 0.95, "t"), 0.2, 0.1)
    assert (half_open.low, half_open.high) == (-math.inf, pytest.approx(0.2 + 0.1959963985))


class TestCounts:
    def test_whole_numbers_are_rounded(self) -> None:
        table = np.array([[1e-6, 3 - 1e-7], [2e9, 5.0]])
        assert checked_counts(table).tolist() == [[0, 3], [2e9, 5]]

    @pytest.mark.parametrize("odd", [1.5, 3e-6, 2.0001, 123_456.5, 3e7 + 0.25, math.nan])
    def test_anything_else_is_no_count_however_large(self, odd: float) -> None:
        with pytest.raises(InputError, match=f"whole numbers of sentences; found {odd:.10g}"):
            checked_counts(np.array([[1.0, odd], [4.0, 5.0]]))


def likelihood(counts: np.ndarray, alpha: np.ndarray) -> float:
    """Of the counts of every task under one Dirichlet prior, but for what does not depend on it."""
    sizes = counts.sum(axis=0).astype(int)
    each = [
        stats.dirichlet_multinomial.logpmf(counts[:, task].astype(int), alpha, size)
        for task, size in enumerate(sizes)
    ]
    return float(np.sum(each))


class TestPrior:
    @pytest.mark.parametrize(
        "counts",
        [
            COUNTS,
            np.array([[9.0, 1, 2, 7], [2, 8, 9, 1], [1, 1, 4, 3]]),
            np.array([[12.0, 1, 5], [0, 0, 0], [3, 9, 4]]),
            np.array([[12.0, 1, 5], [1, 0, 0], [3, 9, 4]]),
        ],
    )
    def test_the_concentration_has_the_largest_likelihood(self, counts: np.ndarray) -> None:
        """Of 80 from 1/4 to 4,000, in even steps of the logarithm; labels never counted aside."""
        seen = counts[counts.sum(axis=1) > 0]
        share = seen.sum(axis=1) / seen.sum()
        grid = [0.25 * 16_000 ** (step / 79) for step in range(80)]
        best = max(grid, key=lambda size: likelihood(seen, size * share))
        assert 0.3 < best < 3000
        assert concentration(counts) == pytest.approx(best)

    def test_tasks_that_are_alike_or_opposite_have_an_end_of_the_grid(self) -> None:
        assert concentration(np.full((2, 5), 300.0)) == pytest.approx(4000)
        assert concentration(np.diag([900.0] * 40)) == pytest.approx(0.25)

    def test_rates_are_drawn_from_their_posterior(self) -> None:
        counts = np.array([[7.0, 2, 4], [0, 0, 0], [1, 6, 5]])
        found = posterior_rates(counts, 9, rng(5))
        share = np.array([13, 0, 12]) / 25
        alpha = counts + concentration(counts) * share[:, None]
        drawn = rng(5).gamma(alpha, size=(9, 3, 3))
        expected = drawn / drawn.sum(axis=1, keepdims=True)
        assert found == pytest.approx(expected, rel=1e-12)
        assert found.sum(axis=1) == pytest.approx(np.ones((9, 3)))

    def test_a_rate_that_is_possible_is_never_zero(self) -> None:
        # A draw of a gamma law with a small parameter may be below the smallest number.
        drawn = np.array([[[9.0, 0.0], [0.0, 9.0]]])
        underflow = SimpleNamespace(gamma=lambda alpha, size: drawn)
        found = posterior_rates(drawn[0], 1, underflow)  # type: ignore[arg-type]
        # Tasks so different have a prior of 1/4, which both groups share.
        assert 0 < found[0, 0, 1] < 1e-290
        assert 0 < found[0, 1, 0] < 1e-290


def fixed_world(monkeypatch: pytest.MonkeyPatch, weight: np.ndarray) -> dict[str, Any]:
    """One world with known rates, and a cross-fitted lean of known weight."""
    seen: dict[str, Any] = {}
    rates = np.array([[[0.5, 0.2, 0.8], [0.5, 0.8, 0.2]]])

    def posterior(counts: np.ndarray, worlds: int, generator: object) -> np.ndarray:
        seen["worlds"] = worlds
        return rates

    def redrawn(rates: np.ndarray, sizes: np.ndarray, generator: object) -> np.ndarray:
        seen["sizes"] = sizes
        return rates * sizes

    def fitted(counts: np.ndarray, direction: Direction, **options: Any) -> CrossFittedLean:
        seen.update(options, direction=direction)
        return CrossFittedLean(weight[None], np.zeros_like(weight)[None])

    monkeypatch.setattr(base_uncertainty, "posterior_rates", posterior)
    monkeypatch.setattr(base_uncertainty, "_redrawn", redrawn)
    monkeypatch.setattr(base_uncertainty, "cross_fitted_lean", fitted)
    return seen


# Ten, twenty and ten sentences of the rates above: he and she have 17 and 23 of 40.
JOINT = np.array([[5.0, 4.0, 8.0], [5.0, 16.0, 2.0]])
LEAN = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
WEIGHT = np.array([[0.5, -0.9, 0.8], [math.nan, 0.7, 0.3]])


class TestReliability:
    @pytest.mark.parametrize("given", [None, *DIRECTIONS])
    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_it_is_the_share_of_the_strength_with_the_right_sign(
        self, direction: Direction, given: Direction | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = fixed_world(monkeypatch, WEIGHT)
        counts = np.array([[5.0, 10.0, 4.0], [5.0, 10.0, 6.0]])
        scale = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])
        found = reliability(counts, direction, given=given, scale=scale, rng=rng())
        shown = whole = even = 0.0
        for a, t in np.ndindex(2, 3):
            if (given or direction) == GIVEN_TASK:
                link = abs(JOINT[a, t] / JOINT[:, t].sum() - JOINT[a].sum() / 40)
            else:
                link = abs(JOINT[a, t] / JOINT[a].sum() - JOINT[:, t].sum() / 40)
            agreeing = 0.0 if math.isnan(WEIGHT[a, t]) else WEIGHT[a, t] * LEAN[a, t]
            shown += agreeing * link * scale[a, t]
            whole += link * scale[a, t]
            even += agreeing
        assert found.proportional == pytest.approx(shown / whole)
        assert found.even == pytest.approx(even / 6)
        assert (seen["worlds"], seen["draws"], seen["given"]) == (60, 60, given)
        assert seen["sizes"].tolist() == [10, 20, 10]
        assert (seen["direction"], seen["weighting"]) == (direction, "joint")

    def test_the_size_of_the_links_cancels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fixed_world(monkeypatch, WEIGHT)
        counts = np.array([[5.0, 10.0, 4.0], [5.0, 10.0, 6.0]])
        plain = reliability(counts, GIVEN_TASK, rng=rng())
        tiny = reliability(counts, GIVEN_TASK, scale=1e-9, rng=rng())
        assert tiny.proportional == pytest.approx(plain.proportional)

    @pytest.mark.parametrize(("factor", "share"), [(-1.0, 0.0), (0.05, 0.05), (1.5, 1.0)])
    def test_a_share_lies_between_0_and_1(
        self, factor: float, share: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fixed_world(monkeypatch, factor * LEAN)
        counts = np.array([[5.0, 10.0, 4.0], [5.0, 10.0, 6.0]])
        found = reliability(counts, GIVEN_TASK, rng=rng())
        assert (found.proportional, found.even) == pytest.approx((share, share))

    def test_a_larger_base_has_more_sentences_of_each_task(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = fixed_world(monkeypatch, WEIGHT)
        counts = np.array([[5.0, 1.0, 4.0], [5.0, 2.0, 7.0]])
        reliability(counts, GIVEN_TASK, rng=rng(), factor=2.4)
        assert seen["sizes"].tolist() == [24, 7, 26]

    def test_one_group_alone_shows_nothing(self) -> None:
        found = reliability(np.array([[3.0, 4.0]]), GIVEN_TASK, rng=rng())
        assert found == Reliability(0.0, 0.0)


def test_redrawn_sentences_are_as_many_of_each_task() -> None:
    rates = np.array([[[0.2, 0.5], [0.3, 0.5], [0.5, 0.0]]])
    sizes = np.array([30_000.0, 7.0])
    found = base_uncertainty._redrawn(np.repeat(rates, 4, axis=0), sizes, rng())
    assert found.shape == (4, 3, 2)
    assert found.dtype == np.float64
    assert found.sum(axis=1).tolist() == [[30_000, 7]] * 4
    assert (found[:, 2, 1] == 0).all()
    assert found[:, :, 0] / 30_000 == pytest.approx(np.repeat(rates[:, :, 0], 4, axis=0), abs=0.02)


class TestWholeCorrections:
    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_a_counted_base(self, direction: Direction) -> None:
        """The same numbers in the same order, from the parts that are tested on their own."""
        options = {"weighting": "paper", "given": GIVEN_GROUP}
        scale = np.array([[1.0, 2.0, 3.0], [0.5, 0.25, 4.0]])
        found = base_correction(COUNTS, direction, scale=scale, rng=rng(), **options)  # type: ignore[arg-type]
        draw = rng()
        lean = cross_fitted_lean(COUNTS, direction, rng=draw, **options)  # type: ignore[arg-type]
        assert np.array_equal(found.lean.weight, lean.weight)
        assert np.array_equal(found.lean.offset, lean.offset)
        shown = reliability(COUNTS, direction, scale=scale, rng=draw, **options)  # type: ignore[arg-type]
        assert found.reliability == shown
        rates = posterior_rates(COUNTS, 100, draw)
        drawn = base_uncertainty._redrawn(rates, np.array([8.0, 8.0, 9.0]), draw)
        again = cross_fitted_lean(drawn, direction, rng=draw, draws=60, **options)  # type: ignore[arg-type]
        assert np.array_equal(found.redrawn.weight, again.weight, equal_nan=True)
        assert found.sentences == 25

    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_a_survey(self, direction: Direction) -> None:
        errors = COUNTS / 2 + 1
        options = {"weighting": "paper", "given": GIVEN_GROUP}
        found = survey_correction(COUNTS, errors, direction, rng=rng(), **options)  # type: ignore[arg-type]
        draw = rng()
        lean = blurred_lean(COUNTS, errors, direction, rng=draw, **options)  # type: ignore[arg-type]
        assert np.array_equal(found.lean.weight, lean.weight)
        assert np.array_equal(found.lean.offset, lean.offset)
        again = COUNTS + errors * draw.standard_normal((100, 2, 3))
        assert (again < 0).any()
        again[again < 0] = 0
        noisy = blurred_lean(again, errors, direction, rng=draw, draws=60, **options)  # type: ignore[arg-type]
        assert np.array_equal(found.redrawn.weight, noisy.weight, equal_nan=True)
        assert np.array_equal(found.redrawn.offset, noisy.offset, equal_nan=True)
        assert found.reliability == Reliability(1.0, 1.0)
        assert found.sentences is None
