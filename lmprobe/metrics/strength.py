"""Strength: how many times as strong the links of a table are as those of a base.

The links of a table are what a two-way additive model of its logarithms leaves over: factors of
a row or a column (and so any normalisation) do not change them. The strength is the slope of
the table's links on those of the base, unweighted and through the origin: 1 is the base itself,
0 no links at all, a negative number the opposite links. For two groups it is the slope of the
log odds of the tasks.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from lmprobe.core.association import ratio
from lmprobe.core.tally import Floats

# Links smaller than this, in nats, are rounding.
_ROUNDING = 1e-9
# Sweeps over rows and columns that fit the additive model where cells are missing.
_SWEEPS = 200


def logarithms(table: Floats) -> Floats:
    """Return the logarithms of a table, NaN for a cell of zero: it has no link to compare."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(table > 0, np.log(table), np.nan)


def strength(logs: Floats, base: Floats, task_weight: Floats | None = None) -> Floats:
    """Return the slope of the links of tables `logs` on those of `base`, both (..., A, T).

    Both are logarithms, NaN where a cell is missing; a cell counts if neither lacks it.
    `task_weight` (..., T) says how often each task counts. NaN where the base has no links,
    as with a single task.

    >>> base = np.log([[0.9, 0.5, 0.2], [0.1, 0.5, 0.8]])
    >>> float(np.round(strength(2 * base + np.array([[1.0], [0.0]]), base), 12))
    2.0
    """
    logs, base = np.broadcast_arrays(logs, base)
    weight = np.ones(logs.shape[-1]) if task_weight is None else task_weight
    cell_weight = np.where(np.isnan(logs) | np.isnan(base), 0.0, weight[..., None, :])
    links = additive_rest(base, cell_weight)
    # Projecting the base alone suffices: what is left of it is orthogonal to every factor.
    table = np.where(cell_weight > 0, logs, 0.0)
    size = (cell_weight * links**2).sum(axis=(-2, -1))
    smallest = _ROUNDING**2 * cell_weight.sum(axis=(-2, -1))
    slope = ratio((cell_weight * links * table).sum(axis=(-2, -1)), size)
    return np.where(size > smallest, slope, np.nan)[()]


def strength_by_odds(logs: Floats, log_odds: Floats, task_weight: Floats) -> Floats:
    """Return the slopes (N, K) of tables (K, A, T) on log odds of every two attributes, (N, P, T).

    Where the log odds are those of a table they are `strength`: the squares of the links of a
    task are the squares of the differences of every two of them, over the number of attributes.
    """
    first, second = np.array(list(combinations(range(logs.shape[-2]), 2))).T
    mean = (log_odds * task_weight[:, None]).sum(axis=-1) / task_weight.sum(axis=-1)[:, None]
    links = (log_odds - mean[..., None]) * task_weight[:, None]
    found = np.einsum("npt,kpt->nk", links, logs[:, first] - logs[:, second], optimize=True)
    return ratio(found, np.einsum("npt,npt->n", links, log_odds)[:, None])


def additive_rest(table: Floats, weight: Floats) -> Floats:
    """Return what a weighted two-way additive model leaves over of tables (..., A, T).

    Cells of weight 0 may be NaN and count nothing. Without missing cells two sweeps are exact.
    """
    rest = np.where(weight > 0, table, 0.0)
    rows, columns = (weight.sum(axis=axis, keepdims=True) for axis in (-1, -2))
    complete = bool((weight.min(axis=-2) == weight.max(axis=-2)).all())
    for _ in range(2 if complete else _SWEEPS):
        before = rest
        for axis, total in ((-2, columns), (-1, rows)):
            mean = (weight * rest).sum(axis=axis, keepdims=True) / np.where(total > 0, total, 1.0)
            rest = rest - mean
        if not complete and np.abs(np.where(weight > 0, rest - before, 0.0)).max() < 1e-13:
            break
    return np.where(weight > 0, rest, 0.0)
