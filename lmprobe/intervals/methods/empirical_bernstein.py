"""The empirical Bernstein bound (Maurer & Pontil 2009, Theorem 4)."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.intervals.method import Sample, intervals, observations_of
from lmprobe.intervals.two_groups import turned
from lmprobe.results.interval import Interval


def halfwidth(n: int, variance: float, width: float, confidence: float) -> float:
    """Return t for n values in a range of `width` with sample variance (ddof 1) `variance`.

    Theorem 4 is one-sided with ln(2/δ); two sides at δ = (1 - confidence) / 2 give ln(4/...).
    """
    log = math.log(4 / (1 - confidence))
    return math.sqrt(2 * variance * log / n) + 7 * width * log / (3 * (n - 1))


@intervals.register("empirical-bernstein")
def empirical_bernstein(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Maurer & Pontil 2009: guaranteed, with the variance read off the sample."""
    values = observations_of(sample, "empirical-bernstein")
    if len(values) < 2:
        return Interval.too_few_units(confidence, "empirical-bernstein")
    low, high = sample.bounds
    variance = float(values.var(ddof=1))
    level = confidence
    if sample.groups is not None:
        # Costs or what is saved of their bound, whichever vary less; choosing after the fact
        # costs half of the chance of error.
        variance = min(variance, float(turned(sample.groups).var(ddof=1)))
        level = (1 + confidence) / 2
    half = halfwidth(len(values), variance, high - low, level)
    return Interval(sample.value - half, sample.value + half, confidence, "empirical-bernstein")
