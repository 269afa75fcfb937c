"""Student's t: the interval over trained runs or seeds, as the vision papers report."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lmprobe.errors import InputError
from lmprobe.intervals.method import (
    Sample,
    Traits,
    checked_confidence,
    constant,
    declare,
    intervals,
    observations_of,
)
from lmprobe.results.interval import Interval


@intervals.register("t")
@declare(Traits(approximate=True))
def student(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Student's t over independent values, such as runs or templates; nearly normal ones."""
    from scipy import stats

    values = observations_of(sample, "t")
    n = len(values)
    if n < 2:
        return Interval.too_few_units(confidence, "t")
    if constant(values):
        return Interval.undefined(confidence, "t")
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1)) * float(values.std(ddof=1))
    half /= math.sqrt(n)
    return Interval(sample.value - half, sample.value + half, confidence, "t")


def interval_over_runs(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the t interval of the mean over trained runs (Figure 4, Table 1 of the paper).

    >>> found = interval_over_runs([0.01, 0.02, 0.03])
    >>> round(found.low, 4), round(found.high, 4)
    (-0.0048, 0.0448)
    """
    runs = np.asarray(values, dtype=np.float64)
    if runs.ndim != 1 or not runs.size or not np.isfinite(runs).all():
        raise InputError("`values` must be one finite number per run")
    checked_confidence(confidence)
    sample = Sample(float(runs.mean()), observations=runs)
    return student(sample, confidence=confidence, rng=np.random.default_rng(0))
