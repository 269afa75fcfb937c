"""Intervals from resamples: which quantiles they take, against formulas and scipy."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, interval
from lmprobe.intervals.methods.bootstrap import between, expanded, of_replicates, replicates_of
from lmprobe.intervals.methods.bootstrap_bca import acceleration
from lmprobe.intervals.probe import CellTable, probe_sample
from lmprobe.results import Interval

# The quantile q of these numbers is q itself.
EVEN = np.arange(1001) / 1000


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def resampled_as(
    found: np.ndarray, value: float = 0.5, units: int = 12, **parts: np.ndarray
) -> Sample:
    """A statistic whose resamples are known."""
    return Sample(
        value,
        resampled=lambda replicates, rng: found,
        left_out=lambda: tuple(parts.values()),
        units=units,
    )


def ends(sample: Sample, method: str, confidence: float = 0.95) -> tuple[float, float]:
    found = interval(sample, method=method, confidence=confidence, rng=rng())
    assert (found.method, found.confidence) == (method, confidence)
    return found.low, found.high


class TestPercentiles:
    @pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
    def test_the_tails_share_what_is_left_of_the_confidence(self, confidence: float) -> None:
        low, high = ends(resampled_as(EVEN), "bootstrap-percentile", confidence)
        assert low == pytest.approx((1 - confidence) / 2)
        assert high == pytest.approx((1 + confidence) / 2)

    @pytest.mark.parametrize("units", [2, 3, 12, 400])
    @pytest.mark.parametrize("confidence", [0.6, 0.95])
    def test_few_units_go_further_out(self, units: int, confidence: float) -> None:
        """Hesterberg (2015): Φ(-sqrt(n/(n-1)) t) with Student's t of n-1 degrees of freedom."""
        t = stats.t.ppf((1 + confidence) / 2, units - 1)
        tail = stats.norm.cdf(-math.sqrt(units / (units - 1)) * t)
        assert expanded(confidence, units) == pytest.approx(tail, rel=1e-9)
        found = ends(resampled_as(EVEN, units=units), "bootstrap", confidence)
        assert found == pytest.approx((tail, 1 - tail), abs=1e-12)

    def test_replicates_that_were_kept_are_widened_unless_told(self) -> None:
        widened = of_replicates(EVEN, units=4, confidence=0.8)
        assert widened.method == "bootstrap"
        assert widened.low == pytest.approx(expanded(0.8, 4))
        plain = of_replicates(EVEN, units=4, confidence=0.8, method="bootstrap-percentile")
        assert (plain.low, plain.high) == pytest.approx((0.1, 0.9))

    def test_undefined_resamples_are_left_out(self) -> None:
        holes = np.concatenate([[math.nan] * 500, EVEN, [math.nan]])
        for method in ("bootstrap", "bootstrap-percentile"):
            assert ends(resampled_as(holes), method) == ends(resampled_as(EVEN), method)
        assert np.array_equal(replicates_of(resampled_as(holes), "bootstrap", rng()), EVEN)


METHODS = ("bootstrap", "bootstrap-percentile", "bootstrap-bca")


@pytest.mark.parametrize("method", METHODS)
class TestAll:
    def test_ten_thousand_resamples_are_drawn(self, method: str) -> None:
        asked = []

        def resampled(replicates: int, rng: np.random.Generator) -> np.ndarray:
            asked.append(replicates)
            return EVEN

        sample = Sample(0.5, resampled=resampled, left_out=lambda: (EVEN,), units=9)
        interval(sample, method=method, rng=rng())
        assert asked == [10_000]

    def test_two_units_are_enough_and_one_is_not(self, method: str) -> None:
        parts = {"one": np.array([0.4, 0.6])}
        found = [
            interval(resampled_as(EVEN, units=units, **parts), method=method, rng=rng())
            for units in (0, 1, 2)
        ]
        assert [one.status for one in found] == ["too_few_units", "too_few_units", "ok"]
        assert found[1] == Interval.too_few_units(0.95, method)

    def test_no_defined_or_no_different_resample_gives_no_interval(self, method: str) -> None:
        for drawn in (np.full(20, math.nan), np.array([]), np.full(20, 0.3)):
            sample = resampled_as(drawn, one=np.array([0.4, 0.6]))
            found = interval(sample, method=method, rng=rng())
            assert (found.status, found.method) == ("undefined", method)

    def test_a_statistic_without_resamples_is_refused(self, method: str) -> None:
        sample = Sample(0.0, left_out=lambda: (EVEN,), units=3)
        with pytest.raises(InputError, match=f'"{method}" needs a statistic that can be resampled'):
            interval(sample, method=method, rng=rng())


def test_an_interval_lies_between_the_quantiles_asked_for() -> None:
    found = between(EVEN, (0.2, 0.6), 0.9, "t")
    assert (found.low, found.high) == pytest.approx((0.2, 0.6))
    assert (found.confidence, found.method) == (0.9, "t")
    alike = np.array([0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.5])
    assert between(alike, (0.3, 0.7), 0.9, "t").status == "undefined"
    assert between(np.array([0.2]), (0.3, 0.7), 0.9, "t").status == "undefined"


class TestCorrectedAndAccelerated:
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_it_is_that_of_scipy_on_the_same_resamples(self, confidence: float) -> None:
        values = np.random.default_rng(7).exponential(size=25)
        sample = probe_sample(CellTable.of(values[:, None, None] / 10, None), "templates")
        assert sample.resampled is not None
        drawn = sample.resampled(10_000, rng())
        theirs = stats.bootstrap(
            (values / 10,),
            np.mean,
            n_resamples=0,
            bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
            method="BCa",
            confidence_level=confidence,
        ).confidence_interval
        found = ends(sample, "bootstrap-bca", confidence)
        assert found == pytest.approx((theirs.low, theirs.high), rel=1e-9)

    def test_a_statistic_without_bias_or_skewness_has_the_percentiles(self) -> None:
        sample = resampled_as(EVEN, one=np.array([0.4, 0.5, 0.6]))
        assert ends(sample, "bootstrap-bca") == pytest.approx((0.025, 0.975))

    def test_the_ends_follow_the_formula(self) -> None:
        # 700 of 1001 resamples lie below the value, and one is equal to it.
        without = np.array([0.1, 0.2, 0.2, 0.9])
        found = ends(resampled_as(EVEN, value=0.7, one=without), "bootstrap-bca", 0.9)
        bias = stats.norm.ppf(700.5 / 1001)
        bend = skewness_by_loop([without.tolist()])
        assert bend < -0.05
        expected = []
        for quantile in (-1.6448536269514722, 1.6448536269514722):
            moved = bias + quantile
            expected.append(stats.norm.cdf(bias + moved / (1 - bend * moved)))
        assert found == pytest.approx(tuple(expected), abs=1e-9)

    @pytest.mark.parametrize(("value", "share"), [(-1.0, 1 / 1001), (2.0, 1000 / 1001)])
    def test_a_value_beyond_all_resamples_has_a_bias_that_is_finite(
        self, value: float, share: float
    ) -> None:
        flat = np.array([0.5, 0.5])
        found = ends(resampled_as(EVEN, value=value, one=flat), "bootstrap-bca")
        bias = stats.norm.ppf(share)
        expected = stats.norm.cdf([2 * bias - 1.959963984540054, 2 * bias + 1.959963984540054])
        assert found == pytest.approx(tuple(expected), abs=1e-9)

    def test_it_needs_the_statistic_without_each_unit(self) -> None:
        with pytest.raises(InputError, match="without each unit"):
            interval(Sample(0.0, units=3), method="bootstrap-bca", rng=rng())


def skewness_by_loop(axes: list[list[float]]) -> float:
    """Efron's acceleration: a sixth of the skewness of the influence of all units."""
    cubes = squares = 0.0
    for without in axes:
        n = len(without)
        mean = sum(without) / n
        for one in without:
            influence = (n - 1) * (mean - one) / n
            cubes += influence**3
            squares += influence**2
    return cubes / (6 * squares**1.5)


class TestAcceleration:
    def test_units_of_both_axes_count(self) -> None:
        axes = [[0.1, 0.2, 0.9], [0.3, 0.1, 0.2, 0.25, 0.6]]
        found = acceleration(tuple(np.array(axis) for axis in axes))
        assert found == pytest.approx(skewness_by_loop(axes))
        assert found != pytest.approx(skewness_by_loop(axes[:1]), rel=0.1)
        assert acceleration((np.array(axes[1]),)) == pytest.approx(skewness_by_loop(axes[1:]))

    def test_units_without_which_nothing_is_defined_are_left_out(self) -> None:
        holes = np.array([0.1, math.nan, 0.2, 0.9, math.nan])
        assert acceleration((holes,)) == pytest.approx(skewness_by_loop([[0.1, 0.2, 0.9]]))

    def test_without_spread_there_is_none(self) -> None:
        assert acceleration((np.full(4, 0.25), np.full(3, 0.5))) == 0
        assert acceleration(()) == 0

    def test_the_size_of_the_values_makes_no_difference(self) -> None:
        axis = np.array([0.1, 0.2, 0.9])
        assert acceleration((axis * 1e-3,)) == pytest.approx(acceleration((axis,)))
