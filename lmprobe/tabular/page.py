"""The report of an amplification result: headline, verdicts, pairs, thresholds, runs, notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.results import Figure, Note, NoteKind, Page, Section, Series, SeriesPlot, Statement
from lmprobe.results.format import format_signed, plural
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.tabular.columns import listed
from lmprobe.tabular.other_metrics import metric_table
from lmprobe.tabular.settings import AmplifySettings
from lmprobe.tabular.tables import (
    curve_table,
    pair_table,
    run_table,
    threshold_table,
    verdict_table,
)

if TYPE_CHECKING:
    from lmprobe.tabular.result import AmplificationResult
    from lmprobe.tabular.rows import AmplificationRow


# Curves in one figure: more cannot be told apart, and the table has all.
_CURVES = 6


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
    if settings.interval == "none":
        said = f"{format_signed(row.value)}; without an interval there is no verdict"
    return Statement(f"{row.direction}: {said}.", row.estimate.verdict)


def _sections(result: AmplificationResult, settings: AmplifySettings) -> list[Section]:
    sections = [Section("Verdict", tables=(verdict_table(result),))]
    if len(result.rows[0].runs) > 1:
        sections.append(
            Section("Training runs", tables=(run_table(result),), figures=(_run_figure(result),))
        )
    sections.append(
        Section(
            "Pairs",
            parts=tuple(
                Section(row.direction, figures=(_pair_figure(row),)) for row in result.rows
            ),
        )
    )
    sections += [
        Section(f"Pairs, {row.direction}", tables=(pair_table(row),), searchable=True)
        for row in result.rows
    ]
    if result.metrics:
        sections.append(Section("Other metrics", tables=(metric_table(result.metrics),)))
    if result.curves:
        sections.append(
            Section("Thresholds", tables=(curve_table(result),), figures=(_curve_figure(result),))
        )
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
    predicted, base, lean = (
        np.mean([getattr(one.pairs, name) for one in row.runs], axis=0)
        for name in ("predicted", "base_rate", "lean")
    )
    tasks = _short(row.tasks)
    series = []
    for name, wanted in (("leans towards", lean > 0), ("leans away", lean < 0)):
        places = [tuple(place) for place in np.argwhere(wanted & ~np.isnan(row.by_pair))]
        series.append(
            Series(
                name,
                tuple(float(base[place]) for place in places),
                tuple(float(predicted[place]) for place in places),
                labels=tuple(f"{row.attributes[a]}, {tasks[t]}" for a, t in places),
                style="points",
            )
        )
    return SeriesPlot(
        name=f"pairs_{row.direction.slug}",
        title=f"{row.direction}: predicted and labelled rates",
        x_label="rate among the labels",
        y_label="rate among the predictions",
        series=tuple(one for one in series if one.x),
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
    series = []
    for row in result.rows:
        series.append(
            Series(
                row.direction,
                tuple(float(number) for number in range(1, len(row.runs) + 1)),
                tuple(one.claimed for one in row.runs),
                labels=tuple(one.run for one in row.runs),
                low=tuple(one.interval.low for one in row.runs),
                high=tuple(one.interval.high for one in row.runs),
                style="points",
            )
        )
    spread = "; ".join(
        f"{row.direction.value} from {format_signed(min(one.claimed for one in row.runs))} to "
        f"{format_signed(max(one.claimed for one in row.runs))}"
        for row in result.rows
    )
    return SeriesPlot(
        name="runs",
        title="Amplification of each training run",
        x_label="training run",
        y_label="amplification",
        series=tuple(series),
        alternative=f"{len(result.rows[0].runs)} runs: {spread}.",
    )


def _curve_figure(result: AmplificationResult) -> Figure:
    series = []
    tasks = _short(tuple(curve.task for curve in result.curves))
    named = sorted(zip(tasks, result.curves, strict=True), key=lambda one: -abs(one[1].integral))
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
