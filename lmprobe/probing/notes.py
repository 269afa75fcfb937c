"""The notes of a probe, each once, with the bases and directions that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.models.kind import kinds
from lmprobe.results import Note, NoteKind
from lmprobe.results.format import format_percent, format_rounded, listed

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult
    from lmprobe.probing.row import ProbeRow


def rows_by_direction(result: ProbeResult) -> dict[Direction, list[ProbeRow]]:
    """Return the rows of each direction that was measured, bases in their order."""
    return by_direction(result.rows)


def by_direction(rows: Sequence[ProbeRow]) -> dict[Direction, list[ProbeRow]]:
    """Return the rows of each direction among them."""
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
        for note in (*row.notes, *_counted(row)):
            rows_of.setdefault(note, []).append(row)
    whole = (*result.notes, *(note for note, rows in rows_of.items() if _is_every(rows, result)))
    scoped = (
        replace(note, scope=_scope(rows, result))
        for note, rows in rows_of.items()
        if not _is_every(rows, result)
    )
    return (*whole, *scoped, *mass_notes(result))


def mass_notes(result: ProbeResult) -> Iterator[Note]:
    """Yield how much probability the candidates had, and the perplexity."""
    for direction, rows in rows_by_direction(result).items():
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


def _counted(row: ProbeRow) -> Iterator[Note]:
    if row.undefined_pairs and row.unevenness is None:
        count, total = row.undefined_pairs, row.by_pair.size
        text = f"{count} of {total} pairs are undefined and left out of the mean"
        yield Note(NoteKind.UNDEFINED, text)


def _is_every(rows: list[ProbeRow], result: ProbeResult) -> bool:
    return len(rows) == len(result.rows)


def _scope(rows: list[ProbeRow], result: ProbeResult) -> str:
    """Return the bases of the rows, with the direction where it does not hold for each."""
    bases = list(dict.fromkeys(row.base for row in rows))
    directions = rows_by_direction(result)
    if len(rows) == len(bases) * len(directions):
        return listed(bases)
    return "; ".join(f"{row.base}, {row.direction}" for row in rows)
