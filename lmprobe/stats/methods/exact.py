"""The exact interval for two proportions: the score test inverted without approximation."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np

from lmprobe.results.interval import Interval
from lmprobe.stats.exact_test import FINE, ScoreTest
from lmprobe.stats.method import Sample, intervals
from lmprobe.stats.methods.score import counts_of

# The sizes of blocks of differences, in standard errors; a block that is not rejected is
# looked at again in blocks of the next size, and the last size is the precision.
_SIZES = (0.5, 0.05, 0.005, 0.0005)
# Blocks looked at together, and the numbers held in memory for them.
_AT_ONCE, _BLOCK = 10, 4_000_000


@intervals.register("exact")
def exact(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Score test inverted exactly (Agresti & Min 2001): guaranteed; two groups with 0/1 costs."""
    counts, bound = counts_of(sample, "exact")
    low, high = of_counts(*counts, confidence=confidence)
    return Interval(low * bound, high * bound, confidence, "exact")


@lru_cache(maxsize=4096)
def of_counts(
    ones_a: int, n_a: int, ones_b: int, n_b: int, *, confidence: float
) -> tuple[float, float]:
    """Return the interval of p_a - p_b: the hull of the differences that are not rejected."""
    # Swapping the groups, or 0 and 1, turns the interval over: one form is computed.
    if (n_a, ones_a) > (n_b, ones_b):
        low, high = of_counts(ones_b, n_b, ones_a, n_a, confidence=confidence)
        return -high, -low
    if (ones_a, ones_b) > (n_a - ones_a, n_b - ones_b):
        low, high = of_counts(n_a - ones_a, n_a, n_b - ones_b, n_b, confidence=confidence)
        return -high, -low
    test = ScoreTest(ones_a, n_a, ones_b, n_b, 1 - confidence)
    (low_a, high_a), (low_b, high_b) = test.limits
    return _end(test, low_a - high_b), _end(test, high_a - low_b)


def _end(test: ScoreTest, outside: float) -> float:
    """Return the outermost difference that is not rejected, looking from outside in.

    Differences beyond `outside` do not occur within the limits of the rates.
    """
    (low_a, high_a), (low_b, high_b) = test.limits
    corners = [low_a - low_b, high_a - high_b]
    inside = test.difference
    between = np.clip(corners, min(outside, inside), max(outside, inside)).tolist()
    edges = sorted([outside, *between, inside], key=lambda d: abs(d - outside))
    rate = (test.x_a + test.x_b + 1) / (test.n_a + test.n_b + 2)
    unit = math.sqrt(rate * (1 - rate) * (1 / test.n_a + 1 / test.n_b))
    sizes = tuple(size * unit for size in _SIZES)
    for start, stop in pairwise(edges):
        found = _first_accepted(test, start, stop, sizes)
        if found is not None:
            return found
    return inside


def _first_accepted(
    test: ScoreTest, start: float, stop: float, sizes: tuple[float, ...]
) -> float | None:
    """Return where the first block that is not rejected begins, or None if all are rejected."""
    points = np.linspace(start, stop, math.ceil(abs(stop - start) / sizes[0]) + 1)
    held = FINE * sum(map(len, test.outcomes))
    step = max(1, min(_AT_ONCE, _BLOCK // held))
    outer, inner = points[:-1], points[1:]
    first, last = np.minimum(outer, inner), np.maximum(outer, inner)
    for number in range(0, len(outer), step):
        rejected = test.rejects(first[number:][:step], last[number:][:step])
        for place in number + np.flatnonzero(~rejected):
            if len(sizes) == 1:
                return float(outer[place])
            found = _first_accepted(test, outer[place], inner[place], sizes[1:])
            if found is not None:
                return found
    return None
