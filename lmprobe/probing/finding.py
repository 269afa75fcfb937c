"""What a probe found, in sentences: every form of a report begins with them.

First the verdict against one base, how many times as strong the links are, an example, and the
tasks that moved farthest; then the other bases, and what the verdict does not say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.results import IntervalStatus, NoteKind, Obstacle, Statement, Verdict
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
    title = result.provenance["bases"].get(main, {}).get("title")
    full = f"{main} ({title})" if title and title != main else main
    verdict = _verdict(bases[main], names, str(result.provenance["model"]), full)
    statements = [
        Statement(verdict, bases[main][0].verdict),
        *map(Statement, _details(bases[main], names)),
        *(Statement(_other_base(bases[base], bases[main], names)) for base in others[:_BASES]),
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


def _verdict(
    rows: Sequence[ProbeRow], names: Mapping[Direction, str], model: str, full: str
) -> str:
    """Return who was compared with what, and the verdict in each direction.

    `full` is the name of the base the first time it is written.
    """
    reasons = {_reason(row) for row in rows}
    if len(reasons) == 1 and (reason := reasons.pop()):
        return f"No verdict on {model} against {full}: {reason}."
    first, *rest = (_claim(row, full if row is rows[0] else row.base) for row in rows)
    if not rest:
        return f"Given the {names[rows[0].direction]}, {model} {first}."
    if len({_claim(row, row.base) for row in rows}) == 1:
        return f"{model} {first}, in both directions."
    given = [names[row.direction] for row in rows]
    return f"Given the {given[0]}, {model} {first}; given the {given[1]}, it {rest[0]}."


def _tested(row: ProbeRow) -> bool:
    """Tell whether a row has the test of unevenness in place of the value that needs a lean."""
    return row.unevenness is not None and row.obstacle is Obstacle.NO_LEAN


def _reason(row: ProbeRow) -> str:
    """Return why no verdict on a row is possible; nothing where it has one, or evidence."""
    if _tested(row) or row.verdict.decisive:
        return ""
    if row.obstacle is not None:
        return row.obstacle.reason
    few = row.interval.status is IntervalStatus.TOO_FEW_UNITS
    return "too few templates or tasks for an interval" if few else ""


def _claim(row: ProbeRow, base: str) -> str:
    """Return the verdict of a row as the rest of a sentence about the model."""
    p = "" if row.unevenness is None else f"(p {format_p_value(row.unevenness.p_value)})"
    if _tested(row) and not row.verdict.decisive:
        return f"shows no difference between the groups beyond chance {p}"
    if reason := _reason(row):
        return f"has no verdict ({reason})"
    if row.verdict in _DEPARTS:
        return f"departs from {base} {_DEPARTS[row.verdict].format(lean=row.lean_source)}"
    claim = row.verdict.predicate.format(base=base)
    if row.unevenness is not None:
        away = f"{100 * row.absolute:.2g} points from {base} on average"
        return f"{claim}, {away}, which chance hardly explains {p}"
    return claim


def _details(rows: Sequence[ProbeRow], names: Mapping[Direction, str]) -> Iterator[str]:
    """Yield how strong the links are, an example, the tasks at either end, and what is unsure."""
    row = rows[0]
    if _tested(row):
        yield (
            f"No lean is known for these words against {row.base}: this is how uneven the shares "
            "are, not whether a link is exaggerated."
        )
    if row.unevenness is not None:
        yield from _most_uneven(row)
    elif not _reason(row):
        yield from _strength(row)
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


def _most_uneven(row: ProbeRow) -> Iterator[str]:
    """Yield the tasks whose shares are farthest from the base, where no lean is known."""
    moves = moves_of(row)
    farthest = replace(moves, lean=np.sign(moves.model - moves.base)).beyond()
    if farthest and row.obstacle is not Obstacle.UNINFORMED:
        shares = f"share in {row.base} → in the model"
        yield f"Farthest from {row.base} ({shares}): {', '.join(map(str, farthest))}."


def _reservations(row: ProbeRow) -> Iterator[str]:
    """Yield what the verdict of a row depends on, where the reading changes with it."""
    flips = {} if row.robustness is None else row.robustness.verdict_flips
    words = {
        "families": ("family", "families of sentences"),
        "turns": ("turn", "turns"),
        "tasks": ("task", "tasks"),
    }
    parts = {
        f"one {singular}": f"{flips[axis]} of {flips[f'of_{axis}']} {several}"
        for axis, (singular, several) in words.items()
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


def _other_base(
    rows: Sequence[ProbeRow], main: Sequence[ProbeRow], names: Mapping[Direction, str]
) -> str:
    """Return the verdicts against one more base in a sentence."""
    reasons = {_reason(row) for row in (*rows, *main)}
    if "" not in reasons and len(reasons) == 1:
        return f"Nor is there a verdict against {rows[0].base}."
    text = _verdict(rows, names, "the model", rows[0].base)
    strength = next(_strength(rows[0]), "") if not _reason(rows[0]) else ""
    return f"{text[0].upper()}{text[1:]} {strength}".strip()


def mass_warnings(result: ProbeResult) -> list[str]:
    """Return one sentence for each direction in which the candidates had next to no mass."""
    names = given_names(result.provenance["templates"])
    return list(
        dict.fromkeys(
            f"Given the {names[row.direction]}, {note.text}."
            for row in result.rows
            for note in row.notes
            if note.kind is NoteKind.MASS and row.obstacle is not Obstacle.UNINFORMED
        )
    )
