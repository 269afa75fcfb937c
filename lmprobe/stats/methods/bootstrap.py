"""The bootstrap (Efron 1979): the spread of the statistic over resamples of the sample."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.results.interval import Interval
from lmprobe.stats.method import REPLICATES, Sample, Traits, constant, declare, intervals


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
