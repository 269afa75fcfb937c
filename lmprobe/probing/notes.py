"""The notes of a probe: what a row says of its numbers, and all notes once with their scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models.kind import kinds
from lmprobe.results import Estimate, Note, NoteKind, Obstacle
from lmprobe.results.format import format_percent, format_rounded, format_signed, listed
from lmprobe.stats.planning import sentences_needed
from lmprobe.stats.row_tables import RowTables

if TYPE_CHECKING:
    from lmprobe.probing.comparison import ComparisonRow
    from lmprobe.probing.result import ProbeResult
    from lmprobe.probing.row import ProbeRow
    from lmprobe.sources import AlignedBaseRates

R = TypeVar("R", "ProbeRow", "ComparisonRow")

# A preference is worth a sentence where it moves a tenth of the probability.
_MOVED = 0.1
# The reliability that is worth counting more sentences for.
_GOOD = 0.9


def preference_notes(
    parts: Mapping[str, Estimate], rates: AlignedBaseRates, direction: Direction, predicted: Floats
) -> tuple[Note, ...]:
    """Return one sentence where the value and the association differ in size or verdict."""
    value, association = parts["value"], parts["association"]
    word, moved = preferred(rates, direction, predicted)
    large = abs(parts["preference"].claimed) > abs(value.claimed) / 2
    if not (large and moved > _MOVED) and value.verdict is association.verdict:
        return ()
    share = "mostly" if large else "partly"
    number = "value" if value.corrected is None else "corrected value"
    text = (
        f"the {number} ({format_signed(value.claimed)}) differs from the association "
        f"({format_signed(association.claimed)}), {share} because the model prefers “{word}” in "
        "all sentences"
    )
    return (Note(NoteKind.PREFERENCE, text),)


def preferred(
    rates: AlignedBaseRates, direction: Direction, predicted: Floats
) -> tuple[str, float]:
    """Return the candidate that the model prefers most, whatever is given, against the base.

    With it comes the share of the probability that the model gives to other candidates than
    the base does (the total variation distance of the two margins).
    """
    world = rates.association
    if direction is Direction.TASK_TO_ATTRIBUTE:
        margin = predicted.mean(axis=0) @ world.p_task
        expected, names = world.p_attribute, world.attributes
    else:
        margin = world.p_attribute @ predicted.mean(axis=0)
        expected, names = world.p_task, world.tasks
    more = margin - expected
    return names[int(np.argmax(more))], float(np.abs(more).sum() / 2)


def base_notes(estimate: Estimate, tables: RowTables) -> tuple[Note, ...]:
    """Return what the noise of a sampled base did to the value, and how to have less of it."""
    assert estimate.base_bias is not None
    bias = format_signed(estimate.base_bias)
    if not tables.counted:
        text = f"the value is corrected for the bias of the base's standard errors, {bias}"
        return (Note(NoteKind.BASE, text),)
    value, association = (tables.reliability(part) for part in ("value", "association"))
    text = (
        f"the base was counted in {int(tables.base.sum()):,} sentences; the value is corrected for "
        f"the bias that their noise causes, {bias}. A base of this size shows "
        f"{value.proportional:.0%} of an amplification"
    )
    if not association.is_enough and value.is_enough:
        text += f", but only {association.proportional:.0%} of the association"
    if estimate.obstacle is Obstacle.SMALL_BASE:
        text += "; this is too little for a verdict"
    if value.proportional < _GOOD:
        enough = sentences_needed(tables.base, tables.direction, reliable=_GOOD, more=True)
        text += (
            "; no number of sentences would show more, because the table has no clear link"
            if enough is None
            else f"; about {enough:,} would show {_GOOD:.0%}"
        )
    return (Note(NoteKind.BASE, text),)


def by_direction(rows: Sequence[R]) -> dict[Direction, list[R]]:
    """Return the rows of each direction among them, bases in their order."""
    groups = {
        direction: [row for row in rows if row.direction is direction] for direction in DIRECTIONS
    }
    return {direction: its_rows for direction, its_rows in groups.items() if its_rows}


def gathered_notes(result: ProbeResult) -> tuple[Note, ...]:
    """Return the notes of the result and of its rows, each once with its scope.

    A note of all rows belongs to the whole probe and has no scope.
    """
    rows_of: dict[Note, list[ProbeRow]] = {}
    for row in result.rows:
        for note in (*row.notes, *_undefined(row)):
            rows_of.setdefault(note, []).append(row)
    whole = [note for note, rows in rows_of.items() if len(rows) == len(result.rows)]
    scoped = [
        replace(note, scope=_scope(rows, result))
        for note, rows in rows_of.items()
        if note not in whole
    ]
    return (*result.notes, *whole, *scoped, *mass_notes(result))


def mass_notes(result: ProbeResult) -> Iterator[Note]:
    """Yield how much probability the candidates had, and the perplexity."""
    for direction, rows in by_direction(result.rows).items():
        share = format_percent(float(rows[0].candidate_mass.mean()))
        text = f"before normalising, the candidates together had {share} of the probability"
        ratio = rows[0].mass_ratio
        if ratio is not None:
            text += f", {format_rounded(ratio)} times that of random words"
        yield Note(NoteKind.MASS, text, direction.value)
    if result.perplexity is not None:
        name = "pseudo-perplexity" if uses_masks(result) else "perplexity"
        text = f"{name} per word on a sample of the sentences: {format_rounded(result.perplexity)}"
        yield Note(NoteKind.QUALITY, text)


def uses_masks(result: ProbeResult) -> bool:
    """Tell whether the model fills masks; version 1 knew no other, and wrote no kind."""
    kind = str(result.provenance.get("kind", "masked"))
    # A result may be of a kind that a plug-in added where it was made.
    return kind in kinds.names() and kinds.get(kind).masks


def _undefined(row: ProbeRow) -> Iterator[Note]:
    if row.undefined_pairs and row.unevenness is None:
        count, total = row.undefined_pairs, row.by_pair.size
        text = f"{count} of {total} pairs are undefined and left out of the mean"
        yield Note(NoteKind.UNDEFINED, text)


def _scope(rows: list[ProbeRow], result: ProbeResult) -> str:
    """Return the bases of the rows, with the direction where it does not hold for each."""
    bases = list(dict.fromkeys(row.base for row in rows))
    if len(rows) == len(bases) * len(by_direction(result.rows)):
        return listed(bases)
    return "; ".join(f"{row.base}, {row.direction}" for row in rows)
