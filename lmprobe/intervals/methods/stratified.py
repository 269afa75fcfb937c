"""Bounds on the difference of two groups given their sizes; docs/statistics.md derives them.

Bernstein-Bounded Unfairness bounds the mean of amortized disparities, which lie in
[-C/γ, C/γ] because each row is divided by the share of its group. Given the sizes of the
groups, the two means are independent averages of costs in [0, C], and the inequalities apply
to their difference as it stands, without that inflation.
"""

from __future__ import annotations

import math

import numpy as np

from lmprobe.intervals.method import Sample, groups_of, intervals
from lmprobe.results.interval import Interval

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
    means: tuple[float, float],
    variances: tuple[float, float],
    cost_bound: float = 1.0,
    confidence: float = 0.95,
) -> float:
    """Return Bernstein's bound on the difference from sample means and variances (ddof 1).

    The true variances are bounded from both, and that is paid for with part of the
    chance of error.
    """
    alpha = 1 - confidence
    spread = 0.0
    for n, mean, variance in zip((n_protected, n_other), means, variances, strict=True):
        deviation = cost_bound * _largest_deviation(
            n, mean / cost_bound, variance / cost_bound**2, _ON_EACH_VARIANCE * alpha
        )
        spread += deviation**2 / n
    log = math.log(2 / (_ON_MEANS * alpha))
    linear = cost_bound * max(1 / n_protected, 1 / n_other) * log / 3
    return linear + math.sqrt(linear**2 + 2 * spread * log)


def _largest_deviation(n: float, mean: float, variance: float, chance: float) -> float:
    """Return a bound on the true standard deviation of costs in [0, 1], wrong by `chance`.

    The smaller of two bounds, each with half of the chance: Theorem 10 of Maurer & Pontil
    (2009), and μ(1 - μ), which no variance of such costs exceeds, with μ as near to 1/2 as
    the Chernoff bound allows.
    """
    read_off = math.sqrt(variance) + math.sqrt(2 * math.log(2 / chance) / (n - 1))
    nearest = _nearest_to_half(mean, math.log(4 / chance) / n)
    return min(read_off, math.sqrt(nearest * (1 - nearest)))


def _nearest_to_half(mean: float, reach: float) -> float:
    """Return the μ between `mean` and 1/2 that is the nearest to 1/2 with kl(mean, μ) ≤ `reach`."""
    near, far = mean, 0.5
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if _kl(mean, middle) <= reach else (near, middle)
    return far


def _kl(p: float, q: float) -> float:
    """Return the relative entropy of two coins, of which the second may fall on either side."""
    first = p * math.log(p / q) if p > 0 else 0.0
    second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return first + second


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
        return Interval.too_few_units(confidence, "stratified-bernstein")
    half = bernstein_halfwidth(
        len(groups.protected),
        len(groups.other),
        means=(float(groups.protected.mean()), float(groups.other.mean())),
        variances=(float(groups.protected.var(ddof=1)), float(groups.other.var(ddof=1))),
        cost_bound=groups.cost_bound,
        confidence=confidence,
    )
    return Interval(sample.value - half, sample.value + half, confidence, "stratified-bernstein")
