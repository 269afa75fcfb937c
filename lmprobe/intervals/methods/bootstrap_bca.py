"""The bias-corrected and accelerated bootstrap (Efron 1987)."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, Traits, declare, intervals
from lmprobe.intervals.methods.bootstrap import between, replicates_of
from lmprobe.results.interval import Interval


@intervals.register("bootstrap-bca")
@declare(Traits(resamples=True, approximate=True))
def bootstrap_bca(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Bootstrap corrected for bias and skewness (Efron 1987); for skewed statistics."""
    from scipy import stats

    if sample.left_out is None:
        raise InputError(
            'the interval "bootstrap-bca" needs the statistic without each unit; use "bootstrap"'
        )
    if sample.units < 2:
        return Interval.too_few_units(confidence, "bootstrap-bca")
    found = replicates_of(sample, "bootstrap-bca", rng)
    if not len(found):
        return Interval.undefined(confidence, "bootstrap-bca")
    # Half of the ties count as below, or a statistic on a grid would look biased.
    below = (np.mean(found < sample.value) + np.mean(found <= sample.value)) / 2
    bias = float(stats.norm.ppf(np.clip(below, 1 / len(found), 1 - 1 / len(found))))
    bend = acceleration(sample.left_out())
    reach = float(stats.norm.ppf((1 + confidence) / 2))
    low, high = (
        float(stats.norm.cdf(bias + (bias + end) / (1 - bend * (bias + end))))
        for end in (-reach, reach)
    )
    return between(found, (low, high), confidence, "bootstrap-bca")


def acceleration(axes: tuple[Floats, ...]) -> float:
    """Return how the spread changes with the value, from the statistic without each unit."""
    cubes = squares = 0.0
    for without in axes:
        known = without[~np.isnan(without)]
        pull = (len(known) - 1) * (known.mean() - known) / len(known)
        cubes += float((pull**3).sum())
        squares += float((pull**2).sum())
    return cubes / (6 * math.sqrt(squares) ** 3) if squares > 0 else 0.0
