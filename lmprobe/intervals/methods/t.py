"""Student's t: the interval over trained runs or seeds, as the vision papers report."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lmprobe.core.tally import Floats
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
    return _around(sample.value, observations_of(sample, "t"), confidence)


def _around(value: float, observations: Floats, confidence: float) -> Interval:
    from scipy import special

    n = len(observations)
    if n < 2:
        return Interval.too_few_units(confidence, "t")
    if constant(observations):
        return Interval.undefined(confidence, "t")
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * float(observations.std(ddof=1))
    half /= math.sqrt(n)
    return Interval(value - half, value + half, confidence, "t")


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
    return _around(float(runs.mean()), runs, confidence)
