"""The tables of a probe: one per direction, because values compare within one only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from typing import TYPE_CHECKING

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.notes import by_direction
from lmprobe.results import Cell, Column, ColumnKind, Estimate, Table
from lmprobe.results.format import format_percent, format_range

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult
    from lmprobe.probing.row import ProbeRow
    from lmprobe.probing.rows import GroupedWord


def probe_tables(result: ProbeResult) -> tuple[Table, ...]:
    """Return the tables of the directions, of crossed attributes, and of the words of groups."""
    # A key with one word, such as nurse for infirmière, is in the page; it carries all there is.
    sizes = Counter((word.axis, word.group) for word in result.words)
    shared = tuple(word for word in result.words if sizes[word.axis, word.group] > 1)
    words = (words_table(shared),) if shared else ()
    return (*direction_tables(result.rows), *margin_tables(result), *words)


def direction_tables(rows: Sequence[ProbeRow]) -> tuple[Table, ...]:
    """Return every base with its value, interval and verdict, direction by direction.

    Bases for which no lean is known have a table of their own.
    """
    measured = [row for row in rows if row.unevenness is None]
    with_undefined = any(row.undefined_pairs for row in measured)
    uneven = [row for row in rows if row.unevenness is not None]
    return (
        *(
            direction_table(direction, its_rows, with_undefined=with_undefined)
            for direction, its_rows in by_direction(measured).items()
        ),
        *(unevenness_table(*group) for group in by_direction(uneven).items()),
    )


def margin_tables(result: ProbeResult) -> tuple[Table, ...]:
    """Return the tables of each crossed attribute by itself."""
    names = dict.fromkeys(margin.attribute for margin in result.margins)
    return tuple(
        replace(table, name=f"{name}_{table.name}", title=f"{name} alone: {table.title}")
        for name in names
        for table in direction_tables(
            [margin.row for margin in result.margins if margin.attribute == name]
        )
    )


def words_table(words: tuple[GroupedWord, ...]) -> Table:
    """Return the words behind each group and what each carried."""
    return Table(
        "words",
        (
            Column("axis", essential=False),
            Column("group"),
            Column("word"),
            Column("share", ColumnKind.PERCENT),
        ),
        tuple(astuple(word) for word in words),
        title="words behind the groups, and the part of the group's probability that each carried",
    )


def unevenness_table(direction: Direction, rows: list[ProbeRow]) -> Table:
    """Return how unevenly the groups are treated where no lean is known."""
    level = format_percent(rows[0].interval.confidence)
    return Table(
        f"{direction.slug}_unevenness",
        (
            Column("base"),
            Column("absolute", ColumnKind.NUMBER),
            Column(f"{level} interval", ColumnKind.RANGE, "interval"),
            Column("p", ColumnKind.P_VALUE, "p_value"),
            Column("verdict", ColumnKind.VERDICT),
        ),
        tuple(
            (row.base, row.absolute, row.unevenness.interval, row.unevenness.p_value, row.verdict)
            for row in rows
            if row.unevenness is not None
        ),
        title=f"{direction}: {direction.question}; no lean is known, so only its size",
    )


def direction_table(direction: Direction, rows: list[ProbeRow], *, with_undefined: bool) -> Table:
    """Return the table of one direction."""
    level = format_percent(rows[0].interval.confidence)
    columns = [
        Column("base"),
        Column("value", ColumnKind.SIGNED),
        Column(f"{level} interval", ColumnKind.INTERVAL, "interval"),
        Column("verdict", ColumnKind.VERDICT),
    ]
    with_corrected = any(row.corrected is not None for row in rows)
    if with_corrected:
        columns.insert(2, Column("corrected", ColumnKind.SIGNED))
    parts = [
        part
        for part in ("association", "preference")
        if any(getattr(row, part) is not None for row in rows)
    ]
    for part in parts:
        columns += [
            Column(part, ColumnKind.SIGNED, essential=part == "association"),
            Column(f"{part} interval", ColumnKind.INTERVAL, essential=False),
        ]
    with_strength = any(row.strength is not None for row in rows)
    if with_strength:
        columns.append(Column("strength", ColumnKind.NUMBER))
    if with_undefined:
        columns.append(Column("undefined", essential=False, key="undefined_pairs"))

    def cells(row: ProbeRow) -> tuple[Cell, ...]:
        line: list[Cell] = [row.base, row.value, row.interval, row.verdict]
        if with_corrected:
            line.insert(2, row.corrected)
        for part in parts:
            estimate: Estimate | None = getattr(row, part)
            line += [None, None] if estimate is None else [estimate.claimed, estimate.interval]
        if with_strength:
            line.append(None if row.strength is None else row.strength.value)
        if with_undefined:
            line.append(f"{row.undefined_pairs} of {row.by_pair.size}")
        return tuple(line)

    return Table(
        direction.slug,
        tuple(columns),
        tuple(cells(row) for row in rows),
        title=f"{direction}: {direction.question}",
    )


def verdict_table(direction: Direction, rows: list[ProbeRow]) -> Table:
    """Return the verdicts of one direction alone, for a narrow column of a page."""
    table = direction_table(direction, rows, with_undefined=False)
    return table.select("base", "value", "corrected", "interval", "verdict")


def part_table(rows: Sequence[ProbeRow]) -> Table:
    """Return the parts of each value, association and preference, where they were measured."""
    level = format_percent(rows[0].interval.confidence)
    return Table(
        "parts",
        (
            Column("direction", ColumnKind.DIRECTION),
            Column("base"),
            Column("part"),
            Column("value", ColumnKind.SIGNED),
            Column(f"{level} interval", ColumnKind.INTERVAL, "interval"),
            Column("verdict", ColumnKind.VERDICT),
        ),
        tuple(
            (row.direction, row.base, name, part.claimed, part.interval, part.verdict)
            for row in sorted(rows, key=lambda row: DIRECTIONS.index(row.direction))
            for name, part in (("association", row.association), ("preference", row.preference))
            if part is not None
        ),
    )


def strength_table(rows: Sequence[ProbeRow]) -> Table:
    """Return how many times as strong the model's links are as those of each base."""
    level = format_percent(rows[0].interval.confidence)
    return Table(
        "strength",
        (
            Column("direction", ColumnKind.DIRECTION),
            Column("base"),
            Column("strength", ColumnKind.NUMBER),
            Column(f"{level} interval", ColumnKind.RANGE, "interval"),
            Column("verdict", ColumnKind.VERDICT),
        ),
        tuple(
            (row.direction, row.base, strength.value, strength.interval, strength.verdict)
            for row in sorted(rows, key=lambda row: DIRECTIONS.index(row.direction))
            if (strength := row.strength) is not None
        ),
    )


def error_table(direction: Direction, rows: Sequence[ProbeRow]) -> Table:
    """Return what the choice of templates and of tasks adds to the error of each value."""
    parts = ("templates", "tasks", "both")
    return Table(
        f"errors_{direction.slug}",
        (
            Column("base"),
            *(Column(f"error by {part}", ColumnKind.NUMBER, f"error_{part}") for part in parts),
        ),
        tuple(
            (row.base, *(row.standard_errors[part] for part in parts))
            for row in rows
            if row.standard_errors
        ),
    )


def robustness_table(direction: Direction, rows: Sequence[ProbeRow]) -> Table:
    """Return how much each value depends on the choice of templates."""
    spreads = [(row.base, row.robustness) for row in rows if row.robustness is not None]
    return Table(
        f"templates_{direction.slug}",
        (
            Column("base"),
            Column("SD", ColumnKind.NUMBER, "template_sd"),
            Column("without one template", key="leave_one_out"),
            Column("other sign", ColumnKind.PERCENT, "sign_flip_templates"),
            Column("verdict flips", key="verdict_flips"),
        ),
        tuple(
            (
                base,
                spread.template_sd,
                format_range(*(math.nan if end is None else end for end in spread.leave_one_out)),
                spread.sign_flip_templates,
                _flips(spread.verdict_flips),
            )
            for base, spread in spreads
        ),
    )


def _flips(flips: Mapping[str, int]) -> str:
    """Return how many families and tasks change the verdict if they are left out alone."""
    return ", ".join(
        f"{flips[axis]} of {flips[f'of_{axis}']} {axis}" for axis in ("families", "tasks") if flips
    )


def pair_table(rows: Sequence[ProbeRow]) -> Table:
    """Return every pair of every row, the mean over templates, the largest first."""
    pairs = [pair for row in rows for pair in _pairs(row)]
    # An undefined pair is not equal to itself, and comes last.
    pairs.sort(key=lambda pair: -abs(pair[4]) if pair[4] == pair[4] else 1.0)
    return Table(
        "pairs",
        (
            Column("base"),
            Column("direction", ColumnKind.DIRECTION),
            Column("attribute"),
            Column("task"),
            Column("amplification", ColumnKind.SIGNED),
            Column("model", ColumnKind.NUMBER, "predicted"),
            Column("base rate", ColumnKind.NUMBER),
            Column("lean", ColumnKind.COUNT),
        ),
        tuple(pairs),
        title="All pairs, the largest first",
    )


def _pairs(row: ProbeRow) -> Iterator[tuple[str, Direction, str, str, float, float, float, float]]:
    predicted, amplified = row.predicted.mean(axis=0), row.by_pair
    for i, attribute in enumerate(row.attributes):
        for j, task in enumerate(row.tasks):
            numbers = (amplified[i, j], predicted[i, j], row.base_rate[i, j], row.lean[i, j])
            value, model, base, lean = map(float, numbers)
            yield row.base, row.direction, attribute, task, value, model, base, lean
