"""Which way the world leans: +1 where a pair occurs more often than chance, -1 where less.

Two weightings are known by name. `joint` is Eq. 2 of Wang & Russakovsky 2021: it compares
P(a,t) with P(a)P(t). `paper` is what their published code does for language models: it
compares a conditional with its plain average, so that every task (or attribute) weighs the
same however common it is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from lmprobe.association import Association, Direction
from lmprobe.errors import InputError, did_you_mean
from lmprobe.tally import Floats

LeanWeighting = Literal["joint", "paper"]
LEAN_WEIGHTINGS: tuple[LeanWeighting, ...] = ("joint", "paper")

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
    conditional = world.conditional(direction)
    axis = 1 if direction == "task->attribute" else 0
    # A label that never occurs has no conditional and so no say in the average.
    known = np.where(np.isnan(conditional), 0.0, conditional)
    counted = np.maximum((~np.isnan(conditional)).sum(axis=axis, keepdims=True), 1)
    average = known.sum(axis=axis, keepdims=True) / counted
    return sign(conditional, np.broadcast_to(average, conditional.shape))


def sign(found: Floats, expected: Floats) -> Floats:
    """Return the sign of found - expected, 0 where they differ by rounding at most."""
    difference = found - expected
    tie = np.abs(difference) <= _TIE * np.maximum(np.abs(found), np.abs(expected))
    return np.where(tie, 0.0, np.sign(difference))
