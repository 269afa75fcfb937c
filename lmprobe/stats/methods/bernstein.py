"""Bernstein's inequality, as in Bernstein-Bounded Unfairness (Ethayarajh 2020)."""

from __future__ import annotations

import math

import numpy as np

from lmprobe.errors import InputError, check_numbers
from lmprobe.results.verdict import Interval
from lmprobe.stats.method import (
    Sample,
    Traits,
    checked_confidence,
    declare,
    intervals,
    observations_of,
)
from lmprobe.stats.methods.score import amortized


def bernstein_halfwidth(
    n: float,
    variance: float,
    group_share: float,
    *,
    cost_bound: float = 1.0,
    confidence: float = 0.95,
) -> float:
    """Return t of equation (3): the disparity lies within t of its estimate.

    `variance` is that of the amortized disparity, `group_share` the lower bound on the
    share of the smaller group and `cost_bound` the largest possible cost.

    >>> round(bernstein_halfwidth(100, 1, 0.5), 10)
    0.2973238656
    """
    checked_confidence(confidence)
    checked_group_share(group_share)
    if not cost_bound > 0:
        raise InputError(f"`cost_bound` must be positive: found {cost_bound}")
    return halfwidth(n, variance, cost_bound / group_share, confidence)


def halfwidth(n: float, variance: float, bound: float, confidence: float) -> float:
    """Solve 2 exp(-n t² / (2 variance + 2/3 bound t)) = 1 - confidence for t."""
    if not n > 0:
        raise InputError(f"`n` must be positive: found {n}")
    if not variance >= 0:
        raise InputError(f"`variance` must not be negative: found {variance}")
    log = -math.log((1 - confidence) / 2)
    linear = 2 / 3 * bound * log
    return (linear + math.sqrt(linear**2 + 8 * n * variance * log)) / (2 * n)


def checked_group_share(share: float) -> float:
    """Return the share of the smaller group, or say that it is none."""
    check_numbers(group_share=share)
    if not 0 < share <= 0.5:
        raise InputError(
            "`group_share` is a lower bound on the share of the smaller group, "
            f"above 0 and at most 0.5: found {share}"
        )
    return share


@intervals.register("bernstein")
@declare(
    Traits(caveat="the variance is estimated, although Bernstein's inequality takes it as known")
)
def bernstein(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Bernstein's inequality as published (2020); the variance is estimated."""
    values = observations_of(sample, "bernstein")
    if len(values) < 2:
        return Interval.too_few_units(confidence, "bernstein")
    bound = max(abs(end) for end in sample.bounds)
    # The paper's σ² is the mean of the variances: the plain average, not n - 1.
    variance = float(values.var())
    if sample.groups is not None:
        # Deviation from the paper: costs, or what each row saves of its bound (accuracy in
        # place of loss), have the same difference but not the same variance. Both variances
        # are taken as known, so the smaller is used, and both ways give the same interval.
        most, groups = sample.groups.cost_bound, sample.groups
        saved = amortized(most - groups.protected, most - groups.other)
        variance = min(variance, float(saved.var()))
    half = halfwidth(len(values), variance, bound, confidence)
    return Interval(sample.value - half, sample.value + half, confidence, "bernstein")
