"""Intervals for bounded costs: Bernstein's inequality, and betting (guaranteed).

`bernstein` is that of Bernstein-Bounded Unfairness (Ethayarajh 2020). `betting` is the hedged
capital of Waudby-Smith & Ramdas (2024) for the difference of two groups' means. Betting a share of
a capital of 1 on values exceeding their true mean gains nothing on average, whatever is learned on
the way, so a mean at which the capital has grown to 1/α is rejected at level α (Ville's
inequality). Values are in random order.

The costs of the first group are bet to be above μ_a and those of the second below μ_b; the
product of both capitals tests the pair (μ_a, μ_b). The interval is the range of μ_a - μ_b over
the pairs that are not rejected, inside limits of each mean that fail with a small part of the
chance of error (Berger & Boos 1994). docs/appendix/derivations.md has
the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lmprobe.errors import check_confidence, check_numbers, invalid
from lmprobe.metrics.association import Floats
from lmprobe.results.verdict import Interval
from lmprobe.stats.method import (
    Sample,
    Traits,
    amortized,
    declare,
    groups_of,
    intervals,
    observations_of,
)
from lmprobe.stats.resampling import slices


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
    check_confidence(confidence)
    checked_group_share(group_share)
    if not cost_bound > 0:
        raise invalid("cost_bound", f" must be positive: found {cost_bound}")
    return halfwidth(n, variance, cost_bound / group_share, confidence)


def halfwidth(n: float, variance: float, bound: float, confidence: float) -> float:
    """Solve 2 exp(-n t² / (2 variance + 2/3 bound t)) = 1 - confidence for t."""
    if not n > 0:
        raise invalid("n", f" must be positive: found {n}")
    if not variance >= 0:
        raise invalid("variance", f" must not be negative: found {variance}")
    log = -math.log((1 - confidence) / 2)
    linear = 2 / 3 * bound * log
    return (linear + math.sqrt(linear**2 + 8 * n * variance * log)) / (2 * n)


def checked_group_share(share: float) -> float:
    """Return the share of the smaller group, or say that it is none."""
    check_numbers(group_share=share)
    if not 0 < share <= 0.5:
        raise invalid(
            "group_share",
            " is a lower bound on the share of the smaller group, above 0 and at most "
            f"0.5: found {share}",
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


ON_LIMITS = 0.05
"""The share of the chance of error that the limits of the two means may use up."""
# The most of the capital that may be lost on one value: further is narrower until all is lost.
_STAKE = 0.9
# No more values are bet on than this; more are averaged in random blocks first.
_BETS = 10_000
# Steps from limit to limit in which means are looked at.
_MEANS = 2000
_HALVINGS = 40


@dataclass(frozen=True, slots=True, eq=False)
class _Bets:
    """The costs of a group in [0, 1], how much is bet on each, and means between their limits."""

    costs: Floats
    bets: Floats
    means: Floats


@intervals.register("betting")
def betting(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Betting on bounded costs (Waudby-Smith & Ramdas 2024): guaranteed; two groups; seeded."""
    groups = groups_of(sample, "betting")
    bound = groups.cost_bound
    costs = [shuffled(part / bound, rng) for part in (groups.protected, groups.other)]
    spent = (1 - confidence) * ON_LIMITS
    goal = math.log(2 / (1 - confidence - spent))
    first, second = (
        _Bets(part, bets, np.linspace(*limits(part, spent / 2), _MEANS + 1))
        for part, bets in zip(costs, _bets(costs, goal), strict=True)
    )
    # The estimate belongs to every interval, also where luck has rejected all pairs.
    low = min(_lowest(first, second, goal) * bound, sample.value)
    high = max(-_lowest(second, first, goal) * bound, sample.value)
    return Interval(low, high, confidence, "betting")


def _bets(groups: list[Floats], goal: float) -> Iterator[Floats]:
    """Yield how much is bet on each cost, from what was seen of both groups before it.

    With the known variance v of the difference, sqrt(2 goal / v) would be best for it; each
    row carries 1/n of that, so that a shift of both means alike changes nothing.
    """
    seen = [(running_variance(costs), len(costs)) for costs in groups]
    for _, own in seen:
        # Both groups are gone through at the same pace.
        share = (np.arange(own) + 0.5) / own
        variance = sum(before[np.floor(share * n).astype(np.intp)] / n for before, n in seen)
        yield np.sqrt(2 * goal / variance) / own


def _lowest(first: _Bets, second: _Bets, goal: float) -> float:
    """Return the smallest difference of the means, first minus second, that is not rejected.

    For the means of the second group between two points of its grid the capital is at least
    that at the lower one, and the difference is at least that to the upper one.
    """
    above, below = first.means, second.means
    rising = log_capital(first.costs, first.bets, above)
    falling = log_capital(1 - second.costs, second.bets, 1 - below)
    # The first mean whose capital does not complete what the other group's has left open.
    place = len(rising) - np.searchsorted(rising[::-1], goal - falling)
    allowed = np.where(place < len(above), above[np.maximum(place - 1, 0)], np.inf)
    return float((allowed[:-1] - below[1:]).min())


def shuffled(values: Floats, rng: np.random.Generator) -> Floats:
    """Return the values in random order; very many become the means of random blocks."""
    drawn = rng.permutation(values)
    if len(drawn) <= _BETS:
        return drawn
    edges = np.linspace(0, len(drawn), _BETS + 1).astype(np.intp)
    return np.asarray(np.add.reduceat(drawn, edges[:-1]) / np.diff(edges))


def running_variance(values: Floats) -> Floats:
    """Return the variance as it is known before each value and after the last, (n + 1,).

    It starts at 1/4, the largest of values in [0, 1], which counts as one value.
    """
    number = np.arange(1, len(values) + 1)
    means = (0.5 + values.cumsum()) / (number + 1)
    squares = 0.25 + ((values - means) ** 2).cumsum()
    return np.concatenate([[0.25], squares / (number + 1)])


def log_capital(values: Floats, bets: Floats, means: Floats) -> Floats:
    """Return the log of what betting on values above each of `means` leaves; it falls in them."""
    logs = np.empty(len(means))
    for part in slices(len(means), len(values)):
        mean = np.maximum(means[part, None], 1e-300)
        share = np.minimum(bets, _STAKE / mean)
        logs[part] = np.log1p(share * (values - mean)).sum(axis=1)
    return logs


def limits(values: Floats, alpha: float) -> tuple[float, float]:
    """Return limits of the mean, wrong with a chance of at most `alpha`, half of it each."""
    return _lower(values, alpha / 2), 1 - _lower(1 - values, alpha / 2)


def _lower(values: Floats, alpha: float) -> float:
    log = math.log(1 / alpha)
    bets = np.sqrt(2 * log / (len(values) * running_variance(values)[:-1]))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beaten = log_capital(values, bets, np.array([middle]))[0] >= log
        low, high = (middle, high) if beaten else (low, middle)
    return low
