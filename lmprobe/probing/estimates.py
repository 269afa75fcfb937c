"""A row's numbers with intervals and verdicts: the value, its association and its preference.

Each is a mean of cells (K, A, T). Where the base was counted, or has standard errors, the
cells are those without the bias that its own noise causes (see `intervals.base_uncertainty`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.metrics.directional import amplification
from lmprobe.metrics.raking import raked_conditional
from lmprobe.probing.baseline import Baseline
from lmprobe.probing.row import row_verdict
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, Note, NoteKind
from lmprobe.stats.base_uncertainty import (
    BaseCorrection,
    base_correction,
    is_enough,
    survey_correction,
    with_noise,
)
from lmprobe.stats.method import traits_of
from lmprobe.stats.probe import CellTable, draws_tasks, probe_interval
from lmprobe.stats.simultaneous import JointRow, bonferroni, simultaneous_intervals

PARTS = ("value", "association", "preference")

Corrections = tuple[BaseCorrection, BaseCorrection]
"""How the value and the association are corrected."""


@dataclass(frozen=True, slots=True, eq=False)
class RowCells:
    """What one base gives in one direction, before intervals."""

    value: Floats
    """As the formula has it: the paper's number is the mean of these."""
    association: Floats
    """The same of the tables raked to the margins of the base."""
    tasks: tuple[str, ...]
    foreign_lean: bool
    corrected: tuple[Floats, Floats] | None = None
    """Value and association without the bias of a sampled base; None for an exact one."""
    corrections: Corrections | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    """The standard error that the base alone adds to each part; empty for an exact base."""

    @property
    def claimed(self) -> dict[str, Floats]:
        """The cells that intervals and verdicts are about, by what they are."""
        return _parts(*(self.corrected or (self.value, self.association)))

    @property
    def uncorrected(self) -> dict[str, Floats]:
        """The cells as the formulas have them."""
        return _parts(self.value, self.association)

    @property
    def reliability(self) -> float | None:
        """The share of an amplification that the base shows; None for an exact base."""
        if self.corrections is None:
            return None
        return min(correction.reliability.proportional for correction in self.corrections)


def _parts(value: Floats, association: Floats) -> dict[str, Floats]:
    return {"value": value, "association": association, "preference": value - association}


def row_cells(
    baseline: Baseline,
    direction: Direction,
    predicted: Floats,
    log_table: Floats,
    settings: ProbeSettings,
) -> RowCells:
    """Return the cells of predictions (K, A, T) against one base.

    `log_table` (K, A, T) are the logarithms behind `predicted`, normalised or not.
    """
    labels = baseline.rates.association
    base_rate = labels.conditional(direction)
    lean = baseline.lean(direction, settings.lean_weighting)
    raked = raked_conditional(log_table, labels.joint, direction)
    cells = RowCells(
        amplification(predicted, base_rate, lean),
        amplification(raked, base_rate, lean),
        labels.tasks,
        baseline.foreign_lean,
    )
    corrections = _corrections(baseline, direction, settings)
    if corrections is None:
        return cells
    # Given the number of sentences of each task, the raked table and the base differ in P(a|t)
    # alone; in attribute->task the difference counts in proportion to P(t) / P(a).
    scale = association_scale(labels.joint, direction)
    by_task = raked_conditional(log_table, labels.joint, Direction.TASK_TO_ATTRIBUTE)
    value, association = corrections[0].noise(predicted), corrections[1].noise(by_task, scale)
    return replace(
        cells,
        corrected=(corrections[0].cells(predicted), corrections[1].cells(by_task) * scale),
        corrections=corrections,
        noise={
            "value": value,
            "association": association,
            # No more than if the two were independent: they share their base.
            "preference": math.hypot(value, association),
        },
    )


def association_scale(joint: Floats, direction: Direction) -> Floats:
    """Return what turns a difference of P(a|t) into one of what `direction` predicts, (A, T).

    `joint` (A, T) may be shares or counts: it is a ratio of their margins.
    """
    if direction is Direction.TASK_TO_ATTRIBUTE:
        return np.ones(joint.shape)
    return np.asarray(joint.sum(axis=0)[None, :] / joint.sum(axis=1)[:, None])


def _corrections(
    baseline: Baseline, direction: Direction, settings: ProbeSettings
) -> Corrections | None:
    """Return the corrections of value and association; a lean from elsewhere needs none."""
    rates, rng = baseline.rates, np.random.default_rng(settings.seed)
    counts, weighting = rates.association.counts, settings.lean_weighting
    if rates.sampling is None or counts is None or baseline.foreign_lean:
        return None
    if not (rates.association.p_attribute.all() and rates.association.p_task.all()):
        return None
    given = Direction.TASK_TO_ATTRIBUTE
    errors = rates.sampling.standard_errors
    if errors is not None:
        return (
            survey_correction(
                counts, errors, direction, weighting=weighting, given=direction, rng=rng
            ),
            survey_correction(counts, errors, direction, weighting=weighting, given=given, rng=rng),
        )
    scale = association_scale(counts, direction)
    return (
        base_correction(counts, direction, weighting=weighting, rng=rng),
        base_correction(counts, direction, weighting=weighting, given=given, scale=scale, rng=rng),
    )


def estimates(
    rows: Sequence[RowCells], families: tuple[str, ...], settings: ProbeSettings
) -> list[dict[str, Estimate]]:
    """Return value, association and preference of every row with intervals and verdicts.

    All are resampled with the same draws, so that the parts belong to the value. With
    `settings.simultaneous` the confidence is that of all intervals together. The notes are
    those of the value.
    """
    if not rows:
        return []
    tables = [JointRow(row.claimed[part], row.tasks) for row in rows for part in PARTS]
    noise = [row.noise.get(part) for row in rows for part in PARTS]
    how = "maximum-t over joint resamples" if _is_joint(settings) else "Bonferroni"
    text = f"the {len(tables)} intervals of all rows and their parts cover together ({how})"
    together = (Note(NoteKind.MULTIPLICITY, text),) if settings.simultaneous else ()
    intervals = iter(covering_intervals(tables, families, settings, noise))
    found = []
    for row in rows:
        parts = {part: next(intervals) for part in PARTS}
        _, assumed = parts["value"]
        if _is_joint(settings):
            # What a joint interval assumes is the same as for one alone.
            value = [JointRow(row.claimed["value"], row.tasks)]
            ((_, assumed),) = covering_intervals(
                value, families, replace(settings, simultaneous=False)
            )
        notes = (*assumed, *together)
        found.append(
            {part: _estimate(row, part, families, parts[part][0], notes) for part in PARTS}
        )
    return found


def _is_joint(settings: ProbeSettings) -> bool:
    return settings.simultaneous and traits_of(settings.interval).resamples


def covering_intervals(
    tables: Sequence[JointRow],
    families: tuple[str, ...],
    settings: ProbeSettings,
    noise: Sequence[float | None] = (),
) -> list[tuple[Interval, tuple[Note, ...]]]:
    """Return the interval of the mean of each table of cells, and what it assumes.

    With `settings.simultaneous` they cover together: by joint resamples, or by Bonferroni for a
    method without resamples. `noise` is the standard error that the base alone adds to each;
    methods that draw the tasks have it already.
    """
    options: dict[str, Any] = {
        "families": families, "method": settings.interval, "resample": settings.resample,
    }  # fmt: skip
    confidence = settings.confidence
    if _is_joint(settings):
        rng = np.random.default_rng(settings.seed)
        joint = simultaneous_intervals(tables, confidence=confidence, rng=rng, **options)
        return [(interval, ()) for interval in joint]
    if settings.simultaneous:
        confidence = bonferroni(confidence, len(tables))
    given = not draws_tasks(settings.interval, settings.resample)
    intervals = []
    for table, error in zip_longest(tables, noise):
        rng = np.random.default_rng(settings.seed)
        interval, notes = probe_interval(table.cells, confidence=confidence, rng=rng, **options)
        if given and error is not None:
            interval = with_noise(interval, _mean(table.cells, families), error)
        intervals.append((replace(interval, confidence=settings.confidence), notes))
    return intervals


def _estimate(
    row: RowCells,
    part: str,
    families: tuple[str, ...],
    interval: Interval,
    notes: tuple[Note, ...],
) -> Estimate:
    value = _mean(row.uncorrected[part], families)
    if row.corrections is None:
        return Estimate(value, interval, row_verdict(interval, row.foreign_lean), notes=notes)
    corrected = _mean(row.claimed[part], families)
    which = row.corrections if part == "preference" else [row.corrections[PARTS.index(part)]]
    for correction in which:
        interval = correction.widened(interval)
    verdict = row_verdict(interval, row.foreign_lean, reliable=is_enough(row.reliability))
    return Estimate(value, interval, verdict, corrected, value - corrected, notes)


def _mean(cells: Floats, families: tuple[str, ...]) -> float:
    return float(CellTable.of(cells, families).by_template.mean())
