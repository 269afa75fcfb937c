"""Bounds with a closed form, written out again: every constant, default and smallest sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, interval, traits_of
from lmprobe.intervals.methods import bernstein, empirical_bernstein, hoeffding, stratified
from lmprobe.intervals.two_groups import groups_sample
from lmprobe.results import IntervalStatus
from lmprobe.results.interval import Interval

FIRST = np.array([0.0, 0.5, 2.0, 2.0, 1.0])
SECOND = np.array([0.0, 0.0, 0.25, 1.5, 0.0, 0.0, 2.0, 0.0])


def of(sample: Sample, method: str, confidence: float = 0.9) -> Interval:
    return interval(sample, method=method, confidence=confidence, rng=np.random.default_rng(0))


def sample_of(first: np.ndarray = FIRST, second: np.ndarray = SECOND) -> Sample:
    return groups_sample(first, second, cost_bound=2.0, group_share=0.3)


def ends_around(value: float, half: float) -> object:
    return pytest.approx((value - half, value + half), rel=1e-12)


class TestHoeffding:
    def test_the_mean_of_bounded_values(self) -> None:
        """2 exp(-2 n t² / width²) is the chance of being further off than t."""
        for n, width, confidence in ((7, 3.0, 0.9), (200, 0.5, 0.99)):
            t = hoeffding.halfwidth(n, width, confidence)
            assert 2 * math.exp(-2 * n * t**2 / width**2) == pytest.approx(1 - confidence)

    def test_the_width_is_from_bound_to_bound(self) -> None:
        values = np.array([0.0, 1.0, 3.0])
        sample = Sample(4 / 3, values, bounds=(-1.0, 3.0))
        found = of(sample, "hoeffding")
        half = 4 * math.sqrt(math.log(2 / 0.1) / 6)
        assert (found.low, found.high) == ends_around(4 / 3, half)
        assert (found.confidence, found.method) == (0.9, "hoeffding")


class TestBernstein:
    def test_the_root_of_its_inequality(self) -> None:
        for n, variance, bound, confidence in ((40, 0.3, 2.5, 0.9), (9, 0.0, 0.5, 0.8)):
            t = bernstein.halfwidth(n, variance, bound, confidence)
            chance = 2 * math.exp(-n * t**2 / (2 * variance + 2 / 3 * bound * t))
            assert chance == pytest.approx(1 - confidence, rel=1e-9)

    def test_without_variance_the_bound_alone_is_left(self) -> None:
        assert bernstein.halfwidth(10, 0.0, 1.0, 0.9) == pytest.approx(2 / 30 * math.log(20))

    def test_the_bound_is_that_of_the_costs_over_the_share(self) -> None:
        found = bernstein.bernstein_halfwidth(40, 0.3, 0.2, cost_bound=0.5, confidence=0.9)
        assert found == bernstein.halfwidth(40, 0.3, 2.5, 0.9)
        assert bernstein.bernstein_halfwidth(40, 0.3, 0.5) == bernstein.halfwidth(
            40, 0.3, 2.0, 0.95
        )

    @pytest.mark.parametrize(
        ("arguments", "more", "word"),
        [
            ((0, 1, 0.5), {}, "`n` must be positive"),
            ((math.nan, 1, 0.5), {}, "`n` must be positive"),
            ((1, -1e-9, 0.5), {}, "`variance` must not be negative"),
            ((1, math.nan, 0.5), {}, "`variance` must not be negative"),
            ((1, 1, 0), {}, "`group_share`"),
            ((1, 1, math.nextafter(0.5, 1)), {}, "`group_share`"),
            ((1, 1, 0.5), {"cost_bound": 0}, "`cost_bound` must be positive: found 0"),
            ((1, 1, 0.5), {"cost_bound": math.nan}, "`cost_bound`"),
            ((1, 1, 0.5), {"confidence": 1}, "`confidence`"),
            ((1, 1, 0.5), {"confidence": 0}, "`confidence`"),
        ],
    )
    def test_what_is_refused(
        self, arguments: tuple[float, float, float], more: dict[str, float], word: str
    ) -> None:
        with pytest.raises(InputError, match=word):
            bernstein.bernstein_halfwidth(*arguments, **more)

    def test_what_is_just_allowed(self) -> None:
        assert bernstein.bernstein_halfwidth(0.5, 0, 0.5, cost_bound=1e-9, confidence=0.01) > 0
        assert bernstein.checked_group_share(0.5) == 0.5
        assert bernstein.checked_group_share(1e-9) == 1e-9

    def test_the_variance_is_the_plain_average_and_the_bound_the_farther_one(self) -> None:
        values = np.array([0.0, 1.0, 3.0, -1.0])
        for bounds in ((-1.0, 3.0), (-3.0, 1.0)):
            found = of(Sample(0.75, values, bounds=bounds), "bernstein")
            # Squares: 0 + 1 + 9 + 1 over 4, less the square of the mean.
            half = bernstein.halfwidth(4, 11 / 4 - 0.75**2, 3.0, 0.9)
            assert (found.low, found.high) == ends_around(0.75, half)

    def test_the_less_varied_of_costs_and_savings_counts(self) -> None:
        for first, second in ((FIRST, SECOND), (2 - FIRST, 2 - SECOND)):
            sample = sample_of(first, second)
            assert sample.observations is not None
            saved = np.concatenate([(2 - first) * 13 / 5, -(2 - second) * 13 / 8])
            variances = (sample.observations.var(), saved.var())
            assert variances[0] != pytest.approx(variances[1])
            half = bernstein.halfwidth(13, min(variances), 2.0 / 0.3, 0.9)
            found = of(sample, "bernstein")
            assert (found.low, found.high) == ends_around(sample.value, half)

    def test_its_caveat_is_declared(self) -> None:
        assert "the variance is estimated" in traits_of("bernstein").caveat


class TestEmpiricalBernstein:
    def test_theorem_4_on_each_side(self) -> None:
        # Scaled to [0, 1]: sqrt(2 V ln(2/δ) / n) + 7 ln(2/δ) / (3 (n - 1)), δ half of the rest.
        log = math.log(2 / 0.05)
        expected = 3 * (math.sqrt(2 * (0.7 / 9) * log / 12) + 7 * log / (3 * 11))
        assert empirical_bernstein.halfwidth(12, 0.7, 3.0, 0.9) == pytest.approx(expected)

    def test_values_between_uneven_bounds(self) -> None:
        values = np.array([0.0, 1.0, 3.0, -1.0])
        found = of(Sample(0.75, values, bounds=(-1.0, 3.0)), "empirical-bernstein")
        half = empirical_bernstein.halfwidth(4, (11 - 4 * 0.75**2) / 3, 4.0, 0.9)
        assert (found.low, found.high) == ends_around(0.75, half)

    def test_choosing_between_costs_and_savings_costs_half_of_the_chance(self) -> None:
        for first, second in ((FIRST, SECOND), (2 - FIRST, 2 - SECOND)):
            sample = sample_of(first, second)
            assert sample.observations is not None
            saved = np.concatenate([(2 - first) * 13 / 5, -(2 - second) * 13 / 8])
            variance = min(sample.observations.var(ddof=1), saved.var(ddof=1))
            half = empirical_bernstein.halfwidth(13, variance, 2 * 2.0 / 0.3, 0.95)
            found = of(sample, "empirical-bernstein")
            assert (found.low, found.high) == ends_around(sample.value, half)
            assert found.confidence == 0.9


@pytest.mark.parametrize("method", ["bernstein", "empirical-bernstein"])
def test_two_observations_are_the_fewest(method: str) -> None:
    assert of(Sample(0.1, np.array([0.1])), method).status is IntervalStatus.TOO_FEW_UNITS
    assert of(Sample(0.2, np.array([0.1, 0.3])), method).status is IntervalStatus.OK


class TestStratified:
    def test_the_published_claim(self) -> None:
        assert stratified.hoeffding_halfwidth(1476, 1476) < 0.05
        assert stratified.hoeffding_halfwidth(1475.5, 1475.5) > 0.05

    def test_the_constant_is_hoeffdings(self) -> None:
        # 2 exp(-2 t² / Σ c_i²) with c_i = C/n_a or C/n_b, solved for t by brute force.
        n_a, n_b, bound = 37, 210, 2.5
        squares = n_a * (bound / n_a) ** 2 + n_b * (bound / n_b) ** 2
        t = optimize.brentq(lambda t: 2 * math.exp(-2 * t**2 / squares) - 0.1, 0, 10)
        found = stratified.hoeffding_halfwidth(n_a, n_b, cost_bound=bound, confidence=0.9)
        assert found == pytest.approx(t, rel=1e-9)

    @settings(deadline=None)
    @given(ones=st.integers(0, 100), spread=st.floats(0, 1))
    def test_the_deviation_bound_exceeds_the_deviation(self, ones: int, spread: float) -> None:
        p = ones / 100
        variance = p * (1 - p) * spread
        bound = stratified._largest_deviation(100, p, variance, 0.005)
        assert bound >= math.sqrt(variance) - 1e-12
        assert bound <= 0.5 + 1e-12

    @pytest.mark.parametrize(("mean", "end"), [(0.1, 0.5), (0.9, 0.5)])
    def test_the_deviation_is_that_of_the_mean_which_chernoff_still_allows(
        self, mean: float, end: float
    ) -> None:
        def excess(other: float) -> float:
            entropy = special.rel_entr(mean, other) + special.rel_entr(1 - mean, 1 - other)
            return float(entropy) - math.log(4 / 0.01) / 80

        nearest = optimize.brentq(excess, mean, end)
        found = stratified._largest_deviation(80, mean, 1.0, 0.01)
        assert found == pytest.approx(math.sqrt(nearest * (1 - nearest)), rel=1e-9)

    def test_costs_that_are_all_alike_deviate_as_their_opposites(self) -> None:
        none = stratified._largest_deviation(80, 0.0, 0.0, 0.01)
        assert stratified._largest_deviation(80, 1.0, 0.0, 0.01) == pytest.approx(none)
        # kl(0, q) is -log(1 - q).
        q = 1 - math.exp(-math.log(4 / 0.01) / 80)
        assert none == pytest.approx(math.sqrt(q * (1 - q)), rel=1e-9)

    def test_it_is_narrower_than_hoeffding_for_rare_costs(self) -> None:
        costs = np.zeros(5000)
        costs[:50] = 1
        sample = groups_sample(costs, costs[::-1], cost_bound=1.0, group_share=0.5)
        narrow, wide = (
            of(sample, name, 0.95).width for name in ("stratified-bernstein", "stratified")
        )
        assert narrow < 0.6 * wide

    @pytest.mark.parametrize(
        "name", ["stratified", "stratified-bernstein", "bernstein", "hoeffding"]
    )
    def test_scaling_costs_scales_the_interval(self, name: str) -> None:
        draw = np.random.default_rng(5)
        costs = draw.random(60), draw.random(90)
        one, ten = (
            of(groups_sample(k * costs[0], k * costs[1], cost_bound=k, group_share=0.4), name)
            for k in (1.0, 10.0)
        )
        assert (ten.low, ten.high) == pytest.approx((10 * one.low, 10 * one.high), rel=1e-9)

    def test_defaults(self) -> None:
        ours = stratified.hoeffding_halfwidth(30, 20)
        assert ours == stratified.hoeffding_halfwidth(30, 20, cost_bound=1.0, confidence=0.95)
        assert ours == pytest.approx(math.sqrt((1 / 30 + 1 / 20) * math.log(40) / 2))
        known = {"means": (0.1, 0.2), "variances": (0.05, 0.1)}
        assert stratified.bernstein_halfwidth(30, 20, **known) == stratified.bernstein_halfwidth(
            30, 20, **known, cost_bound=1.0, confidence=0.95
        )

    def test_the_interval_takes_sizes_and_bound_from_the_groups(self) -> None:
        sample = sample_of()
        found = of(sample, "stratified")
        half = 2 * math.sqrt((1 / 5 + 1 / 8) * math.log(2 / 0.1) / 2)
        assert (found.low, found.high) == ends_around(sample.value, half)

    @pytest.mark.parametrize("sizes", [(50, 70), (70, 50), (4000, 9000)])
    @pytest.mark.parametrize("bound", [1.0, 2.5])
    def test_bernsteins_inequality_of_the_difference(
        self, sizes: tuple[int, int], bound: float
    ) -> None:
        """2 exp(-t² / (2 s² + 2/3 c t)) = 0.8 α; each deviation may be wrong by 0.1 α."""
        means, variances = (0.1 * bound, 0.7 * bound), (0.01 * bound**2, 0.2 * bound**2)
        deviations = [
            bound * stratified._largest_deviation(n, mean / bound, variance / bound**2, 0.02)
            for n, mean, variance in zip(sizes, means, variances, strict=True)
        ]
        spread = deviations[0] ** 2 / sizes[0] + deviations[1] ** 2 / sizes[1]
        largest = bound / min(sizes)

        def excess(t: float) -> float:
            return 2 * math.exp(-(t**2) / (2 * spread + 2 / 3 * largest * t)) - 0.8 * 0.2

        found = stratified.bernstein_halfwidth(
            *sizes, means=means, variances=variances, cost_bound=bound, confidence=0.8
        )
        assert found == pytest.approx(optimize.brentq(excess, 1e-9, 9, xtol=1e-14), rel=1e-9)

    def test_two_means_and_two_variances_are_needed(self) -> None:
        for means, variances in (((0.1,), (0.1, 0.1)), ((0.1, 0.1), (0.1, 0.1, 0.1))):
            with pytest.raises(ValueError, match="zip"):
                stratified.bernstein_halfwidth(9, 9, means=means, variances=variances)  # type: ignore[arg-type]

    def test_the_chance_of_error_is_spent_once(self) -> None:
        spent = stratified._ON_MEANS + 2 * stratified._ON_EACH_VARIANCE
        assert spent == pytest.approx(1)

    def test_the_deviation_of_a_small_variance_is_read_off_it(self) -> None:
        # Theorem 10 of Maurer & Pontil with half of the chance.
        found = stratified._largest_deviation(5000, 0.5, 0.01, 0.02)
        assert found == pytest.approx(0.1 + math.sqrt(2 * math.log(1 / 0.01) / 4999))

    @pytest.mark.parametrize("mean", [0.0, 0.2, 0.49, 0.5, 0.51, 1.0])
    def test_of_few_costs_every_mean_is_possible(self, mean: float) -> None:
        assert stratified._largest_deviation(3, mean, 1.0, 0.01) == 0.5

    def test_the_relative_entropy_of_two_coins(self) -> None:
        expected = 0.2 * math.log(0.2 / 0.7) + 0.8 * math.log(0.8 / 0.3)
        assert stratified._kl(0.2, 0.7) == pytest.approx(expected)
        assert stratified._kl(0.0, 0.7) == pytest.approx(math.log(1 / 0.3))
        assert stratified._kl(1.0, 0.7) == pytest.approx(math.log(1 / 0.7))

    def test_the_interval_takes_means_and_variances_from_the_groups(self) -> None:
        first, second = np.repeat(FIRST, 40), np.repeat(SECOND, 50)
        sample = sample_of(first, second)
        means = (5.5 / 5, 3.75 / 8)
        squares = [
            ((one - mean) ** 2).sum() for one, mean in zip((first, second), means, strict=True)
        ]
        half = stratified.bernstein_halfwidth(
            200,
            400,
            means=means,
            variances=(squares[0] / 199, squares[1] / 399),
            cost_bound=2.0,
            confidence=0.9,
        )
        found = of(sample, "stratified-bernstein")
        assert (found.low, found.high) == ends_around(sample.value, half)
        assert (found.confidence, found.method) == (0.9, "stratified-bernstein")

    @pytest.mark.parametrize("sizes", [(1, 9), (9, 1), (1, 1)])
    def test_two_rows_of_each_group_are_the_fewest(self, sizes: tuple[int, int]) -> None:
        few = sample_of(np.ones(sizes[0]), np.zeros(sizes[1]))
        assert of(few, "stratified-bernstein").status is IntervalStatus.TOO_FEW_UNITS
        assert of(few, "stratified").status is IntervalStatus.OK
        more = sample_of(np.ones(sizes[0] + 1), np.zeros(sizes[1] + 1))
        assert of(more, "stratified-bernstein").status is IntervalStatus.OK
