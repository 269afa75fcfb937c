"""What a probe found, in sentences: every form of a report begins with them.

First the verdict against one base, how many times as strong the links are, an example, and the
tasks that moved farthest; then the other bases, and what the verdict does not say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.results import NoteKind, Obstacle, Statement, Verdict
from lmprobe.results.format import describe_strength, format_p_value, listed, plural
from lmprobe.results.moves import Moves

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult, ProbeRow

# Bases that have a sentence of their own.
_BASES = 3
_WARNING = Verdict.UNINFORMED
# A base without a lean of its own is left in one direction or the other of another table's.
_DEPARTS = {
    Verdict.FOLLOWS: "the way {lean} does",
    Verdict.OPPOSES: "the other way than {lean} does",
}


def finding(result: ProbeResult) -> tuple[Statement, ...]:
    """Return what the probe found, the most important first."""
    bases: dict[str, list[ProbeRow]] = {}
    for row in result.rows:
        bases.setdefault(row.base, []).append(row)
    for rows in bases.values():
        rows.sort(key=lambda row: DIRECTIONS.index(row.direction))
    main = leading_row(result).base
    others = [base for base in bases if base != main]
    names = given_names(result.provenance["templates"])
    statements = [
        Statement(_verdict(result, bases[main], names), bases[main][0].verdict),
        *map(Statement, _details(bases[main], names)),
        *(Statement(_other_base(bases[base], names)) for base in others[:_BASES]),
    ]
    if more := len(others[_BASES:]):
        statements.append(Statement(f"The table has {plural(more, 'more base')}."))
    return (*statements, *(Statement(text, _WARNING) for text in mass_warnings(result)))


def leading_row(result: ProbeResult) -> ProbeRow:
    """Return the row that a report begins with: that of the first base with links of its own."""
    rows: dict[str, ProbeRow] = {}
    for row in sorted(result.rows, key=lambda row: DIRECTIONS.index(row.direction)):
        rows.setdefault(row.base, row)
    return min(rows.values(), key=lambda row: (row.obstacle is not None, row.foreign_lean))


def given_names(templates: Mapping[str, Any]) -> dict[Direction, str]:
    """Return what each direction gives the model, by the slots of the template set.

    A slot says nothing about words of one's own: a man in the place of a pronoun is none.
    """
    words = {"task": "task", "attribute": "group"}
    own = templates.get("own_words", {})
    return {
        direction: words[direction.given]
        if f"{direction.given}s" in own
        else str(templates.get(direction.given, words[direction.given]))
        for direction in DIRECTIONS
    }


def _verdict(result: ProbeResult, rows: Sequence[ProbeRow], names: Mapping[Direction, str]) -> str:
    """Return who was compared with what, and the verdict in each direction."""
    base, model = rows[0].base, str(result.provenance["model"])
    title = result.provenance["bases"].get(base, {}).get("title")
    full = f"{base} ({title})" if title and title != base else base
    obstacles = {row.obstacle for row in rows}
    obstacle = rows[0].obstacle
    mute = not (_tested(rows[0]) or any(row.verdict.decisive for row in rows))
    if obstacle is not None and len(obstacles) == 1 and mute:
        return f"No verdict on {model} against {full}: {obstacle.reason}."
    first, *rest = (_claim(row, full if row is rows[0] else base) for row in rows)
    if not rest:
        return f"Given the {names[rows[0].direction]}, {model} {first}."
    if len({row.verdict for row in rows}) == 1 and len(obstacles) == 1 and not _tested(rows[0]):
        return f"{model} {first}, in both directions."
    given = [names[row.direction] for row in rows]
    return f"Given the {given[0]}, {model} {first}; given the {given[1]}, it {rest[0]}."


def _tested(row: ProbeRow) -> bool:
    """Tell whether a row has the test of unevenness in place of the value that needs a lean."""
    return row.unevenness is not None and row.obstacle is Obstacle.NO_LEAN


def _claim(row: ProbeRow, base: str) -> str:
    """Return the verdict of a row as the rest of a sentence about the model."""
    p = "" if row.unevenness is None else f"p {format_p_value(row.unevenness.p_value)}"
    if _tested(row) and not row.verdict.decisive:
        return f"shows no clear difference between the groups ({p})"
    if row.obstacle is not None and not row.verdict.decisive:
        return f"has no verdict ({row.obstacle.reason})"
    if row.verdict in _DEPARTS:
        return f"departs from {base} {_DEPARTS[row.verdict].format(lean=row.lean_source)}"
    claim = row.verdict.predicate.format(base=base)
    if row.unevenness is not None:
        return f"{claim}, {100 * row.absolute:.2g} points from {base} on average ({p})"
    return claim


def _details(rows: Sequence[ProbeRow], names: Mapping[Direction, str]) -> Iterator[str]:
    """Yield how strong the links are, an example, the tasks at either end, and what is unsure."""
    row = rows[0]
    if _tested(row):
        yield (
            f"No lean is known for these words against {row.base}: this is how uneven the shares "
            "are, not whether a link is exaggerated."
        )
    if row.obstacle is None or row.verdict.decisive:
        yield from _strength(row)
        if row.unevenness is None:
            yield from moves_of(row).sentences(row.value, row.base, "the model")
    unsure: dict[str, list[str]] = {}
    for row in rows:
        for text in _reservations(row):
            unsure.setdefault(text, []).append(names[row.direction])
    for text, given in unsure.items():
        # What is true in both directions, such as the size of the base, is said once.
        both = len(given) > 1
        yield f"{text[0].upper()}{text[1:]}." if both else f"Given the {given[0]}, {text}."


def _strength(row: ProbeRow) -> Iterator[str]:
    """Yield how many times as strong the links are as those of the base.

    Against a base without links, such as uniform, it is how far shares are from the base's.
    """
    if row.strength is None:
        away = float(np.abs(row.predicted.mean(axis=0) - row.base_rate).mean())
        if not math.isnan(away) and row.unevenness is None:
            yield f"Shares are {100 * away:.2g} points from those of {row.base} on average."
    elif not math.isnan(row.strength.value):
        text = describe_strength(row.strength, row.base)
        if row.verdict is Verdict.UNDECIDED and row.strength.verdict.decisive:
            text += " This does not show in the mean of the shares."
        yield text


def moves_of(row: ProbeRow) -> Moves:
    """Return the shares of a row, the mean over templates."""
    shares = (row.base_rate, row.predicted.mean(axis=0), row.lean)
    return Moves(row.direction, row.attributes, row.tasks, *shares)


def _reservations(row: ProbeRow) -> Iterator[str]:
    """Yield what the verdict of a row depends on, where the reading changes with it."""
    flips = {} if row.robustness is None else row.robustness.verdict_flips
    words = {"families": ("family", "families of sentences"), "tasks": ("task", "tasks")}
    parts = {
        f"one {one}": f"{flips[axis]} of {flips[f'of_{axis}']} {several}"
        for axis, (one, several) in words.items()
        if flips.get(axis)
    }
    if parts and row.verdict.decisive and row.unevenness is None:
        yield (
            f"the verdict against {row.base} is fragile: leaving out {' or '.join(parts)} can "
            f"change it (true of {listed([*parts.values()])})"
        )
    for note in row.notes:
        if note.kind is NoteKind.BASE or (
            note.kind is NoteKind.PREFERENCE and row.verdict.decisive
        ):
            yield note.text


def _other_base(rows: Sequence[ProbeRow], names: Mapping[Direction, str]) -> str:
    """Return the verdicts against one more base in a sentence."""
    base = rows[0].base
    claims = {row.direction: _claim(row, "it") for row in rows}
    if len({*claims.values()}) == 1:
        text = f"Against {base}, the model {claims[rows[0].direction]}"
    else:
        each = (f"given the {names[to]} it {claim}" for to, claim in claims.items())
        text = f"Against {base}, {'; '.join(each)}"
    strength = next(_strength(rows[0]), "") if rows[0].obstacle is None else ""
    return f"{text}. {strength}".strip()


def mass_warnings(result: ProbeResult) -> list[str]:
    """Return one sentence for each direction in which the candidates had next to no mass."""
    names = given_names(result.provenance["templates"])
    return list(
        dict.fromkeys(
            f"Given the {names[row.direction]}, {note.text}."
            for row in result.rows
            for note in row.notes
            if note.kind is NoteKind.MASS
        )
    )
