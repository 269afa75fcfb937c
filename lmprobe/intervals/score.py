"""The score interval for two proportions (Miettinen & Nurminen 1985)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import Sample, groups_of, intervals
from lmprobe.tally import Floats

# A difference in [-1, 1] to 2^-45.
_HALVINGS = 46


@intervals.register("score")
def score(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Score interval of two proportions: narrow, nearly exact; two groups with 0/1 costs."""
    groups = groups_of(sample, "score")
    ones = []
    for costs in (groups.protected, groups.other):
        share = costs / groups.cost_bound
        if not np.isin(share, (0.0, 1.0)).all():
            raise InputError(
                'the interval "score" is for costs that are either 0 or the bound, such as those '
                f"of 0/1 decisions: found {share[~np.isin(share, (0.0, 1.0))][0]}; "
                'use "stratified" or "bootstrap"'
            )
        ones.append(int(share.sum()))
    low, high = of_counts(
        ones[0], len(groups.protected), ones[1], len(groups.other), confidence=confidence
    )
    bound = groups.cost_bound
    return Interval(float(low) * bound, float(high) * bound, confidence, "score")


def of_counts(
    ones_a: Any, n_a: Any, ones_b: Any, n_b: Any, *, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of p_a - p_b; arrays give arrays.

    An end is where the score test of p_a - p_b = end is just not significant, found by
    bisection. The library's own, in statsmodels, fails where a group is all 0 or all 1.
    """
    from scipy import stats

    counts = [np.asarray(one, dtype=np.float64) for one in (ones_a, n_a, ones_b, n_b)]
    x_a, a, x_b, b = np.broadcast_arrays(*counts)
    found = x_a / a - x_b / b
    reach = float(stats.norm.ppf((1 + confidence) / 2))
    ends = []
    for outside in (np.full(found.shape, -1.0), np.full(found.shape, 1.0)):
        inside = found.copy()
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            near = np.abs(_score(middle, x_a, a, x_b, b)) <= reach
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        # The outer side: one rounding too wide rather than too narrow.
        ends.append(outside)
    return ends[0], ends[1]


def _score(difference: Floats, x_a: Floats, a: Floats, x_b: Floats, b: Floats) -> Floats:
    """Return the score statistic of p_a - p_b = difference."""
    p_b = _likeliest(difference, x_a, a, x_b, b)
    p_a = np.clip(p_b + difference, 0, 1)
    n = a + b
    variance = (p_a * (1 - p_a) / a + p_b * (1 - p_b) / b) * n / (n - 1)
    apart = x_a / a - x_b / b - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0, 0.0, apart / np.sqrt(variance))


def _likeliest(d: Floats, x_a: Floats, a: Floats, x_b: Floats, b: Floats) -> Floats:
    """Return the most likely p_b given p_a - p_b = d: the root of Miettinen & Nurminen's cubic."""
    n, x = a + b, x_a + x_b
    square = (a + 2 * b) * d - n - x
    single = (b * d - n - 2 * x_b) * d + x
    rest = x_b * d * (1 - d)
    shift = square / (3 * n)
    q = shift**3 - single * square / (6 * n**2) + rest / (2 * n)
    p = np.where(q < 0, -1.0, 1.0) * np.sqrt(np.maximum(shift**2 - single / (3 * n), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(p == 0, 0.0, q / p**3)
    angle = (np.pi + np.arccos(np.clip(cosine, -1, 1))) / 3
    root = 2 * p * np.cos(angle) - shift
    return np.asarray(np.clip(root, np.maximum(0, -d), np.minimum(1, 1 - d)))
