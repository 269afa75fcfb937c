"""Hedged capital for the difference of two groups' means (Waudby-Smith & Ramdas 2024).

One bets on the costs of the first group being above μ_a and on those of the second being
below μ_b; the product of both capitals tests the pair (μ_a, μ_b). The interval is the range
of μ_a - μ_b over the pairs that are not rejected, inside limits of each mean that fail with a
small part of the chance of error (Berger & Boos 1994). docs/statistics.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.intervals.capital import limits, log_capital, running_variance, shuffled
from lmprobe.intervals.method import Sample, groups_of, intervals
from lmprobe.results.interval import Interval

ON_LIMITS = 0.05
"""The share of the chance of error that the limits of the two means may use up."""
# Steps from limit to limit in which means are looked at.
_MEANS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class _Bets:
    """The costs of a group in [0, 1], how much is bet on each, and the limits of their mean."""

    costs: Floats
    bets: Floats
    limits: tuple[float, float]

    def grid(self) -> Floats:
        """Return means from limit to limit."""
        return np.linspace(*self.limits, _MEANS + 1)


@intervals.register("betting")
def betting(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Betting on bounded costs (Waudby-Smith & Ramdas 2024): guaranteed; two groups; seeded."""
    groups = groups_of(sample, "betting")
    bound = groups.cost_bound
    costs = [shuffled(one / bound, rng) for one in (groups.protected, groups.other)]
    spent = (1 - confidence) * ON_LIMITS
    goal = math.log(2 / (1 - confidence - spent))
    first, second = (
        _Bets(one, bets, limits(one, spent / 2))
        for one, bets in zip(costs, _bets(costs[0], costs[1], goal), strict=True)
    )
    # The estimate belongs to every interval, also where luck has rejected all pairs.
    low = min(_lowest(first, second, goal) * bound, sample.value)
    high = max(-_lowest(second, first, goal) * bound, sample.value)
    return Interval(low, high, confidence, "betting")


def _bets(first: Floats, second: Floats, goal: float) -> tuple[Floats, Floats]:
    """Return how much is bet on each cost, from what was seen of both groups before it.

    With the known variance v of the difference, sqrt(2 goal / v) would be best for it; each
    row carries 1/n of that, so that a shift of both means alike changes nothing.
    """
    sizes = (len(first), len(second))
    known = (running_variance(first), running_variance(second))
    bets = []
    for own in (0, 1):
        # Both groups are gone through at the same pace.
        seen = [
            np.floor((np.arange(sizes[own]) + 0.5) / sizes[own] * size).astype(np.intp)
            for size in sizes
        ]
        variance = sum(know[at] / size for know, at, size in zip(known, seen, sizes, strict=True))
        bets.append(np.sqrt(2 * goal / variance) / sizes[own])
    return bets[0], bets[1]


def _lowest(first: _Bets, second: _Bets, goal: float) -> float:
    """Return the smallest difference of the means, first minus second, that is not rejected.

    For the means of the second group between two points of its grid the capital is at least
    that at the lower one, and the difference is at least that to the upper one.
    """
    above, below = first.grid(), second.grid()
    rising = log_capital(first.costs, first.bets, above)
    falling = log_capital(1 - second.costs, second.bets, 1 - below)
    # The first mean whose capital does not complete what the other group's has left open.
    place = len(rising) - np.searchsorted(rising[::-1], goal - falling)
    allowed = np.where(place < len(above), above[np.maximum(place - 1, 0)], np.inf)
    return float((allowed[:-1] - below[1:]).min())
