"""Raking: the table with a model's odds ratios and the margins of the base.

A model that prefers one word everywhere, because it is frequent or short, multiplies a whole
row or column of its table by a factor. Scaling rows and columns to given margins (iterative
proportional fitting, Deming & Stephan 1940) removes every such factor: of all tables with the
odds ratios of the model there is exactly one with these margins (Sinkhorn 1967).
"""

from __future__ import annotations

import numpy as np

from lmprobe.core.association import ratio
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError

# The sum of the errors of the margins at which a table counts as raked. What is left in
# `association` after a change of row or column factors is of the same size.
_CLOSE = 1e-13
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

    Notes
    -----
    The column factors follow from the row factors, which maximise a concave function (the
    likelihood of a logit model with one constant per attribute). Newton's method finds them;
    where a step of it does not come nearer, a step of iterative proportional fitting is taken.

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
    table = np.broadcast_to(logs, (*lead, *logs.shape[-2:])).reshape(-1, *logs.shape[-2:])
    rows = np.broadcast_to(p_attribute, (*lead, logs.shape[-2])).reshape(len(table), -1)
    columns = np.broadcast_to(p_task, (*lead, logs.shape[-1])).reshape(len(table), -1)
    if not np.allclose(rows.sum(axis=1), columns.sum(axis=1), rtol=1e-9):
        raise InputError("the margins to rake to must have the same sum")
    return _raked(table, rows, columns).reshape(*lead, *logs.shape[-2:])


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
    with np.errstate(divide="ignore"):
        wanted = np.log(rows)
    # Beginning without row and column means, every table with these odds ratios begins alike.
    logs = logs - logs.mean(axis=1, keepdims=True)
    logs = logs - logs.mean(axis=2, keepdims=True)
    # An empty row has the factor 0.
    factor = np.where(rows > 0, 0.0, -np.inf)
    active = np.arange(len(logs))
    joint = _with_columns(logs, factor, columns)
    gap = _gap(joint, rows)
    for _ in range(_STEPS):
        active = active[gap[active] > _CLOSE]
        if not len(active):
            break
        part = joint[active]
        fitted = factor[active] + _fitting_step(part, wanted[active])
        newton = factor[active] + _newton_step(part, rows[active], columns[active])
        tables = [_with_columns(logs[active], one, columns[active]) for one in (newton, fitted)]
        gaps = [_gap(one, rows[active]) for one in tables]
        better = gaps[0] < np.minimum(gaps[1], gap[active])
        factor[active] = np.where(better[:, None], newton, fitted)
        joint[active] = np.where(better[:, None, None], *tables)
        before = gap[active]
        gap[active] = np.where(better, *gaps)
        # Rounding has the last word: a table that no longer comes nearer is as near as it gets.
        stuck = (gap[active] >= before) & (before < 1e-11)
        gap[active[stuck]] = 0.0
    return joint


def _with_columns(logs: Floats, factor: Floats, columns: Floats) -> Floats:
    """Return exp(logs + row factor), every column scaled to its margin."""
    scaled = logs + factor[:, :, None]
    scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(scaled * (columns / scaled.sum(axis=1))[:, None, :])


def _gap(joint: Floats, rows: Floats) -> Floats:
    return np.asarray(np.abs(joint.sum(axis=2) - rows).sum(axis=1))


def _fitting_step(joint: Floats, wanted: Floats) -> Floats:
    """Return the change of the row factors in one step of iterative proportional fitting."""
    empty = np.isneginf(wanted)
    # A row too small for a number grows as far as one step can.
    seen = np.log(np.maximum(joint.sum(axis=2), np.finfo(np.float64).tiny))
    return np.where(empty, 0.0, np.where(empty, 0.0, wanted) - seen)


def _newton_step(joint: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return Newton's change of the row factors; one of them is fixed by the others."""
    share = np.where(columns > 0, columns, 1.0)
    slope = -np.einsum("bat,bct->bac", joint / share[:, None, :], joint)
    size = rows.shape[1]
    slope[:, np.arange(size), np.arange(size)] += joint.sum(axis=2)
    # A common factor of all rows changes nothing, nor does that of an empty row: both are
    # held at their place by one on the diagonal.
    slope += rows[:, :, None] * rows[:, None, :]
    empty = rows <= 0
    slope[:, np.arange(size), np.arange(size)] += np.where(empty, 1.0, 1e-300)
    gap = np.where(empty, 0.0, rows - joint.sum(axis=2))
    try:
        change = np.linalg.solve(slope, gap[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return np.zeros_like(rows)
    return np.where(np.isfinite(change), np.clip(change, -50.0, 50.0), 0.0)
