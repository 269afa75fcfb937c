"""Hoeffding's inequality (1963): nothing but the bounds is used."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.intervals.method import Sample, intervals, observations_of
from lmprobe.results.interval import Interval


def halfwidth(n: float, width: float, confidence: float) -> float:
    """Return t such that a mean of n values in a range of `width` lies within t of its own.

    >>> round(halfwidth(100, 2, 0.95), 6)
    0.27162
    """
    return width * math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))


@intervals.register("hoeffding")
def hoeffding(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Hoeffding's inequality: guaranteed, from the bounds alone; wide."""
    values = observations_of(sample, "hoeffding")
    low, high = sample.bounds
    half = halfwidth(len(values), high - low, confidence)
    return Interval(sample.value - half, sample.value + half, confidence, "hoeffding")
