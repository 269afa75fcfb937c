"""The bootstrap (Efron 1979): the spread of the statistic over resamples of the sample."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.method import REPLICATES, Sample, Traits, constant, declare, intervals
from lmprobe.intervals.student import student_quantile
from lmprobe.results.interval import Interval


def replicates_of(sample: Sample, method: str, rng: np.random.Generator) -> Floats:
    """Return the statistic on resamples; those on which it is undefined are left out."""
    if sample.resampled is None:
        raise InputError(f'the interval "{method}" needs a statistic that can be resampled')
    found = sample.resampled(REPLICATES, rng)
    return found[~np.isnan(found)]


def between(found: Floats, tails: tuple[float, float], confidence: float, method: str) -> Interval:
    """Return the interval between two quantiles of the replicates; none where they agree."""
    if not len(found):
        return Interval.undefined(confidence, method)
    ends = np.quantile(found, tails)
    if constant(ends):
        return Interval.undefined(confidence, method)
    return Interval(float(ends[0]), float(ends[1]), confidence, method)


def expanded(confidence: float, units: int) -> float:
    """Return the tail of the percentile interval that has Student's width for a mean.

    Resampling n units forgets a factor n/(n-1) in the variance and the uncertainty of the
    variance itself; Hesterberg (2015, section 4.2) gives both back by going further out.
    """
    reach = student_quantile(confidence, units - 1) * math.sqrt(units / (units - 1))
    return math.erfc(reach / math.sqrt(2)) / 2


@intervals.register("bootstrap")
@declare(Traits(resamples=True, approximate=True, expanded=True))
def bootstrap(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Bootstrap percentiles, widened for few units (Hesterberg 2015); seeded."""
    return _percentile(sample, confidence, rng, "bootstrap")


@intervals.register("bootstrap-percentile")
@declare(Traits(resamples=True, approximate=True))
def percentile(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Bootstrap percentiles as they are (Efron 1979); too short for few units."""
    return _percentile(sample, confidence, rng, "bootstrap-percentile")


def _percentile(
    sample: Sample, confidence: float, rng: np.random.Generator, method: str
) -> Interval:
    if sample.units < 2:
        return Interval.too_few_units(confidence, method)
    found = replicates_of(sample, method, rng)
    return of_replicates(found, units=sample.units, confidence=confidence, method=method)


def of_replicates(
    found: Floats, *, units: int, confidence: float, method: str = "bootstrap"
) -> Interval:
    """Return the percentile interval of replicates that were made by resampling `units`."""
    plain = method == "bootstrap-percentile"
    tail = (1 - confidence) / 2 if plain else expanded(confidence, units)
    return between(found, (tail, 1 - tail), confidence, method)
