"""Bounds on the difference of two groups given their sizes; docs/statistics.md derives them.

Bernstein-Bounded Unfairness bounds the mean of amortized disparities, which lie in
[-C/γ, C/γ] because each row is divided by the share of its group. Given the sizes of the
groups, the two means are independent averages of costs in [0, C], and the inequalities apply
to their difference as it stands, without that inflation.
"""

from __future__ import annotations

import math

import numpy as np

from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import Groups, Sample, groups_of, intervals, unknown

# How the chance of error is spent: most on the means, the rest on the two variances.
_ON_MEANS, _ON_EACH_VARIANCE = 0.8, 0.1


def hoeffding_halfwidth(
    n_protected: float, n_other: float, *, cost_bound: float = 1.0, confidence: float = 0.95
) -> float:
    """Return C sqrt((1/n_a + 1/n_b) ln(2/α) / 2): the difference lies within it.

    >>> round(hoeffding_halfwidth(1476, 1476), 6)
    0.049992
    """
    inverse = 1 / n_protected + 1 / n_other
    return cost_bound * math.sqrt(inverse * math.log(2 / (1 - confidence)) / 2)


def bernstein_halfwidth(
    n_protected: float,
    n_other: float,
    *,
    variances: tuple[float, float],
    cost_bound: float = 1.0,
    confidence: float = 0.95,
) -> float:
    """Return Bernstein's bound on the difference from the sample variances (ddof 1).

    The true variances are bounded by Theorem 10 of Maurer & Pontil (2009).
    """
    alpha = 1 - confidence
    slack = 2 * math.log(1 / (_ON_EACH_VARIANCE * alpha))
    spread = 0.0
    for n, variance in zip((n_protected, n_other), variances, strict=True):
        deviation = math.sqrt(variance) + cost_bound * math.sqrt(slack / (n - 1))
        # Costs in [0, C] never deviate more than C/2.
        spread += min(deviation, cost_bound / 2) ** 2 / n
    log = math.log(2 / (_ON_MEANS * alpha))
    linear = cost_bound * max(1 / n_protected, 1 / n_other) * log / 3
    return linear + math.sqrt(linear**2 + 2 * spread * log)


@intervals.register("stratified")
def stratified(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Hoeffding's inequality given the group sizes: guaranteed; two groups."""
    groups = groups_of(sample, "stratified")
    half = hoeffding_halfwidth(
        len(groups.protected),
        len(groups.other),
        cost_bound=groups.cost_bound,
        confidence=confidence,
    )
    return Interval(sample.value - half, sample.value + half, confidence, "stratified")


@intervals.register("stratified-bernstein")
def stratified_bernstein(
    sample: Sample, *, confidence: float, rng: np.random.Generator
) -> Interval:
    """Bernstein's inequality given the group sizes: guaranteed; for rare costs; two groups."""
    groups = groups_of(sample, "stratified-bernstein")
    if min(len(groups.protected), len(groups.other)) < 2:
        return unknown(confidence, "stratified-bernstein")
    half = bernstein_halfwidth(
        len(groups.protected),
        len(groups.other),
        variances=_variances(groups),
        cost_bound=groups.cost_bound,
        confidence=confidence,
    )
    return Interval(sample.value - half, sample.value + half, confidence, "stratified-bernstein")


def _variances(groups: Groups) -> tuple[float, float]:
    return float(groups.protected.var(ddof=1)), float(groups.other.var(ddof=1))
