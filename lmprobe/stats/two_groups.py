"""The difference of two groups' mean costs as a sample that every method understands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.association import ratio
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.stats.method import Groups, Sample
from lmprobe.stats.weights import draws, slices

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
