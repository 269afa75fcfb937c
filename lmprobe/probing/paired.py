"""Pairs the rows of two probes: same templates, same words, same base, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.inference.comparison import compare_cells
from lmprobe.intervals.simultaneous import JointRow
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.results import Note, NoteKind

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult
    from lmprobe.probing.row import ProbeRow
    from lmprobe.probing.settings import CompareSettings

Names = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class PairedRow:
    """A row on its own, and the difference of the cells that it was made from."""

    row: ComparisonRow
    difference: JointRow


def compare_results(
    first: ProbeResult, second: ProbeResult, names: Names, settings: CompareSettings
) -> tuple[PairedRow, ...]:
    """Compare two results on every base and direction that both have, each row on its own.

    Both must have been made with the same templates and scorer; models of different kinds have
    different scorers, and a note says so. Tasks that only one of them has are left out, and a
    note says which.
    """
    definitions = _scorer_notes(first, second, names)
    _check_templates(first, second, names)
    later = {(row.base, row.direction): row for row in second.rows}
    rows = [
        _compare(row, later[row.base, row.direction], names, settings, definitions)
        for row in first.rows
        if (row.base, row.direction) in later
    ]
    if not rows:
        have = [", ".join(sorted({row.base for row in one.rows})) for one in (first, second)]
        raise InputError(
            f"the results share no base: {names[0]} has {have[0]}, {names[1]} has {have[1]}"
        )
    return tuple(rows)


def _compare(
    row: ProbeRow,
    twin: ProbeRow,
    names: Names,
    settings: CompareSettings,
    definitions: tuple[Note, ...],
) -> PairedRow:
    if set(row.attributes) != set(twin.attributes):
        raise InputError(
            f"{names[0]} compares {', '.join(row.attributes)} and {names[1]} "
            f"{', '.join(twin.attributes)} against {row.base}; they must be the same"
        )
    tasks = tuple(task for task in row.tasks if task in twin.tasks)
    if not tasks:
        raise InputError(f"{names[0]} and {names[1]} share no task against {row.base}")
    own, other = (_aligned(one, row.attributes, tasks) for one in (row, twin))
    compared = compare_cells(
        own[0],
        other[0],
        tasks=tasks,
        families=row.families,
        method=settings.interval,
        resample=settings.resample,
        confidence=settings.confidence,
        margin=settings.margin,
        rng=np.random.default_rng(settings.seed),
    )
    notes = (*compared.notes, *definitions, *_notes(row, twin, own, other))
    compared = replace(compared, notes=notes)
    difference = JointRow(other[0] - own[0], tasks)
    return PairedRow(ComparisonRow.of(compared, names, row, settings.margin), difference)


def _notes(
    row: ProbeRow, twin: ProbeRow, own: tuple[Floats, ...], other: tuple[Floats, ...]
) -> list[Note]:
    """Return what is not the same in both."""
    notes = []
    left_out = sorted(set(row.tasks) ^ set(twin.tasks))
    if left_out:
        text = f"left out, only one of the two has them: {', '.join(left_out)}"
        notes.append(Note(NoteKind.LEFT_OUT, text))
    if not (_same(own[1], other[1]) and _same(own[2], other[2])):
        text = (
            f'the base "{row.base}" is not the same for both: part of the difference is the base\'s'
        )
        notes.append(Note(NoteKind.BASE, text))
    return notes


def _same(table: Floats, twin: Floats) -> bool:
    return np.allclose(table, twin, equal_nan=True)


def _aligned(
    row: ProbeRow, attributes: tuple[str, ...], tasks: tuple[str, ...]
) -> tuple[Floats, ...]:
    """Return cells, base rates and lean in this order of attributes and tasks."""
    rows = [row.attributes.index(name) for name in attributes]
    columns = [row.tasks.index(name) for name in tasks]
    return tuple(
        table[..., rows, :][..., columns] for table in (row.cells, row.base_rate, row.lean)
    )


def _scorer_notes(first: ProbeResult, second: ProbeResult, names: Names) -> tuple[Note, ...]:
    """Return what to know where the scorers differ; raise if the same one could have been used."""
    own, other = first.provenance.get("scorer"), second.provenance.get("scorer")
    if own == other:
        return ()
    kinds = first.provenance.get("kind"), second.provenance.get("kind")
    if None in kinds or kinds[0] == kinds[1]:
        raise InputError(
            f"{names[0]} was made with the scorer {own}, {names[1]} with {other}; "
            "make both with the same"
        )
    text = (
        f"{names[0]} is a {kinds[0]} model, scored by {own}, and {names[1]} a {kinds[1]} one, "
        f"scored by {other}: the probability of a candidate is not defined in the same way, and "
        "part of the difference may come from that"
    )
    return (Note(NoteKind.SCORER, text),)


def _check_templates(first: ProbeResult, second: ProbeResult, names: Names) -> None:
    if first.templates != second.templates:
        raise InputError(
            f"{names[0]} has {len(first.templates)} templates and {names[1]} "
            f"{len(second.templates)}, or others; a paired comparison needs the same templates"
        )
