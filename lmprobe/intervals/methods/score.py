"""The score interval for two proportions (Miettinen & Nurminen 1985)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, groups_of, intervals
from lmprobe.intervals.score_test import score_statistic
from lmprobe.results.interval import Interval

# A difference in [-1, 1] to 2^-45.
_HALVINGS = 46


@intervals.register("score")
def score(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Score interval of two proportions: narrow, nearly exact; two groups with 0/1 costs."""
    counts, bound = counts_of(sample, "score")
    low, high = of_counts(*counts, confidence=confidence)
    return Interval(float(low) * bound, float(high) * bound, confidence, "score")


def counts_of(sample: Sample, method: str) -> tuple[tuple[int, int, int, int], float]:
    """Return how many rows of each group pay and how many there are, and what they pay."""
    groups = groups_of(sample, method)
    counts = []
    for costs in (groups.protected, groups.other):
        share = costs / groups.cost_bound
        if not np.isin(share, (0.0, 1.0)).all():
            raise InputError(
                f'the interval "{method}" is for costs that are either 0 or the bound, such as '
                f"those of 0/1 decisions: found {share[~np.isin(share, (0.0, 1.0))][0]}; "
                'use "betting" or "bootstrap"'
            )
        counts += [int(share.sum()), len(share)]
    return (counts[0], counts[1], counts[2], counts[3]), groups.cost_bound


def of_counts(
    ones_a: Any, n_a: Any, ones_b: Any, n_b: Any, *, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of p_a - p_b; arrays give arrays.

    An end is where the score test of p_a - p_b = end is just not significant, found by
    bisection. The library's own, in statsmodels, fails where a group is all 0 or all 1.
    """
    from scipy import special

    counts = [np.asarray(one, dtype=np.float64) for one in (ones_a, n_a, ones_b, n_b)]
    x_a, a, x_b, b = np.broadcast_arrays(*counts)
    found = x_a / a - x_b / b
    reach = float(special.ndtri((1 + confidence) / 2))
    ends = []
    for outside in (np.full(found.shape, -1.0), np.full(found.shape, 1.0)):
        inside = found.copy()
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            near = np.abs(score_statistic(middle, x_a, a, x_b, b)) <= reach
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        # The outer side: one rounding too wide rather than too narrow.
        ends.append(outside)
    return ends[0], ends[1]
