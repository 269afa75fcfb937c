"""Student's t for templates crossed with tasks: a two-way analysis of variance."""

from __future__ import annotations

import numpy as np

from lmprobe.errors import InputError
from lmprobe.intervals.crossed import crossed_mean
from lmprobe.intervals.method import Sample, Traits, declare, intervals
from lmprobe.results.interval import Interval

# A standard error below this share of the largest cell is rounding, not spread.
_ROUNDING = 1e-12


@intervals.register("t-crossed")
@declare(Traits(crossed=True))
def t_crossed(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Student's t over templates and tasks (two-way ANOVA); narrow for few templates."""
    if sample.crossed is None:
        raise InputError(
            'the interval "t-crossed" is for the probe of a model, whose templates are crossed '
            'with tasks; use "bootstrap" or "t"'
        )
    found = crossed_mean(sample.crossed)
    if found is None:
        return Interval.too_few_units(confidence, "t-crossed")
    if found.spread.standard_error <= _ROUNDING * max(1.0, float(np.abs(sample.crossed).max())):
        return Interval.undefined(confidence, "t-crossed")
    half = found.halfwidth(confidence)
    return Interval(sample.value - half, sample.value + half, confidence, "t-crossed")
