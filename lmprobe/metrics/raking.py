"""A table without its margins: raking to other margins, and the strength of its links."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats, ratio
from lmprobe.metrics.direction import Direction

# The sum of the errors of the margins at which a table counts as raked. What is left in
# `association` after a change of row or column factors is of the same size.
_CLOSE = 1e-13
# Below this a table that comes no nearer is left as it is.
_STUCK = 1e-11
# Above this the margins were not reached, and the table is undefined.
_REACHED = 1e-9
# Above this a step is judged by the function that is maximised, when the plain steps were used up.
_FAR = 1e-4
_PLAIN = 20
_STEPS = 500


def rake(log_table: Floats, p_attribute: Floats, p_task: Floats) -> Floats:
    """Return the joint tables (..., A, T) with the margins given and the odds ratios of each table.

    Parameters
    ----------
    log_table
        (..., A, T) logarithms of positive numbers; leading axes, such as one per template,
        are kept. Rows and columns may be scaled by any factor, which changes nothing.
    p_attribute, p_task
        (..., A) and (..., T), margins with the same sum; a label with the margin 0 has an
        empty row or column. Leading axes, such as one per redrawn base, are broadcast.

    Returns
    -------
    joint
        (..., A, T); a table whose margins cannot be reached in double precision is NaN.

    Notes
    -----
    The column factors follow from the row factors, which maximise a concave function (the
    likelihood of a logit model with one constant per attribute). Newton's method finds them;
    where a step of iterative proportional fitting comes nearer, that is taken. Where links are
    so strong that this leads nowhere, shorter steps follow that raise the likelihood most.

    Examples
    --------
    >>> joint = rake(np.log([[8.0, 1.0], [4.0, 2.0]]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    >>> bool(np.isclose(joint[0, 0] * joint[1, 1] / (joint[0, 1] * joint[1, 0]), 4.0))
    True
    """
    logs = np.asarray(log_table, dtype=np.float64)
    if not np.isfinite(logs).all():
        raise InputError("a table to be raked must be positive in every cell")
    lead = np.broadcast_shapes(logs.shape[:-2], p_attribute.shape[:-1], p_task.shape[:-1])
    (a, t), number = logs.shape[-2:], math.prod(lead)
    table = np.broadcast_to(logs, (*lead, a, t)).reshape(number, a, t)
    rows = np.broadcast_to(p_attribute, (*lead, a)).reshape(number, a)
    columns = np.broadcast_to(p_task, (*lead, t)).reshape(number, t)
    if not np.allclose(rows.sum(axis=1), columns.sum(axis=1), rtol=1e-9):
        raise InputError("the margins to rake to must have the same sum")
    return _raked(table, rows, columns).reshape(*lead, a, t)


def raked_conditional(log_table: Floats, joint: Floats, direction: Direction) -> Floats:
    """Return P(a|t) or P(t|a) of the model's tables raked to the margins of `joint`, (..., A, T).

    `log_table` are logarithms of the model's probabilities, normalised or not, which are exact
    where a probability is too small for a number. A label that never occurs in `joint` is
    undefined, as it is in the base.
    """
    table = rake(log_table, joint.sum(axis=-1), joint.sum(axis=-2))
    return ratio(table, table.sum(axis=direction.axis, keepdims=True))


def _raked(logs: Floats, rows: Floats, columns: Floats) -> Floats:
    """Rake many tables (B, A, T) to margins (B, A) and (B, T)."""
    # Beginning without row means, every table with these odds ratios begins alike; an empty
    # row has the factor 0.
    factor = np.where(rows > 0, -logs.mean(axis=2), -np.inf)
    active = np.arange(len(logs))
    joint = _with_columns(logs, factor, columns)
    gap = _gap(joint, rows)
    for step in range(_STEPS):
        active = active[gap[active] > _CLOSE]
        if not len(active):
            break
        before, part = gap[active], (logs[active], rows[active], columns[active])
        factor[active], joint[active] = _better_step(
            *part, factor[active], joint[active], careful=step >= _PLAIN
        )
        gap[active] = _gap(joint[active], part[1])
        # Rounding has the last word: a table that no longer comes nearer is as near as it gets.
        active = active[(gap[active] < before) | (before > _STUCK)]
    # With links beyond every model's (hundreds of nats) a table may be out of reach.
    joint[gap > _REACHED] = np.nan
    return joint


def _better_step(
    logs: Floats, rows: Floats, columns: Floats, factor: Floats, joint: Floats, *, careful: bool
) -> tuple[Floats, Floats]:
    """Return row factors and tables after the better of a Newton step and a fitting step."""
    change = _newton_step(joint, rows, columns)
    # Far from the solution the direction of Newton's step is right but its length is not.
    longest = 1.0 if careful else 50.0
    change *= longest / np.maximum(np.abs(change).max(axis=1, keepdims=True), longest)
    steps = factor + change, factor + _fitting_step(joint, rows)
    tables = [_with_columns(logs, step, columns) for step in steps]
    gaps = [_gap(table, rows) for table in tables]
    newton = gaps[0] < gaps[1]
    if careful:
        # There the margins say little; the function that is maximised says which step is better.
        values = [_likelihood(logs, step, rows, columns) for step in steps]
        far = _gap(joint, rows) > _FAR
        newton = np.where(far, values[0] > values[1], newton)
    return np.where(newton[:, None], *steps), np.where(newton[:, None, None], *tables)


def _with_columns(logs: Floats, factor: Floats, columns: Floats) -> Floats:
    """Return exp(logs + row factor), every column scaled to its margin."""
    scaled = logs + factor[:, :, None]
    scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(scaled * (columns / scaled.sum(axis=1))[:, None, :])


def _gap(joint: Floats, rows: Floats) -> Floats:
    return np.asarray(np.abs(joint.sum(axis=2) - rows).sum(axis=1))


def _likelihood(logs: Floats, factor: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the concave function of the row factors that is largest for the raked table."""
    scaled = logs + factor[:, :, None]
    top = scaled.max(axis=1, keepdims=True)
    sums = top[:, 0] + np.log(np.exp(scaled - top).sum(axis=1))
    with np.errstate(invalid="ignore"):
        # An empty row is 0 times minus infinity, and counts nothing.
        return np.asarray(np.nansum(rows * factor, axis=1) - (columns * sums).sum(axis=1))


def _fitting_step(joint: Floats, rows: Floats) -> Floats:
    """Return the change of the row factors in one step of iterative proportional fitting."""
    # A row too small for a number grows as far as one step can; an empty one stays empty.
    seen = np.log(np.maximum(joint.sum(axis=2), np.finfo(np.float64).tiny))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(rows) - seen)


def _newton_step(joint: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return Newton's change of the row factors; one of them is fixed by the others."""
    share = np.where(columns > 0, columns, 1.0)
    slope = -np.einsum("bat,bct->bac", joint / share[:, None, :], joint)
    # A common factor of all rows changes nothing, nor does that of an empty row: the one is held
    # at its place by the margins, the other by a number on the diagonal.
    slope += rows[:, :, None] * rows[:, None, :]
    diagonal = np.arange(rows.shape[1])
    slope[:, diagonal, diagonal] += joint.sum(axis=2) + np.finfo(np.float64).tiny
    try:
        change = np.linalg.solve(slope, (rows - joint.sum(axis=2))[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return np.zeros_like(rows)
    return np.nan_to_num(change)


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
    products = np.einsum("npt,kpt->nk", links, logs[:, first] - logs[:, second], optimize=True)
    return ratio(products, np.einsum("npt,npt->n", links, log_odds)[:, None])


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
