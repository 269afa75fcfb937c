"""The score interval for two proportions (Miettinen & Nurminen 1985).

`score` inverts the approximate law of the score statistic, `exact` its exact one. The statistic
falls as the difference grows, rises in the first count and falls in the second;
docs/statistics.md has the proof, which `exact` rests on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats, ratio
from lmprobe.results.verdict import Interval
from lmprobe.stats.method import Groups, Sample, groups_of, intervals
from lmprobe.stats.resampling import draws, slices

# Drawing how often a cell occurs takes as long as drawing so many rows.
_DRAWN_ONE_BY_ONE = 16
# A group's costs are merged into about so many cells if they lose no more of their variance:
# the interval becomes shorter by half of that share, far below the noise of resampling.
_CELLS, _LOST = 256, 1e-4


def groups_sample(
    protected: Floats, other: Floats, *, cost_bound: float, group_share: float
) -> Sample:
    """Return the difference of the mean costs, protected minus other.

    The observations are the amortized disparities (Definition 2.3); they are bounded with
    `group_share`, a lower bound on the share of the smaller group (Definition 2.4).
    """
    if not len(protected) or not len(other):
        raise InputError("the difference of two groups needs a row in each of them")
    bound = cost_bound / group_share
    return Sample(
        float(protected.mean() - other.mean()),
        observations=amortized(protected, other),
        bounds=(-bound, bound),
        resampled=lambda replicates, rng: resampled(protected, other, replicates, rng),
        units=min(len(protected), len(other)),
        groups=Groups(protected, other, cost_bound),
    )


def amortized(protected: Floats, other: Floats) -> Floats:
    """Return the amortized disparities for the shares that the groups have in the sample."""
    n = len(protected) + len(other)
    return np.concatenate([protected * n / len(protected), -other * n / len(other)])


def resampled(
    protected: Floats, other: Floats, replicates: int, rng: np.random.Generator
) -> Floats:
    """Return the difference on resamples of the rows; NaN where a group is drawn empty.

    Rows with the same group and cost are interchangeable, so drawing how often each such
    cell occurs is drawing the rows: a table of any length costs as little as its cells.
    """
    values, counts = zip(*(cells_of(costs) for costs in (protected, other)), strict=True)
    cells, n = np.concatenate(counts), len(protected) + len(other)
    many = len(cells) * _DRAWN_ONE_BY_ONE > n
    if many:
        values, cells = (protected, other), np.ones(n, dtype=np.intp)
    differences = np.empty(replicates)
    for part in slices(replicates, len(cells)):
        size = part.stop - part.start
        drawn = draws(size, n, rng) if many else rng.multinomial(n, cells / n, size=size)
        times = np.split(drawn, [len(values[0])], axis=1)
        means = [ratio(times[i] @ values[i], times[i].sum(axis=1)) for i in (0, 1)]
        differences[part] = means[0] - means[1]
    return differences


def cells_of(costs: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the different costs and how often each occurs; many are merged to their means."""
    values, counts = np.unique(costs, return_counts=True)
    if len(values) <= _CELLS:
        return values, counts
    # Even steps hold the bulk of a wide spread apart, even shares that of a narrow one.
    shares = np.linspace(0, 1, _CELLS // 2)
    edges = np.union1d(np.quantile(costs, shares), values[0] + shares * np.ptp(values))
    cell = np.searchsorted(edges, values)
    often = np.bincount(cell, counts)
    means = np.bincount(cell, counts * values) / np.maximum(often, 1)
    lost = counts @ (values - means[cell]) ** 2
    if lost > _LOST * (counts @ (values - costs.mean()) ** 2):
        return values, counts
    kept = often > 0
    return means[kept], often[kept].astype(np.intp)


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
