"""The tables of a probe: one per direction, because values compare within one only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.results import Column, ColumnKind, ColumnOf, Table, table_of
from lmprobe.results.estimate import Claim
from lmprobe.results.format import format_percent, format_range
from lmprobe.results.metric_values import metric_table

if TYPE_CHECKING:
    from lmprobe.probing.comparison import ComparisonRow
    from lmprobe.probing.result import GroupedWord, ProbeResult, ProbeRow


R = TypeVar("R", "ProbeRow", "ComparisonRow")


def by_direction(rows: Sequence[R]) -> dict[Direction, list[R]]:
    """Return the rows of each direction among them, bases in their order."""
    groups = {
        direction: [row for row in rows if row.direction is direction] for direction in DIRECTIONS
    }
    return {direction: its_rows for direction, its_rows in groups.items() if its_rows}


def probe_tables(result: ProbeResult) -> tuple[Table, ...]:
    """Return the tables of the directions, of crossed attributes, and of the words of groups."""
    # A key with one word, such as nurse for infirmière, is in the page; it carries all there is.
    sizes = Counter((word.axis, word.group) for word in result.words)
    shared = tuple(word for word in result.words if sizes[word.axis, word.group] > 1)
    words = (words_table(shared),) if shared else ()
    metrics = (metric_table(result.metrics),) if result.metrics else ()
    return (*direction_tables(result.rows), *margin_tables(result), *words, *metrics)


def direction_tables(rows: Sequence[ProbeRow]) -> tuple[Table, ...]:
    """Return every base with its value, interval and verdict, direction by direction.

    Bases for which no lean is known have a table of their own.
    """
    measured = [row for row in rows if row.unevenness is None]
    with_undefined = any(row.undefined_pairs for row in measured)
    uneven = [row for row in rows if row.unevenness is not None]
    return (
        *(
            direction_table(direction, group, with_undefined=with_undefined)
            for direction, group in by_direction(measured).items()
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
    columns = (
        ColumnOf("axis", "axis", essential=False),
        ColumnOf("group", "group"),
        ColumnOf("word", "word"),
        ColumnOf("share", "share", ColumnKind.PERCENT),
    )
    title = "words behind the groups, and the part of the group's probability that each carried"
    return table_of("words", words, columns, title=title)


_BASE = ColumnOf("base", "base")
_DIRECTION = ColumnOf("direction", "direction", ColumnKind.DIRECTION)
_VERDICT = ColumnOf("verdict", "verdict", ColumnKind.VERDICT)


def interval_column(
    rows: Sequence[Any], path: str = "interval", kind: ColumnKind = ColumnKind.INTERVAL
) -> ColumnOf:
    """Return the column of the intervals, with their confidence level as heading."""
    level = format_percent(rows[0].interval.confidence)
    return ColumnOf(f"{level} interval", path, kind, "interval")


def unevenness_table(direction: Direction, rows: list[ProbeRow]) -> Table:
    """Return how unevenly the groups are treated where no lean is known."""
    columns = (
        _BASE,
        ColumnOf("absolute", "absolute", ColumnKind.NUMBER),
        interval_column(rows, "unevenness.interval", ColumnKind.RANGE),
        ColumnOf("p", "unevenness.p_value", ColumnKind.P_VALUE, "p_value"),
        _VERDICT,
    )
    title = f"{direction}: {direction.question}; no lean is known, so only its size"
    return table_of(f"{direction.slug}_unevenness", rows, columns, title=title)


def direction_table(direction: Direction, rows: list[ProbeRow], *, with_undefined: bool) -> Table:
    """Return the table of one direction; what no row has is left out."""

    def undefined(row: ProbeRow) -> str | None:
        return f"{row.undefined_pairs} of {row.by_pair.size}" if with_undefined else None

    columns = (
        _BASE,
        ColumnOf("value", "value", ColumnKind.SIGNED),
        ColumnOf("corrected", "corrected", ColumnKind.SIGNED),
        interval_column(rows),
        _VERDICT,
        ColumnOf("association", "association.claimed", ColumnKind.SIGNED),
        ColumnOf(
            "association interval", "association.interval", ColumnKind.INTERVAL, essential=False
        ),
        ColumnOf("preference", "preference.claimed", ColumnKind.SIGNED, essential=False),
        ColumnOf(
            "preference interval", "preference.interval", ColumnKind.INTERVAL, essential=False
        ),
        ColumnOf("strength", "strength.value", ColumnKind.NUMBER),
        ColumnOf("undefined", undefined, key="undefined_pairs", essential=False),
    )
    return table_of(direction.slug, rows, columns, title=f"{direction}: {direction.question}")


def verdict_table(direction: Direction, rows: list[ProbeRow]) -> Table:
    """Return the verdicts of one direction alone, for a narrow column of a page."""
    table = direction_table(direction, rows, with_undefined=False)
    return table.select("base", "value", "corrected", "interval", "verdict")


def part_table(rows: Sequence[ProbeRow]) -> Table:
    """Return the parts of each value, association and preference, where they were measured."""
    parts = [
        Claim(part, row.base, row.direction, name)
        for row in sorted(rows, key=lambda row: DIRECTIONS.index(row.direction))
        for name, part in (("association", row.association), ("preference", row.preference))
        if part is not None
    ]
    columns = (
        _DIRECTION,
        _BASE,
        ColumnOf("part", "subject"),
        ColumnOf("value", "estimate.claimed", ColumnKind.SIGNED),
        interval_column(rows, "estimate.interval"),
        ColumnOf("verdict", "estimate.verdict", ColumnKind.VERDICT),
    )
    return table_of("parts", parts, columns)


def strength_table(rows: Sequence[ProbeRow]) -> Table:
    """Return how many times as strong the model's links are as those of each base."""
    ordered = sorted(rows, key=lambda row: DIRECTIONS.index(row.direction))
    columns = (
        _DIRECTION,
        _BASE,
        ColumnOf("strength", "strength.value", ColumnKind.NUMBER),
        interval_column(rows, "strength.interval", ColumnKind.RANGE),
        ColumnOf("verdict", "strength.verdict", ColumnKind.VERDICT),
    )
    return table_of("strength", [row for row in ordered if row.strength is not None], columns)


def error_table(direction: Direction, rows: Sequence[ProbeRow]) -> Table:
    """Return what the choice of templates and of tasks adds to the error of each value."""
    parts = (
        ColumnOf(f"error by {part}", f"standard_errors.{part}", ColumnKind.NUMBER, f"error_{part}")
        for part in ("templates", "tasks", "both")
    )
    estimated = [row for row in rows if row.standard_errors]
    return table_of(f"errors_{direction.slug}", estimated, (_BASE, *parts))


def robustness_table(direction: Direction, rows: Sequence[ProbeRow]) -> Table:
    """Return how much each value depends on the choice of templates."""

    def ends(row: ProbeRow) -> str:
        assert row.robustness is not None
        low, high = (math.nan if end is None else end for end in row.robustness.leave_one_out)
        return format_range(low, high)

    columns = (
        _BASE,
        ColumnOf("SD", "robustness.template_sd", ColumnKind.NUMBER, "template_sd"),
        ColumnOf("without one template", ends, key="leave_one_out"),
        ColumnOf(
            "other sign",
            "robustness.sign_flip_templates",
            ColumnKind.PERCENT,
            "sign_flip_templates",
        ),
        ColumnOf(
            "verdict flips", lambda row: _flips(row.robustness.verdict_flips), key="verdict_flips"
        ),
    )
    robust = [row for row in rows if row.robustness is not None]
    return table_of(f"templates_{direction.slug}", robust, columns)


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
    columns = (
        Column("base"),
        Column("direction", ColumnKind.DIRECTION),
        Column("attribute"),
        Column("task"),
        Column("amplification", ColumnKind.SIGNED),
        Column("model", ColumnKind.NUMBER, "predicted"),
        Column("base rate", ColumnKind.NUMBER),
        Column("lean", ColumnKind.COUNT),
    )
    return Table("pairs", columns, tuple(pairs), title="All pairs, the largest first")


def _pairs(row: ProbeRow) -> Iterator[tuple[str, Direction, str, str, float, float, float, float]]:
    predicted, amplified = row.predicted.mean(axis=0), row.by_pair
    for i, attribute in enumerate(row.attributes):
        for j, task in enumerate(row.tasks):
            numbers = (amplified[i, j], predicted[i, j], row.base_rate[i, j], row.lean[i, j])
            value, model, base, lean = map(float, numbers)
            yield row.base, row.direction, attribute, task, value, model, base, lean
