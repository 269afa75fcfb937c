"""The ends of intervals to many digits, where the resamples or the formula leave no doubt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.method import REPLICATES, Sample, interval
from lmprobe.intervals.methods.bootstrap import expanded
from lmprobe.intervals.methods.bootstrap_bca import acceleration
from lmprobe.intervals.methods.t import interval_over_runs
from lmprobe.intervals.two_groups import _without_each
from lmprobe.results import IntervalStatus

RNG = np.random.default_rng(0)
EVEN = np.linspace(0.0, 1.0, 10_001)


def evenly(replicates: int, rng: np.random.Generator) -> Floats:
    """Return replicates whose q-th quantile is q."""
    return EVEN


def of_units(units: int, left_out: Floats | None = None) -> Sample:
    without = np.full(units, 0.5) if left_out is None else left_out
    return Sample(0.5, resampled=evenly, left_out=lambda: (without,), units=units)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_percentile_interval_leaves_out_half_of_the_rest_at_each_end(confidence: float) -> None:
    found = interval(of_units(5), method="bootstrap-percentile", confidence=confidence, rng=RNG)
    tail = (1 - confidence) / 2
    assert (found.low, found.high) == pytest.approx((tail, 1 - tail), abs=1e-9)
    assert (found.confidence, found.method) == (confidence, "bootstrap-percentile")


@pytest.mark.parametrize(("units", "confidence"), [(2, 0.9), (5, 0.95), (40, 0.99)])
def test_the_expanded_interval_goes_as_far_as_students(units: int, confidence: float) -> None:
    far = stats.t.ppf((1 + confidence) / 2, units - 1) * math.sqrt(units / (units - 1))
    tail = stats.norm.sf(far)
    assert expanded(confidence, units) == pytest.approx(tail, rel=1e-6)
    found = interval(of_units(units), method="bootstrap", confidence=confidence, rng=RNG)
    assert (found.low, found.high) == pytest.approx((tail, 1 - tail), abs=1e-9)


def test_the_acceleration_of_a_mean_is_its_skewness() -> None:
    """Efron & Tibshirani (1993), 14.15: a = skewness / (6 sqrt(n)) for a mean."""
    values = np.random.default_rng(7).exponential(size=25)
    without = (values.sum() - values) / (len(values) - 1)
    expected = stats.skew(values) / (6 * math.sqrt(len(values)))
    assert acceleration((without,)) == pytest.approx(expected, rel=1e-9)
    holes = np.append(without, np.nan)
    assert acceleration((holes,)) == pytest.approx(expected, rel=1e-9)
    assert acceleration((np.full(4, 0.1),)) == 0.0


def test_the_bca_interval_is_efrons_formula() -> None:
    """Bias and acceleration are known, so that the ends are."""
    values = np.random.default_rng(7).exponential(size=12)
    without = (values.sum() - values) / (len(values) - 1)
    bend = stats.skew(values) / (6 * math.sqrt(len(values)))
    value = 0.4
    sample = Sample(value, resampled=evenly, left_out=lambda: (without,), units=12)
    found = interval(sample, method="bootstrap-bca", confidence=0.9, rng=RNG)
    # The value itself is one of the replicates: half of that one counts as below.
    bias = stats.norm.ppf((np.mean(value > EVEN) + np.mean(value >= EVEN)) / 2)
    ends = []
    for end in stats.norm.ppf([0.05, 0.95]):
        ends.append(stats.norm.cdf(bias + (bias + end) / (1 - bend * (bias + end))))
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-6)


@pytest.mark.parametrize("method", ["bootstrap", "bootstrap-percentile", "bootstrap-bca"])
def test_two_units_are_the_fewest_that_can_be_resampled(method: str) -> None:
    two = interval(of_units(2, np.array([0.4, 0.6])), method=method, rng=RNG)
    assert two.status is IntervalStatus.OK
    one = interval(of_units(1, np.array([0.5])), method=method, rng=RNG)
    assert one.status is IntervalStatus.TOO_FEW_UNITS


def test_two_runs_have_an_interval_and_one_has_none() -> None:
    two = interval_over_runs([0.1, 0.3], 0.9)
    half = stats.t.ppf(0.95, 1) * 0.1  # the standard error of two values is half their distance
    assert (two.low, two.high) == pytest.approx((0.2 - half, 0.2 + half), rel=1e-9)
    assert interval_over_runs([0.1]).status is IntervalStatus.TOO_FEW_UNITS
    assert interval_over_runs([0.1, 0.1]).status is IntervalStatus.UNDEFINED


@pytest.mark.parametrize(
    "values", [[], [0.1, math.nan], [0.1, math.inf], [[0.1, 0.2], [0.3, 0.4]], 0.1]
)
def test_runs_that_are_no_list_of_numbers(values: list[float]) -> None:
    with pytest.raises(InputError, match="`values` must be one finite number per run"):
        interval_over_runs(values)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 1.5, math.nan])
def test_the_error_names_the_confidence(confidence: float) -> None:
    with pytest.raises(InputError, match="`confidence` must lie between 0 and 1"):
        interval_over_runs([0.1, 0.2], confidence)


def test_resamples_on_which_nothing_is_defined() -> None:
    def undefined(replicates: int, rng: np.random.Generator) -> Floats:
        assert replicates == REPLICATES
        return np.full(replicates, np.nan)

    for method in ("bootstrap", "bootstrap-percentile", "bootstrap-bca"):
        sample = Sample(0.5, resampled=undefined, left_out=lambda: (np.ones(3),), units=3)
        assert interval(sample, method=method, rng=RNG).status is IntervalStatus.UNDEFINED


def test_the_mean_without_each_cost() -> None:
    assert _without_each(np.array([1.0, 2.0, 6.0])) == pytest.approx([4.0, 3.5, 1.5])
