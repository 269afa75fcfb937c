"""The empirical Bernstein bound (Maurer & Pontil 2009, Theorem 4)."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import Sample, intervals, observations_of, unknown


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
        return unknown(confidence, "empirical-bernstein")
    low, high = sample.bounds
    half = halfwidth(len(values), float(values.var(ddof=1)), high - low, confidence)
    return Interval(sample.value - half, sample.value + half, confidence, "empirical-bernstein")
