"""Intervals from resamples or from the spread of independent observations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats
from lmprobe.results.verdict import Interval
from lmprobe.stats.method import (
    REPLICATES,
    Sample,
    Traits,
    constant,
    declare,
    interval,
    intervals,
    observations_of,
)


def expanded(confidence: float, units: int) -> float:
    """Return the tail of the percentile interval that has Student's width for a mean.

    Resampling n units forgets a factor n/(n-1) in the variance and the uncertainty of the
    variance itself; Hesterberg (2015, section 4.2) gives both back by going further out.
    """
    from scipy import special

    reach = float(special.stdtrit(units - 1, (1 + confidence) / 2))
    return math.erfc(reach * math.sqrt(units / (units - 1)) / math.sqrt(2)) / 2


@intervals.register("bootstrap")
@declare(Traits(resamples=True, approximate=True))
def bootstrap(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Spread over resamples: Student's interval for probes, percentiles for tables; seeded."""
    if sample.spread is not None:
        return sample.spread.interval(confidence)
    if sample.units < 2:
        return Interval.too_few_units(confidence, "bootstrap")
    if sample.resampled is None:
        raise InputError('the interval "bootstrap" needs a statistic that can be resampled')
    replicates = sample.resampled(REPLICATES, rng)
    return of_replicates(replicates, units=sample.units, confidence=confidence)


def of_replicates(replicates: Floats, *, units: int, confidence: float) -> Interval:
    """Return the interval from replicates that were made by resampling `units`.

    Replicates on which the statistic is undefined are left out; where the others agree there
    is no interval.
    """
    defined = replicates[~np.isnan(replicates)]
    if not len(defined):
        return Interval.undefined(confidence, "bootstrap")
    tail = expanded(confidence, units)
    ends = np.quantile(defined, (tail, 1 - tail))
    if constant(ends):
        return Interval.undefined(confidence, "bootstrap")
    return Interval(float(ends[0]), float(ends[1]), confidence, "bootstrap")


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
