"""Intervals and verdicts of a probe's rows: the value, and its two parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.intervals.base_uncertainty import is_enough, with_noise
from lmprobe.intervals.method import traits_of
from lmprobe.intervals.probe import CellTable, draws_tasks, probe_interval
from lmprobe.intervals.simultaneous import JointRow, bonferroni, simultaneous_intervals
from lmprobe.probing.cells import RowCells
from lmprobe.probing.row import row_verdict
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Estimate, Interval, Note, NoteKind

PARTS = ("value", "association", "preference")


@dataclass(frozen=True, slots=True, eq=False)
class RowNumbers:
    """One row's cells with what its intervals need beside them."""

    cells: RowCells
    tasks: tuple[str, ...]
    foreign_lean: bool

    @property
    def reliability(self) -> float | None:
        """The share of an amplification that the base shows; None for an exact base."""
        corrections = self.cells.corrections
        if corrections is None:
            return None
        return min(one.reliability.proportional for one in corrections)


def estimates(
    rows: Sequence[RowNumbers], families: tuple[str, ...], settings: ProbeSettings
) -> list[dict[str, Estimate]]:
    """Return value, association and preference of every row with intervals and verdicts.

    All are resampled with the same draws, so that the parts belong to the value. With
    `settings.simultaneous` the confidence is that of all intervals together.
    """
    intervals = _joint(rows, families, settings) if _is_joint(settings) else None
    found = []
    for number, row in enumerate(rows):
        one = intervals[number] if intervals else _single(row, families, settings, len(rows))
        found.append({part: _estimate(row, part, families, *one[part]) for part in PARTS})
    return found


def _is_joint(settings: ProbeSettings) -> bool:
    return settings.simultaneous and traits_of(settings.interval).resamples


def _joint(
    rows: Sequence[RowNumbers], families: tuple[str, ...], settings: ProbeSettings
) -> list[dict[str, tuple[Interval, tuple[Note, ...]]]]:
    parts = [JointRow(row.cells.claimed[part], row.tasks) for row in rows for part in PARTS]
    found = iter(
        simultaneous_intervals(
            parts,
            families=families,
            confidence=settings.confidence,
            method=settings.interval,
            resample=settings.resample,
            rng=np.random.default_rng(settings.seed),
        )
    )
    note = _together(len(parts), "maximum-t over joint resamples")
    every = []
    for row in rows:
        # What the interval assumes is the same as for one alone.
        assumed = _probe_interval(row.cells.claimed["value"], families, settings)[1]
        every.append({part: (next(found), (*assumed, note)) for part in PARTS})
    return every


def _single(
    row: RowNumbers, families: tuple[str, ...], settings: ProbeSettings, rows: int
) -> dict[str, tuple[Interval, tuple[Note, ...]]]:
    notes: tuple[Note, ...] = ()
    together = settings.confidence
    if settings.simultaneous:
        number = rows * len(PARTS)
        notes = (_together(number, "Bonferroni"),)
        settings = replace(settings, confidence=bonferroni(settings.confidence, number))
    widen = row.cells.noise if not draws_tasks(settings.interval, settings.resample) else {}
    found = {}
    for part, cells in row.cells.claimed.items():
        interval, assumed = _probe_interval(cells, families, settings)
        if part in widen:
            interval = with_noise(interval, _mean(cells, families), widen[part])
        interval = replace(interval, confidence=together)
        found[part] = (interval, (*assumed, *notes))
    return found


def _probe_interval(
    cells: Floats, families: tuple[str, ...], settings: ProbeSettings
) -> tuple[Interval, tuple[Note, ...]]:
    return probe_interval(
        cells,
        method=settings.interval,
        confidence=settings.confidence,
        rng=np.random.default_rng(settings.seed),
        families=families,
        resample=settings.resample,
    )


def _together(number: int, how: str) -> Note:
    text = f"the {number} intervals of all rows and their parts cover together ({how})"
    return Note(NoteKind.MULTIPLICITY, text)


def _estimate(
    row: RowNumbers,
    part: str,
    families: tuple[str, ...],
    interval: Interval,
    notes: tuple[Note, ...],
) -> Estimate:
    value = _mean(row.cells.uncorrected[part], families)
    corrections = row.cells.corrections
    if corrections is None:
        return Estimate(value, interval, row_verdict(interval, row.foreign_lean), notes=notes)
    corrected = _mean(row.cells.claimed[part], families)
    for correction in corrections if part == "preference" else (corrections[PARTS.index(part)],):
        interval = correction.widened(interval)
    verdict = row_verdict(interval, row.foreign_lean, reliable=is_enough(row.reliability))
    return Estimate(value, interval, verdict, corrected, value - corrected, notes)


def _mean(cells: Floats, families: tuple[str, ...]) -> float:
    return float(CellTable.of(cells, families).by_template.mean())
