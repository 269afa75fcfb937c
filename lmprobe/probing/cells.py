"""The cells that the numbers of a row are means of: value, association and preference.

Each is (K, A, T). Where the base was counted, or has standard errors, the cells are those
without the bias that its own noise causes (see `intervals.base_uncertainty`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lmprobe.core.choices import LeanWeighting
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.intervals.base_uncertainty import (
    BaseCorrection,
    base_correction,
    survey_correction,
)
from lmprobe.metrics.directional import amplification
from lmprobe.metrics.raking import raked_conditional
from lmprobe.probing.baseline import Baseline


@dataclass(frozen=True, slots=True, eq=False)
class RowCells:
    """What one base gives in one direction, before intervals."""

    value: Floats
    """As the formula has it: the paper's number is the mean of these."""
    association: Floats
    """The same of the tables raked to the margins of the base."""
    corrected: tuple[Floats, Floats] | None = None
    """Value and association without the bias of a sampled base; None for an exact one."""
    corrections: tuple[BaseCorrection, BaseCorrection] | None = None
    """How the two were corrected."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """The standard error that the base alone adds to each part; empty for an exact base."""

    @property
    def claimed(self) -> dict[str, Floats]:
        """The cells that intervals and verdicts are about, by what they are."""
        value, association = self.corrected or (self.value, self.association)
        return {"value": value, "association": association, "preference": value - association}

    @property
    def uncorrected(self) -> dict[str, Floats]:
        """The cells as the formulas have them."""
        parts = {"value": self.value, "association": self.association}
        return parts | {"preference": self.value - self.association}


def row_cells(
    against: Baseline,
    direction: Direction,
    predicted: Floats,
    log_table: Floats,
    *,
    weighting: LeanWeighting,
    seed: int,
) -> RowCells:
    """Return the cells of predictions (K, A, T) against one base.

    `log_table` (K, A, T) are the logarithms behind `predicted`, normalised or not.
    """
    labels = against.rates.association
    base_rate, lean = labels.conditional(direction), against.lean(direction, weighting)
    raked = raked_conditional(log_table, labels.joint, direction)
    plain = RowCells(
        amplification(predicted, base_rate, lean), amplification(raked, base_rate, lean)
    )
    corrections = _corrections(against, direction, weighting, np.random.default_rng(seed))
    if corrections is None:
        return plain
    # Given the number of sentences of each task, the raked table and the base differ in P(a|t)
    # alone; in attribute->task the difference counts in proportion to P(t) / P(a).
    scale = association_scale(labels.joint, direction)
    by_task = raked_conditional(log_table, labels.joint, Direction.TASK_TO_ATTRIBUTE)
    cells = corrections[0].cells(predicted), corrections[1].cells(by_task) * scale
    value, association = corrections[0].noise(predicted), corrections[1].noise(by_task, scale)
    noise = {"value": value, "association": association}
    # No more than if the two were independent: they share their base.
    noise["preference"] = math.hypot(value, association)
    return RowCells(plain.value, plain.association, cells, corrections, noise)


def association_scale(joint: Floats, direction: Direction) -> Floats:
    """Return what turns a difference of P(a|t) into one of what `direction` predicts, (A, T).

    `joint` (A, T) may be shares or counts: it is a ratio of their margins.
    """
    if direction is Direction.TASK_TO_ATTRIBUTE:
        return np.ones(joint.shape)
    return np.asarray(joint.sum(axis=0)[None, :] / joint.sum(axis=1)[:, None])


def _corrections(
    against: Baseline, direction: Direction, weighting: LeanWeighting, rng: np.random.Generator
) -> tuple[BaseCorrection, BaseCorrection] | None:
    """Return the corrections of value and association; a lean from elsewhere needs none."""
    rates = against.rates
    counts = rates.association.counts
    if rates.sampling is None or counts is None or against.lean_name != against.name:
        return None
    if not (rates.association.p_attribute.all() and rates.association.p_task.all()):
        return None
    within = (direction, Direction.TASK_TO_ATTRIBUTE)
    errors = rates.sampling.standard_errors
    if errors is not None:
        return tuple(
            survey_correction(counts, errors, direction, weighting=weighting, given=one, rng=rng)
            for one in within
        )  # type: ignore[return-value]
    scale = association_scale(counts, direction)
    return (
        base_correction(counts, direction, weighting=weighting, rng=rng),
        base_correction(
            counts, direction, weighting=weighting, given=within[1], scale=scale, rng=rng
        ),
    )
