"""Student's t: over trained runs or seeds, and over templates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lmprobe.errors import InputError
from lmprobe.results.interval import Interval
from lmprobe.stats.method import (
    Sample,
    Traits,
    constant,
    declare,
    interval,
    intervals,
    observations_of,
)


@intervals.register("t")
@declare(Traits(approximate=True))
def student(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Student's t over independent values, such as runs or templates; nearly normal ones."""
    from scipy import special

    values = observations_of(sample, "t")
    n = len(values)
    if n < 2:
        return Interval.too_few_units(confidence, "t")
    if constant(values):
        return Interval.undefined(confidence, "t")
    reach = float(special.stdtrit(n - 1, (1 + confidence) / 2))
    half = reach * float(values.std(ddof=1)) / math.sqrt(n)
    return Interval(sample.value - half, sample.value + half, confidence, "t")


def interval_over_runs(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the t interval of the mean over trained runs (Figure 4, Table 1 of the paper).

    >>> round(interval_over_runs([0.01, 0.02, 0.03]).high, 4)
    0.0448
    """
    runs = np.asarray(values, dtype=np.float64)
    if runs.ndim != 1 or not runs.size or not np.isfinite(runs).all():
        raise InputError("`values` must be one finite number per run")
    sample = Sample(float(runs.mean()), runs)
    rng = np.random.default_rng(0)  # nothing is drawn
    return interval(sample, method=student, confidence=confidence, rng=rng)
