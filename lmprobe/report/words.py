"""How a report writes numbers, intervals and verdicts; every form of report uses the same."""

from __future__ import annotations

import math
from collections.abc import Iterable

from lmprobe.association import DIRECTIONS, Direction
from lmprobe.intervals.interval import Interval
from lmprobe.result import ProbeResult, ProbeRow

ASKED: dict[Direction, str] = {
    "task->attribute": "given the task, the model guesses the group",
    "attribute->task": "given the group, the model guesses the task",
}
"""What each direction asks of the model."""

DECISIVE = {"amplifies": "plus", "reduces": "minus"}
"""The verdicts that say something, and the class that colours them."""


def number(value: float, nothing: str = "undefined") -> str:
    """Return a number with four decimals, as the paper prints them, and a true minus sign."""
    if math.isnan(value):
        return nothing
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.4f}".replace("-", "−")


def signed(value: float, nothing: str = "undefined") -> str:
    """Return a number with its sign, plus included.

    >>> signed(0.02), signed(-0.5)
    ('+0.0200', '−0.5000')
    """
    return ("+" if value > 0 and math.isfinite(value) else "") + number(value, nothing)


def percent(share: float) -> str:
    """Return a share in percent, such as 95% or 0.4%."""
    return f"{100 * share:.3g}%"


def ends(interval: Interval) -> str:
    """Return the two ends of an interval, or that there is none."""
    if not bounded(interval):
        return "no interval"
    return f"{signed(interval.low)} to {signed(interval.high)}"


def bounded(interval: Interval) -> bool:
    """Tell whether the interval says anything."""
    return math.isfinite(interval.low) or math.isfinite(interval.high)


def kind(row: ProbeRow) -> str:
    """Return the class that colours a verdict: plus, minus or even."""
    return DECISIVE.get(row.verdict, "even")


def sentence(row: ProbeRow) -> str:
    """Return the verdict in one sentence with its interval."""
    said = {
        "amplifies": f"exaggerates what {row.base} says",
        "reduces": f"weakens what {row.base} says",
    }.get(row.verdict, f"shows no clear difference from {row.base}: not enough evidence either way")
    level = percent(row.interval.confidence)
    known = bounded(row.interval)
    between = f"{level} interval {ends(row.interval)}" if known else "no interval"
    return f"{said} ({signed(row.value)}, {between})"


def headline(result: ProbeResult) -> str:
    """Return what the whole probe found, in one sentence."""
    counted = {
        "exaggerates": sum(row.verdict == "amplifies" for row in result.rows),
        "weakens": sum(row.verdict == "reduces" for row in result.rows),
        "shows no clear difference from": sum(row.verdict not in DECISIVE for row in result.rows),
    }
    said = [(what, many) for what, many in counted.items() if many]
    if len(said) == 1:
        (what, many), total = said[0], len(result.rows)
        return f"The model {what} the base in {'all ' * (total > 1)}{_times(many)}."
    (first, many), *rest = said
    parts = [f"{first} the base in {many}", *(f"{what} it in {many}" for what, many in rest)]
    return f"Of {_times(len(result.rows))}, the model {listed(parts)}."


def _times(number: int) -> str:
    return f"{number} comparisons" if number > 1 else "one comparison"


def listed(parts: Iterable[str]) -> str:
    """Return the parts as an enumeration: a, b and c."""
    *front, last = list(parts)
    return f"{', '.join(front)} and {last}" if front else last


def by_direction(result: ProbeResult) -> dict[Direction, list[ProbeRow]]:
    """Return the rows of each direction that was measured, bases in their order."""
    found = {one: [row for row in result.rows if row.direction == one] for one in DIRECTIONS}
    return {direction: rows for direction, rows in found.items() if rows}


def row_notes(result: ProbeResult) -> dict[str, list[str]]:
    """Return every note once, with the bases and directions that it belongs to.

    A note that holds for all rows belongs to the whole probe, under the empty name. What
    the intervals assume is not among them: see `assumptions`.
    """
    where: dict[str, list[str]] = {}
    for row in result.rows:
        for note in (*row.notes, *_measured(row)):
            if not _assumes(row, note):
                where.setdefault(note, []).append(f"{row.base}, {row.direction}")
    notes: dict[str, list[str]] = {"": list(result.notes)}
    for note, rows in where.items():
        if len(rows) == len(result.rows):
            notes[""].append(note)
            continue
        bases = list(dict.fromkeys(one.split(", ")[0] for one in rows))
        both = len(rows) == 2 * len(bases)
        name = listed(bases) if both or len(by_direction(result)) == 1 else "; ".join(rows)
        notes.setdefault(name, []).append(note)
    return {name: said for name, said in notes.items() if said}


def assumptions(result: ProbeResult) -> dict[str, list[str]]:
    """Return what the intervals assume, each once with the bases it is said of."""
    found: dict[str, list[str]] = {}
    for row in result.rows:
        for note in row.notes:
            if _assumes(row, note) and row.base not in found.setdefault(note, []):
                found[note].append(row.base)
    return found


def _assumes(row: ProbeRow, note: str) -> bool:
    """Tell a note about the interval's method, which begins with its name, from the others."""
    return note.startswith(f"{row.interval.method}: ")


def _measured(row: ProbeRow) -> list[str]:
    """Return what the row's own numbers call for saying."""
    notes = []
    if row.undefined_pairs:
        pairs = row.by_pair.size
        notes.append(f"{row.undefined_pairs} of {pairs} pairs are undefined and not in the mean")
    return notes


def masses(result: ProbeResult) -> dict[Direction, float]:
    """Return the probability that all candidates together held, by direction."""
    return {
        direction: float(rows[0].candidate_mass.mean())
        for direction, rows in by_direction(result).items()
    }
