"""The score interval for two proportions (Miettinen & Nurminen 1985).

`score` inverts the approximate law of the score statistic, `exact` its exact one. The statistic
falls as the difference grows, rises in the first count and falls in the second;
docs/statistics.md has the proof, which `exact` rests on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.results.interval import Interval
from lmprobe.stats.method import Sample, groups_of, intervals

Numbers = NDArray[Any] | float

# A difference in [-1, 1] to 2^-45.
_HALVINGS = 46


@intervals.register("score")
def score(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Score interval of two proportions: narrow, nearly exact; two groups with 0/1 costs."""
    counts, bound = counts_of(sample, "score")
    low, high = of_counts(*counts, confidence=confidence)
    return Interval(float(low) * bound, float(high) * bound, confidence, "score")


def counts_of(sample: Sample, method: str) -> tuple[list[int], float]:
    """Return how many rows of each group pay and how many there are, and what they pay."""
    groups, counts = groups_of(sample, method), []
    for costs in (groups.protected, groups.other):
        share = costs / groups.cost_bound
        between = ~np.isin(share, (0.0, 1.0))
        if between.any():
            raise InputError(
                f'the interval "{method}" is for costs that are either 0 or the bound, such as '
                f'those of 0/1 decisions: found {share[between][0]}; use "betting" or "bootstrap"'
            )
        counts += [int(share.sum()), len(share)]
    return counts, groups.cost_bound


def of_counts(
    ones_a: Any, n_a: Any, ones_b: Any, n_b: Any, *, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of p_a - p_b; arrays give arrays.

    An end is where the score test of p_a - p_b = end is just not significant, by bisection.
    The one of statsmodels fails where a group is all 0 or all 1.
    """
    from scipy import special

    x_a, a, x_b, b = (np.asarray(n, dtype=np.float64) for n in (ones_a, n_a, ones_b, n_b))
    estimate = x_a / a - x_b / b
    reach = float(special.ndtri((1 + confidence) / 2))
    ends = []
    for limit in (-1.0, 1.0):
        inside, outside = estimate, np.full(np.shape(estimate), limit)
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            near = np.abs(score_statistic(middle, x_a, a, x_b, b)) <= reach
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        # The outer side: one rounding too wide rather than too narrow.
        ends.append(outside)
    return ends[0], ends[1]


def score_statistic(
    difference: Floats, x_a: Numbers, a: Numbers, x_b: Numbers, b: Numbers
) -> Floats:
    """Return the score statistic of p_a - p_b = difference; arrays broadcast."""
    p_b = _likeliest(difference, x_a, a, x_b, b)
    p_a = p_b + difference  # within [0, 1], as p_b is within what the difference leaves
    n = a + b
    variance = (p_a * (1 - p_a) / a + p_b * (1 - p_b) / b) * n / (n - 1)
    apart = x_a / a - x_b / b - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0, 0.0, apart / np.sqrt(variance))


def _likeliest(d: Floats, x_a: Numbers, a: Numbers, x_b: Numbers, b: Numbers) -> Floats:
    """Return the most likely p_b given p_a - p_b = d: the root of Miettinen & Nurminen's cubic."""
    n, x = a + b, x_a + x_b
    square = (a + 2 * b) * d - n - x
    single = (b * d - n - 2 * x_b) * d + x
    rest = x_b * d * (1 - d)
    shift = square / (3 * n)
    q = shift**3 - single * square / (6 * n**2) + rest / (2 * n)
    p = np.copysign(np.sqrt(np.maximum(shift**2 - single / (3 * n), 0)), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(p == 0, 0.0, q / p**3)
    angle = (np.pi + np.arccos(np.minimum(cosine, 1))) / 3
    root = 2 * p * np.cos(angle) - shift
    return np.asarray(np.clip(root, np.maximum(0, -d), np.minimum(1, 1 - d)))
