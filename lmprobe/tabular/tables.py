"""The tables of an amplification result: verdicts, runs, thresholds, pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lmprobe.results import Cell, Column, ColumnKind, Table
from lmprobe.tabular.other_metrics import metric_table

if TYPE_CHECKING:
    from lmprobe.tabular.result import AmplificationResult
    from lmprobe.tabular.rows import AmplificationRow

# Pairs shown from either end.
_TOP = 5


def amplification_tables(result: AmplificationResult) -> tuple[Table, ...]:
    """Return the tables that a terminal shows, the verdicts first."""
    tables = [verdict_table(result)]
    if len(result.rows[0].runs) > 1:
        tables.append(run_table(result))
    if result.curves:
        tables.append(curve_table(result))
    elif result.thresholds:
        tables.append(threshold_table(result))
    if result.metrics:
        tables.append(metric_table(result.metrics))
    tables += [pair_table(row, top=_TOP) for row in result.rows]
    return tuple(tables)


def verdict_table(result: AmplificationResult) -> Table:
    """Return one line per direction."""
    first = result.rows[0]
    percent = f"{100 * first.estimate.interval.confidence:g}% interval"
    several = first.over_runs is not None
    columns = [
        Column("direction", ColumnKind.DIRECTION),
        Column("value", ColumnKind.SIGNED),
        Column(f"{percent} over rows" if several else percent, ColumnKind.INTERVAL, "interval"),
        Column("verdict", ColumnKind.VERDICT),
    ]
    with_corrected = any(row.estimate.corrected is not None for row in result.rows)
    if with_corrected:
        columns.insert(2, Column("corrected", ColumnKind.SIGNED))
    if several:
        columns += [
            Column("over runs", ColumnKind.INTERVAL, "over_runs"),
            Column("verdict over runs", ColumnKind.VERDICT),
        ]
    columns += [
        Column("mean size", ColumnKind.NUMBER, "absolute", essential=False),
        Column("undefined", key="undefined_pairs", essential=False),
    ]

    def cells(row: AmplificationRow) -> tuple[Cell, ...]:
        known: list[Cell] = [
            row.direction,
            row.value,
            row.estimate.interval,
            row.estimate.verdict,
        ]
        if with_corrected:
            known.insert(2, row.estimate.corrected)
        if row.over_runs is not None:
            known += [row.over_runs.interval, row.over_runs.verdict]
        undefined = f"{row.undefined_pairs:,} of {row.by_pair.size:,}"
        return (*known, row.absolute, undefined)

    title = "How much further predictions lean than the labels do"
    return Table("amplification", tuple(columns), tuple(map(cells, result.rows)), title=title)


def run_table(result: AmplificationResult) -> Table:
    """Return one line per direction and training run."""
    with_corrected = any(one.corrected is not None for row in result.rows for one in row.runs)
    corrected = (Column("corrected", ColumnKind.SIGNED),) if with_corrected else ()
    columns = (
        Column("direction", ColumnKind.DIRECTION),
        Column("run"),
        Column("value", ColumnKind.SIGNED),
        *corrected,
        Column("interval over rows", ColumnKind.INTERVAL, "interval"),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (row.direction, one.run, one.pairs.value, *[one.corrected] * with_corrected, one.interval)
        for row in result.rows
        for one in row.runs
    )
    return Table("runs", columns, cells, title="Each training run")


def threshold_table(result: AmplificationResult) -> Table:
    """Return where each score was cut."""
    columns = (
        Column("task"),
        Column("positive from", ColumnKind.NUMBER, "threshold"),
        Column("share positive", ColumnKind.PERCENT, "share"),
        Column("share wanted", ColumnKind.PERCENT, "wanted_share"),
    )
    cells = tuple((task, cut.value, cut.share, cut.wanted) for task, cut in result.thresholds)
    return Table("thresholds", columns, cells, title="Where the scores are cut")


def curve_table(result: AmplificationResult) -> Table:
    """Return one line per task: its amplification over all thresholds."""
    headings = ("integral", "lowest", "highest", "at the calibrated threshold")
    columns = (Column("task"), *(Column(one, ColumnKind.SIGNED) for one in headings))
    cells = tuple(
        (one.task, one.integral, one.lowest, one.highest, one.at_threshold) for one in result.curves
    )
    return Table("thresholds", columns, cells, title="attribute->task over all thresholds")


def pair_table(row: AmplificationRow, *, top: int | None = None) -> Table:
    """Return the pairs, those that amplify most first; with `top`, only so many of either end."""
    columns = (
        Column("attribute"),
        Column("task"),
        Column("predicted", ColumnKind.NUMBER),
        Column("base rate", ColumnKind.NUMBER),
        Column("lean", ColumnKind.COUNT, essential=False),
        Column("amplification", ColumnKind.SIGNED),
    )
    predicted, base, lean = (
        np.mean([getattr(one.pairs, name) for one in row.runs], axis=0)
        for name in ("predicted", "base_rate", "lean")
    )
    by_pair = row.by_pair
    places = [place for place in np.ndindex(by_pair.shape) if not np.isnan(by_pair[place])]
    places.sort(key=lambda place: -by_pair[place])
    which = "every pair"
    if top is not None and len(places) > 2 * top:
        places = [*places[:top], *places[-top:]]
        which = f"the {top} pairs that amplify most, and least"
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row.attributes[place[0]],
            row.tasks[place[1]],
            float(predicted[place]),
            float(base[place]),
            float(lean[place]),
            float(by_pair[place]),
        )
        for place in places
    )
    title = f"{row.direction.value}: {which}"
    return Table(f"pairs_{row.direction.slug}", columns, cells, title=title)
