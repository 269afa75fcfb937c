"""The tables and figures of a probe, one per direction, because values compare within one only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.finding import moves_of
from lmprobe.results import (
    Column,
    ColumnKind,
    ColumnOf,
    HeatBlock,
    HeatMap,
    IntervalLine,
    IntervalPlot,
    ShareLine,
    SharePlot,
    Sides,
    Strip,
    StripPlot,
    Table,
    Tone,
    table_of,
)
from lmprobe.results.estimate import Claim
from lmprobe.results.format import (
    describe_interval,
    format_number,
    format_percent,
    format_range,
    format_signed,
    listed,
    plural,
)
from lmprobe.results.metric_values import metric_table
from lmprobe.results.moves import Moves

if TYPE_CHECKING:
    from lmprobe.probing.comparison import ComparisonRow
    from lmprobe.probing.result import DecidingItem, GroupedWord, ProbeResult, ProbeRow

R = TypeVar("R", "ProbeRow", "ComparisonRow")

SOURCE = "Directional bias amplification: Wang & Russakovsky, ICML 2021."

_SIDES = Sides("weakens", "exaggerates")
MOST_TASKS = 40
"""More tasks than this are cut to those with the largest amplification."""
MOST_SHARES = 24
"""A picture of more shares has those that move farthest."""
_MOST_GROUPS = 4

_BASE = ColumnOf("base", "base")
_DIRECTION = ColumnOf("direction", "direction", ColumnKind.DIRECTION)
_VERDICT = ColumnOf("verdict", "verdict", ColumnKind.VERDICT)

CORRECTED = (
    "“corrected” is the value without the bias that the noise of the base causes: the interval and "
    "the verdict belong to it."
)


def by_direction(rows: Sequence[R]) -> dict[Direction, list[R]]:
    """Return the rows of each direction among them, bases in their order."""
    return {
        direction: group
        for direction in DIRECTIONS
        if (group := [row for row in rows if row.direction is direction])
    }


def probe_tables(result: ProbeResult) -> tuple[Table, ...]:
    """Return the verdicts, and in detail their parts, crossed attributes, words and metrics."""
    # A key with one word, such as nurse for infirmière, is in the page; it carries all there is.
    sizes = Counter((word.axis, word.group) for word in result.words)
    shared = tuple(word for word in result.words if sizes[word.axis, word.group] > 1)
    words = (words_table(shared),) if shared else ()
    metrics = (metric_table(result.metrics),) if result.metrics else ()
    details = (*part_tables(result.rows), *words)
    return (
        *verdict_tables(result.rows),
        *margin_tables(result),
        *metrics,
        *(replace(table, detail=True) for table in details),
    )


def verdict_tables(rows: Sequence[ProbeRow]) -> tuple[Table, ...]:
    """Return every base with its value, interval and verdict, direction by direction.

    Bases for which no lean is known have a table of their own.
    """
    ordered = [row for group in by_direction(rows).values() for row in group]
    measured = [row for row in ordered if row.unevenness is None]
    uneven = [row for row in ordered if row.unevenness is not None]
    return (
        *([_verdict_table(measured)] if measured else []),
        *([_unevenness_table(uneven)] if uneven else []),
    )


def margin_tables(result: ProbeResult) -> tuple[Table, ...]:
    """Return the tables of each crossed attribute by itself."""
    names = dict.fromkeys(margin.attribute for margin in result.margins)
    return tuple(
        replace(table, name=f"{name}_{table.name}", title=f"{name} alone")
        for name in names
        for table in verdict_tables(
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


def deciding_table(items: Sequence[DecidingItem]) -> Table:
    """Return the items that move the value most."""
    several = len({item.base for item in items}) > 1
    columns = (
        *((_BASE,) if several else ()),
        ColumnOf("task", "task"),
        ColumnOf("sentence", "text"),
        ColumnOf("group", "group"),
        ColumnOf("base rate", "base_rate", ColumnKind.PERCENT),
        ColumnOf("model", "share", ColumnKind.PERCENT),
        ColumnOf("effect on the value", "effect", ColumnKind.SIGNED),
    )
    return table_of("deciding_items", items, columns)


def interval_column(
    rows: Sequence[Any], path: str = "interval", kind: ColumnKind = ColumnKind.INTERVAL
) -> ColumnOf:
    """Return the column of the intervals, with their confidence level as heading."""
    level = format_percent(rows[0].interval.confidence)
    return ColumnOf(f"{level} interval", path, kind, "interval")


def _unevenness_table(rows: list[ProbeRow]) -> Table:
    columns = (
        _BASE,
        _DIRECTION,
        ColumnOf("absolute", "absolute", ColumnKind.NUMBER),
        interval_column(rows, "unevenness.interval", ColumnKind.RANGE),
        ColumnOf("p", "unevenness.p_value", ColumnKind.P_VALUE, "p_value"),
        _VERDICT,
    )
    return table_of(
        "unevenness",
        rows,
        columns,
        title="How uneven the shares are",
        caption="absolute: how far a share is from the base on average, which other things than "
        "the groups may cause; p: how often groups shuffled at random are at least as uneven.",
    )


def _verdict_table(rows: list[ProbeRow]) -> Table:
    """Return the values with intervals and verdicts; what no row has is left out."""
    some_undefined = any(row.undefined_pairs for row in rows)

    def undefined(row: ProbeRow) -> str | None:
        return f"{row.undefined_pairs} of {row.by_pair.size}" if some_undefined else None

    columns = (
        _BASE,
        _DIRECTION,
        ColumnOf("value", "value", ColumnKind.SIGNED),
        ColumnOf("corrected", "corrected", ColumnKind.SIGNED),
        interval_column(rows),
        _VERDICT,
        ColumnOf("undefined", undefined, key="undefined_pairs", essential=False),
    )
    fitted = any(row.corrected is not None for row in rows)
    return table_of("verdicts", rows, columns, caption=CORRECTED if fitted else "")


def part_tables(rows: Sequence[ProbeRow]) -> tuple[Table, ...]:
    """Return the association and preference of each value, and the strength of the links.

    What no row has is left out.
    """
    ordered = [row for group in by_direction(rows).values() for row in group]
    parts = [
        Claim(part, row.base, row.direction, name)
        for row in ordered
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
    strength_columns = (
        _DIRECTION,
        _BASE,
        ColumnOf("strength", "strength.value", ColumnKind.NUMBER),
        interval_column(rows, "strength.interval", ColumnKind.RANGE),
        ColumnOf("verdict", "strength.verdict", ColumnKind.VERDICT),
    )
    strong = [row for row in ordered if row.strength is not None]
    tables = table_of("parts", parts, columns), table_of("strength", strong, strength_columns)
    return tuple(table for table in tables if table.rows)


def robustness_tables(direction: Direction, rows: Sequence[ProbeRow]) -> tuple[Table, Table]:
    """Return how much each value depends on the templates, and what they add to its error."""

    def without_one(row: ProbeRow) -> str:
        assert row.robustness is not None
        low, high = (math.nan if end is None else end for end in row.robustness.leave_one_out)
        return format_range(low, high)

    columns = (
        _BASE,
        ColumnOf("SD", "robustness.template_sd", ColumnKind.NUMBER, "template_sd"),
        ColumnOf("without one template", without_one, key="leave_one_out"),
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
    errors = (
        ColumnOf(f"error by {part}", f"standard_errors.{part}", ColumnKind.NUMBER, f"error_{part}")
        for part in ("templates", "turns", "tasks", "both")
        if part != "turns" or any(part in row.standard_errors for row in rows)
    )
    robust = [row for row in rows if row.robustness is not None]
    estimated = [row for row in rows if row.standard_errors]
    return (
        table_of(f"templates_{direction.slug}", robust, columns),
        table_of(f"errors_{direction.slug}", estimated, (_BASE, *errors)),
    )


def _flips(flips: Mapping[str, int]) -> str:
    """Return how many families, turns and tasks change the verdict if they are left out alone."""
    return ", ".join(
        f"{flips[axis]} of {flips[f'of_{axis}']} {axis}"
        for axis in ("families", "turns", "tasks")
        if flips.get(f"of_{axis}")
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


def interval_figure(rows: Sequence[ProbeRow]) -> IntervalPlot:
    """Return the values of one direction with their intervals, a line per base."""
    direction = rows[0].direction
    level = format_percent(rows[0].interval.confidence)
    words = listed(
        f"compared with {row.base}, the model {row.verdict.predicate.format(base=row.base)} "
        f"({format_signed(row.estimate.claimed)}, {describe_interval(row.interval)})"
        for row in rows
    )
    return IntervalPlot(
        name=f"intervals-{direction.slug}",
        title=f"Amplification, {direction}, with {level} intervals",
        alternative=f"{words}.",
        lines=tuple(
            IntervalLine(row.base, row.estimate.claimed, row.interval, row.verdict.tone)
            for row in rows
        ),
        sides=_SIDES,
    )


def template_figure(rows: Sequence[ProbeRow], templates: Sequence[str]) -> StripPlot:
    """Return the value of every template, a strip per base."""
    direction = rows[0].direction
    words = listed(
        f"compared with {row.base}, {format_number(row.per_template.min())} to "
        f"{format_number(row.per_template.max())} with a standard deviation of "
        f"{format_number(row.template_sd)}"
        for row in rows
    )
    return StripPlot(
        name=f"templates-{direction.slug}",
        title=f"Each template's value, {direction}",
        alternative=f"The values of {plural(len(templates), 'template')}: {words}.",
        strips=tuple(
            Strip(row.base, tuple(row.per_template.tolist()), tuple(templates), row.value)
            for row in rows
        ),
        sides=_SIDES,
    )


def pair_figure(rows: Sequence[ProbeRow]) -> HeatMap:
    """Return the amplification of every pair, tasks down, a block of attributes per base."""
    direction = rows[0].direction
    sizes: dict[str, float] = {}
    for row in rows:
        largest = np.nan_to_num(np.abs(row.by_pair)).max(axis=0)
        for task, size in zip(row.tasks, largest.tolist(), strict=True):
            sizes[task] = max(sizes.get(task, 0.0), size)
    shown = set(sorted(sizes, key=lambda task: -sizes[task])[:MOST_TASKS])
    tasks, left_out = [task for task in sizes if task in shown], len(sizes) - len(shown)
    cut = f" Left out: {plural(left_out, 'task')} with the smallest." if left_out else ""
    columns = sum(len(row.attributes) for row in rows)
    return HeatMap(
        name=f"pairs-{direction.slug}",
        title=f"Amplification of each pair, {direction}",
        alternative=(
            f"{plural(len(tasks), 'task')} by {columns} attributes and bases, mean over templates, "
            f"from {_extreme(rows, largest=False)} to {_extreme(rows, largest=True)}; the numbers "
            f"are in the table of pairs.{cut}"
        ),
        rows=tuple(tasks),
        blocks=tuple(_block(row, tasks) for row in rows),
    )


def _block(row: ProbeRow, tasks: Sequence[str]) -> HeatBlock:
    cells = dict(zip(row.tasks, map(tuple, row.by_pair.T.tolist()), strict=True))
    empty = (None,) * len(row.attributes)
    return HeatBlock(row.base, row.attributes, tuple(cells.get(task, empty) for task in tasks))


def _extreme(rows: Sequence[ProbeRow], *, largest: bool) -> str:
    """Return the largest or smallest pair in words."""
    pairs = []
    for row in rows:
        values = row.by_pair
        flat = int(np.nanargmax(values) if largest else np.nanargmin(values))
        attribute, task = divmod(flat, len(row.tasks))
        pair = f"{row.attributes[attribute]}, {row.tasks[task]} ({row.base})"
        pairs.append((float(values.ravel()[flat]), pair))
    value, pair = (max if largest else min)(pairs, key=lambda pair: pair[0])
    return f"{format_number(value)} for {pair}"


def task_figures(row: ProbeRow) -> tuple[SharePlot, ...]:
    """Return the share of each task in the base and by the model, the mean over templates."""
    return share_figures(moves_of(row), f"tasks-{row.base}", (row.base, "the model"))


def share_figures(moves: Moves, name: str, sources: tuple[str, str]) -> tuple[SharePlot, ...]:
    """Return the shares before and after of the tasks that are moved, farthest beyond first.

    `sources` are whose shares these are. Each of a few groups has a picture, of the tasks that lean
    to it: a share that grows is a link that is exaggerated. Of many, a task names its own group.
    """
    number = len(moves.tasks)
    moved = (*moves.beyond(number), *moves.back(number))
    few = len(moves.attributes) <= _MOST_GROUPS
    groups: dict[str, list[ShareLine]] = {group: [] for group in moves.attributes if few}
    for move in sorted(moved, key=lambda move: move.base - move.model):
        group, task = move.predicted, move.given
        if moves.direction is Direction.ATTRIBUTE_TO_TASK:
            group, task = task, group
        label = task if few else f"{task} ({group})"
        tone = Tone.PLUS if move.model > move.base else Tone.MINUS
        line = ShareLine(label, move.base, move.model, tone)
        groups.setdefault(group if few else "", []).append(line)
    titles = _SHARE_TITLES[moves.direction]
    return tuple(
        _share_figure(
            "-".join(filter(None, (name, group))), titles[not few].format(group), sources, lines
        )
        for group, lines in groups.items()
        if lines
    )


_SHARE_TITLES = {
    Direction.TASK_TO_ATTRIBUTE: (
        "Share of “{}” in the tasks that lean to it",
        "Share of the group that each task leans to",
    ),
    Direction.ATTRIBUTE_TO_TASK: (
        "Given “{}”: share of the tasks that lean to it",
        "Share of each task, given the group that it leans to",
    ),
}


def _share_figure(
    name: str, title: str, sources: tuple[str, str], lines: Sequence[ShareLine]
) -> SharePlot:
    farthest = sorted(lines, key=lambda line: -abs(line.after - line.before))[:MOST_SHARES]
    shown = [line for line in lines if line in farthest]
    cut = f", the {len(shown)} of {len(lines)} that move farthest" if shown != [*lines] else ""
    ends = (
        f"{line.label} ({format_percent(line.before, 2)} to {format_percent(line.after, 2)})"
        for line in dict.fromkeys((shown[0], shown[-1]))
    )
    before, after = sources
    return SharePlot(
        name=name,
        title=f"{title}{cut}",
        alternative=(
            f"{plural(len(shown), 'task')}, {before} against {after}: from {' to '.join(ends)}."
        ),
        lines=tuple(shown),
        before=before,
        after=after,
    )
