"""The lean of a base: +1 where a pair occurs more often than by chance, -1 where less.

Two weightings are known by name. `joint` is Eq. 2 of Wang & Russakovsky 2021: it compares
P(a,t) with P(a)P(t). `paper` is what their published code does for language models: it
compares a conditional with its plain average, so that every task (or attribute) weighs the
same however common it is.
"""

from __future__ import annotations

import numpy as np

from lmprobe.errors import InputError, did_you_mean
from lmprobe.metrics.association import Association, ratio
from lmprobe.metrics.direction import LEAN_WEIGHTINGS, Direction, LeanWeighting
from lmprobe.metrics.tally import Floats

# Rounding alone makes independent tables lean: 2 attributes x 7 tasks already do.
_TIE = 1e-9


def lean_of(joint: Floats, p_attribute: Floats, p_task: Floats) -> Floats:
    """Return the lean (..., A, T) of a world: the sign of P(a,t) - P(a)P(t), 0 on a tie.

    Deviation: Eq. 2 counts a tie as negative; a pair that occurs exactly as often as
    chance has no direction that a model could amplify, so here it counts nothing.

    >>> lean_of(np.array([[3 / 15]]), np.array([5 / 15]), np.array([9 / 15])).tolist()
    [[0.0]]
    """
    return sign(joint, p_attribute[..., :, None] * p_task[..., None, :])


def lean(world: Association, direction: Direction, weighting: LeanWeighting = "joint") -> Floats:
    """Return the lean (A, T) of `world` under a weighting; the two agree on most pairs."""
    if weighting == "joint":
        return lean_of(world.joint, world.p_attribute, world.p_task)
    if weighting != "paper":
        raise InputError(f'no lean "{weighting}"; {did_you_mean(weighting, LEAN_WEIGHTINGS)}')
    return against_average(world.conditional(direction), direction)


def lean_of_counts(
    counts: Floats,
    direction: Direction,
    weighting: LeanWeighting = "joint",
    task_weight: Floats | None = None,
) -> Floats:
    """Return the lean (..., A, T) of tables of counts; a label never counted leans nowhere.

    `task_weight` (..., T) says how often each task counts in the margins and averages.
    """
    weighted = counts if task_weight is None else counts * task_weight[..., None, :]
    if weighting == "joint":
        attribute, task = weighted.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
        return sign(counts * attribute.sum(axis=-2, keepdims=True), attribute * task)
    given = (weighted if direction.axis == -1 else counts).sum(axis=direction.axis, keepdims=True)
    found = against_average(ratio(counts, given), direction, task_weight)
    return np.where(np.isnan(found), 0.0, found)


def against_average(
    conditional: Floats, direction: Direction, task_weight: Floats | None = None
) -> Floats:
    """Return the sign of a conditional (..., A, T) against its plain average over the given."""
    axis = -1 if direction == Direction.TASK_TO_ATTRIBUTE else -2
    # A label that never occurs has no conditional and so no say in the average.
    counted = (~np.isnan(conditional)).astype(np.float64)
    if task_weight is not None and axis == -1:
        counted = counted * task_weight[..., None, :]
    total = (counted * np.nan_to_num(conditional)).sum(axis=axis, keepdims=True)
    average = ratio(total, counted.sum(axis=axis, keepdims=True))
    return sign(conditional, average)


def sign(found: Floats, expected: Floats) -> Floats:
    """Return the sign of found - expected, 0 where they differ by rounding at most."""
    difference = found - expected
    tie = np.abs(difference) <= _TIE * np.maximum(np.abs(found), np.abs(expected))
    return np.where(tie, 0.0, np.sign(difference))
