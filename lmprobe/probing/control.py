"""Control over all rows of a comparison: models, bases, directions and tasks are one family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lmprobe.inference.comparison import adjusted
from lmprobe.intervals.method import traits_of
from lmprobe.intervals.probe import probe_interval
from lmprobe.intervals.simultaneous import bonferroni, simultaneous_intervals
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.probing.paired import PairedRow
from lmprobe.probing.settings import CompareSettings
from lmprobe.results import Interval, Note, NoteKind


def family_wise(
    compared: Sequence[PairedRow], families: tuple[str, ...], settings: CompareSettings
) -> tuple[ComparisonRow, ...]:
    """Return the rows with p-values adjusted by Holm, and joint intervals where asked for.

    The rows are one family and all tasks of all rows another: a claim about a task is not one
    about the model.
    """
    rows = [pair.row for pair in compared]
    if settings.simultaneous:
        intervals = _joint_intervals(compared, families, settings)
        rows = [
            replace(row, interval=interval) for row, interval in zip(rows, intervals, strict=True)
        ]
    p_values = adjusted(np.array([row.p_value_unadjusted for row in rows]), "holm")
    same = adjusted(np.array([_nan(row.p_equivalence) for row in rows]), "holm")
    rows = _with_controlled_tasks(rows)
    return tuple(
        replace(
            row,
            p_value=float(p),
            p_equivalence=None if row.margin is None else float(equivalent),
            notes=(*row.notes, *_notes(len(rows), settings)),
        )
        for row, p, equivalent in zip(rows, p_values, same, strict=True)
    )


def _nan(p_value: float | None) -> float:
    return float("nan") if p_value is None else p_value


def _notes(rows: int, settings: CompareSettings) -> tuple[Note, ...]:
    if rows < 2:
        return ()
    text = f"p-values are adjusted by Holm: over the {rows} rows, and over all tasks of all rows"
    if settings.simultaneous:
        text += f"; the {rows} intervals have their confidence simultaneously"
    return (Note(NoteKind.MULTIPLICITY, text),)


def _with_controlled_tasks(rows: list[ComparisonRow]) -> list[ComparisonRow]:
    p_values = np.array([task.p_value for row in rows for task in row.tasks])
    holm = iter(adjusted(p_values, "holm"))
    rate = iter(adjusted(p_values, "benjamini-hochberg"))
    return [
        replace(
            row,
            tasks=tuple(
                replace(
                    task.at_once(len(p_values)),
                    p_holm=float(next(holm)),
                    p_benjamini_hochberg=float(next(rate)),
                )
                for task in row.tasks
            ),
        )
        for row in rows
    ]


def _joint_intervals(
    compared: Sequence[PairedRow], families: tuple[str, ...], settings: CompareSettings
) -> tuple[Interval, ...]:
    """Return intervals that cover all differences together."""
    differences = [pair.difference for pair in compared]
    if traits_of(settings.interval).resamples:
        return simultaneous_intervals(
            differences,
            families=families,
            confidence=settings.confidence,
            method=settings.interval,
            resample=settings.resample,
            rng=np.random.default_rng(settings.seed),
        )
    each = bonferroni(settings.confidence, len(compared))
    found = [
        probe_interval(
            one.cells,
            method=settings.interval,
            confidence=each,
            rng=np.random.default_rng(settings.seed),
            families=families,
        )[0]
        for one in differences
    ]
    return tuple(replace(one, confidence=settings.confidence) for one in found)
