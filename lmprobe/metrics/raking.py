"""Raking: the table with a model's odds ratios and the margins of the base.

A model that prefers one word everywhere, because it is frequent or short, multiplies a whole
row or column of its table by a factor. Scaling rows and columns to given margins (iterative
proportional fitting, Deming & Stephan 1940) removes every such factor: of all tables with the
odds ratios of the model there is exactly one with these margins (Sinkhorn 1967).
"""

from __future__ import annotations

import math

import numpy as np

from lmprobe.core.association import ratio
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError

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
    tables = [_with_columns(logs, one, columns) for one in steps]
    gaps = [_gap(one, rows) for one in tables]
    newton = gaps[0] < gaps[1]
    if careful:
        # There the margins say little; the function that is maximised says which step is better.
        values = [_likelihood(logs, one, rows, columns) for one in steps]
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
