"""The bootstrap: which quantiles it takes, against formulas, scipy and Student's interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.results import Interval
from lmprobe.stats.method import Sample, interval
from lmprobe.stats.resampling import expanded_tail, percentile_interval

# The quantile q of these numbers is q itself.
EVEN = np.arange(1001) / 1000


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("units", [2, 3, 12, 400, 10**6])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_few_units_go_further_out(units: int, confidence: float) -> None:
    """Hesterberg (2015): Φ(-sqrt(n/(n-1)) t) with Student's t of n-1 degrees of freedom."""
    t = stats.t.ppf((1 + confidence) / 2, units - 1)
    tail = stats.norm.cdf(-math.sqrt(units / (units - 1)) * t)
    assert expanded_tail(confidence, units) == pytest.approx(tail, rel=1e-9)
    result = percentile_interval(EVEN, units=units, confidence=confidence)
    assert (result.low, result.high) == pytest.approx((tail, 1 - tail), abs=1e-12)
    assert (result.confidence, result.method) == (confidence, "bootstrap")


def test_ten_thousand_resamples_are_drawn() -> None:
    queried = []

    def resampled(replicates: int, rng: np.random.Generator) -> np.ndarray:
        queried.append(replicates)
        return EVEN

    interval(Sample(0.5, resampled=resampled, units=9), method="bootstrap", rng=rng())
    assert queried == [10_000]


def test_undefined_resamples_are_left_out() -> None:
    holes = np.concatenate([[math.nan] * 500, EVEN, [math.nan]])
    expected = percentile_interval(EVEN, units=4, confidence=0.8)
    assert percentile_interval(holes, units=4, confidence=0.8) == expected


@pytest.mark.parametrize("drawn", [np.full(20, math.nan), np.array([]), np.full(20, 0.3)])
def test_no_defined_or_no_different_resample_gives_no_interval(drawn: np.ndarray) -> None:
    assert percentile_interval(drawn, units=5, confidence=0.9).status == "undefined"


def test_two_units_are_enough_and_one_is_not() -> None:
    actual = [
        interval(
            Sample(0.5, resampled=lambda replicates, rng: EVEN, units=units),
            method="bootstrap",
            rng=rng(),
        )
        for units in (1, 2)
    ]
    assert actual[0] == Interval.too_few_units(0.95, "bootstrap")
    assert actual[1].status == "ok"
