"""The tables and the report of an amplification result."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.results import (
    Cell,
    Column,
    ColumnKind,
    Figure,
    Note,
    NoteKind,
    Page,
    Section,
    Series,
    SeriesPlot,
    Statement,
    Table,
)
from lmprobe.results.format import format_signed, plural
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.tabular.columns import listed
from lmprobe.tabular.settings import AmplifySettings

if TYPE_CHECKING:
    from lmprobe.tabular.other_metrics import MetricValue
    from lmprobe.tabular.result import AmplificationResult
    from lmprobe.tabular.rows import AmplificationRow

# Pairs shown from either end.
_TOP = 5
# Curves in one figure: more cannot be told apart, and the table has all.
_CURVES = 6


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
    if first.over_runs is not None:
        percent += " over rows and runs"
    columns = [
        Column("direction", ColumnKind.DIRECTION),
        Column("value", ColumnKind.SIGNED),
        Column("corrected", ColumnKind.SIGNED),
        Column(percent, ColumnKind.INTERVAL, "interval"),
        Column("verdict", ColumnKind.VERDICT),
        Column("strength", ColumnKind.NUMBER),
        Column("its interval", ColumnKind.RANGE, "strength", essential=False),
        Column("mean size", ColumnKind.NUMBER, "absolute", essential=False),
        Column("undefined", key="undefined_pairs", essential=False),
    ]
    shown = np.ones(len(columns), dtype=bool)
    shown[2] = any(row.estimate.corrected is not None for row in result.rows)
    shown[5:7] = any(row.strength is not None for row in result.rows)

    def cells(row: AmplificationRow) -> tuple[Cell, ...]:
        estimate, strength = row.estimate, row.strength
        undefined = f"{row.undefined_pairs:,} of {row.by_pair.size:,}"
        known = (
            *(row.direction, row.value, estimate.corrected, estimate.interval, estimate.verdict),
            *((None, None) if strength is None else (strength.value, strength.interval)),
            *(row.absolute, undefined),
        )
        return tuple(itertools.compress(known, shown))

    title = "How much further predictions lean than the labels do"
    lines = tuple(map(cells, result.rows))
    return Table("amplification", tuple(itertools.compress(columns, shown)), lines, title=title)


def run_table(result: AmplificationResult) -> Table:
    """Return one line per direction and training run."""
    with_corrected = any(run.corrected is not None for row in result.rows for run in row.runs)
    corrected = (Column("corrected", ColumnKind.SIGNED),) if with_corrected else ()
    columns = (
        Column("direction", ColumnKind.DIRECTION),
        Column("run"),
        Column("value", ColumnKind.SIGNED),
        *corrected,
        Column("interval over rows", ColumnKind.INTERVAL, "interval"),
    )
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (row.direction, run.run, run.pairs.value, *[run.corrected] * with_corrected, run.interval)
        for row in result.rows
        for run in row.runs
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
    columns = (Column("task"), *(Column(heading, ColumnKind.SIGNED) for heading in headings))
    cells = tuple(
        (curve.task, curve.integral, curve.lowest, curve.highest, curve.at_threshold)
        for curve in result.curves
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
    predicted, base, lean = _rates(row)
    by_pair = row.by_pair
    places = [place for place in np.ndindex(by_pair.shape) if not np.isnan(by_pair[place])]
    places.sort(key=lambda place: -by_pair[place])
    which = "every pair"
    if top is not None and len(places) > 2 * top:
        places = [*places[:top], *places[-top:]]
        which = f"the {top} pairs that amplify most, and least"
    numbers = (predicted, base, lean, by_pair)
    cells: tuple[tuple[Cell, ...], ...] = tuple(
        (row.attributes[a], row.tasks[t], *(float(table[a, t]) for table in numbers))
        for a, t in places
    )
    title = f"{row.direction.value}: {which}"
    return Table(f"pairs_{row.direction.slug}", columns, cells, title=title)


def _rates(row: AmplificationRow) -> tuple[Floats, ...]:
    """Return the predicted rate, base rate and lean of each pair, averaged over runs."""
    return tuple(
        np.mean([getattr(run.pairs, name) for run in row.runs], axis=0)
        for name in ("predicted", "base_rate", "lean")
    )


def metric_table(values: tuple[MetricValue, ...]) -> Table:
    """Return one line per metric and direction."""
    columns = (Column("metric"), Column("direction"), Column("value", ColumnKind.SIGNED))
    rows = tuple((value.metric, value.direction, value.value) for value in values)
    title = "Other metrics of the same table, on scales of their own"
    return Table("metrics", columns, rows, title=title)


def amplification_page(result: AmplificationResult) -> Page:
    """Return the whole report."""
    from lmprobe.tabular.result import LIMITS

    settings: AmplifySettings = from_mapping(AmplifySettings, result.provenance["settings"])
    tasks = result.rows[0].tasks
    several = len(settings.task) > 1 or settings.task[0].endswith("*")
    task = f"{len(tasks)} tasks" if several else settings.task[0]
    return Page(
        title=f"Do the predictions exaggerate the link between {' & '.join(settings.attribute)} "
        f"and {task}?",
        subtitle=_subtitle(result),
        headline=tuple(_statement(row, settings) for row in result.rows),
        sections=tuple(_sections(result, settings)),
        limits=LIMITS,
        topic="lmprobe amplify",
        source="Wang & Russakovsky, Directional Bias Amplification, ICML 2021",
    )


def _subtitle(result: AmplificationResult) -> str:
    names = list(dict.fromkeys(result.provenance["tables"]))
    runs = len(result.rows[0].runs)
    of_runs = f" in {runs} training runs" if runs > 1 else ""
    return f"{result.rows_read:,} rows{of_runs} of {listed(names)}"


def _statement(row: AmplificationRow, settings: AmplifySettings) -> Statement:
    base = "the label" if settings.train is None else "the train table"
    said = f"the prediction {row.estimate.verdict.words.predicate.format(base=base)}"
    if row.strength is not None and not math.isnan(row.strength.value):
        said += f"; its links are {row.strength.value:.2f} times as strong as those of the labels"
    if row.unevenness is not None:
        said = next(note.text for note in row.notes if note.kind is NoteKind.TIE)
    elif settings.interval == "none":
        said = f"{format_signed(row.value)}; without an interval there is no verdict"
    elif row.estimate.obstacle is not None:
        said = row.estimate.obstacle.reason
    return Statement(f"{row.direction}: {said}.", row.estimate.verdict)


def _sections(result: AmplificationResult, settings: AmplifySettings) -> list[Section]:
    sections = [Section("Verdict", tables=(verdict_table(result),))]
    if len(result.rows[0].runs) > 1:
        runs = Section("Training runs", tables=(run_table(result),), figures=(_run_figure(result),))
        sections.append(runs)
    figures = [Section(row.direction, figures=(_pair_figure(row),)) for row in result.rows]
    sections.append(Section("Pairs", parts=tuple(figures)))
    sections += [
        Section(f"Pairs, {row.direction}", tables=(pair_table(row),), searchable=True)
        for row in result.rows
    ]
    if result.metrics:
        sections.append(Section("Other metrics", tables=(metric_table(result.metrics),)))
    if result.curves:
        table, figure = curve_table(result), _curve_figure(result)
        sections.append(Section("Thresholds", tables=(table,), figures=(figure,)))
    elif result.thresholds:
        sections.append(Section("Thresholds", tables=(threshold_table(result),)))
    sections.append(Section("Notes", notes=_notes(result)))
    if result.provenance.get("files", True):
        words = [*settings.words(), *(["--runs"] if len(result.provenance["tables"]) > 1 else [])]
        command = command_line("amplify", result.provenance["tables"], words)
        sections.append(Section("Run it again", commands=(command,), collapsed=True))
    return sections


def _notes(result: AmplificationResult) -> tuple[Note, ...]:
    notes = [*result.notes, *(note for row in result.rows for note in row.notes)]
    for row in result.rows:
        if row.undefined_pairs:
            text = f"{row.undefined_pairs:,} of {row.by_pair.size:,} pairs are not in the mean"
            notes.append(Note(NoteKind.UNDEFINED, text, row.direction.value))
    return tuple(notes)


def _pair_figure(row: AmplificationRow) -> Figure:
    """Return the predicted rate of each pair over its base rate, one series per lean."""
    predicted, base, lean = _rates(row)
    tasks = _short(row.tasks)
    series = []
    for name, wanted in (("leans towards", lean > 0), ("leans away", lean < 0)):
        places = np.nonzero(wanted & ~np.isnan(row.by_pair))
        labels = tuple(f"{row.attributes[a]}, {tasks[t]}" for a, t in zip(*places, strict=True))
        x, y = (tuple(table[places].tolist()) for table in (base, predicted))
        series.append(Series(name, x, y, labels=labels, style="points"))
    return SeriesPlot(
        name=f"pairs_{row.direction.slug}",
        title=f"{row.direction}: predicted and labelled rates",
        x_label="rate among the labels",
        y_label="rate among the predictions",
        series=tuple(part for part in series if part.x),
        alternative=(
            f"{row.by_pair.size - row.undefined_pairs} pairs; above the diagonal the prediction is "
            f"more frequent than the label. The mean amplification is {format_signed(row.value)}."
        ),
        diagonal=True,
    )


def _short(tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks without what all names begin with, such as `object.`, for a figure."""
    starts = {task.partition(".")[:2] for task in tasks}
    start = "".join(starts.pop()) if len(starts) == 1 and len(tasks) > 1 else ""
    return tuple(task.removeprefix(start) or task for task in tasks)


def _run_figure(result: AmplificationResult) -> Figure:
    """Return the value of each run, corrected if it is, with its interval over rows."""
    series, spread = [], []
    for row in result.rows:
        values = tuple(run.estimate.claimed for run in row.runs)
        series.append(
            Series(
                row.direction,
                tuple(map(float, range(1, len(row.runs) + 1))),
                values,
                labels=tuple(run.run for run in row.runs),
                low=tuple(run.interval.low for run in row.runs),
                high=tuple(run.interval.high for run in row.runs),
                style="points",
            )
        )
        low, high = format_signed(min(values)), format_signed(max(values))
        spread.append(f"{row.direction.value} from {low} to {high}")
    return SeriesPlot(
        name="runs",
        title="Amplification of each training run",
        x_label="training run",
        y_label="amplification",
        series=tuple(series),
        alternative=f"{len(result.rows[0].runs)} runs: {'; '.join(spread)}.",
    )


def _curve_figure(result: AmplificationResult) -> Figure:
    series = []
    tasks = _short(tuple(curve.task for curve in result.curves))
    named = sorted(
        zip(tasks, result.curves, strict=True), key=lambda named: -abs(named[1].integral)
    )
    which = f", the {_CURVES} tasks that depart most" if len(named) > _CURVES else ""
    for task, curve in named[:_CURVES]:
        x, y = curve.share[curve.sampled].tolist(), curve.value[curve.sampled].tolist()
        series.append(Series(task, tuple(x), tuple(y)))
    mean = np.mean([curve.integral for curve in result.curves])
    return SeriesPlot(
        name="curves",
        title=f"{Direction.ATTRIBUTE_TO_TASK} at every threshold{which}",
        x_label="share of rows predicted positive",
        y_label="amplification",
        series=tuple(series),
        alternative=(
            f"Curves of {plural(len(series), 'task')}; the mean over all shares is "
            f"{format_signed(float(mean))}."
        ),
    )
