"""The result of `amplify`: its rows, thresholds and curves, their tables, figures and report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.thresholds import AmplificationCurve, Threshold
from lmprobe.probing.exhibits import share_figures
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Figure,
    Note,
    NoteKind,
    Obstacle,
    Page,
    Section,
    Series,
    SeriesPlot,
    Table,
    closing_sections,
    json_field,
    table_of,
)
from lmprobe.results.estimate import Claim
from lmprobe.results.format import format_signed, plural
from lmprobe.results.metric_values import MetricValue, metric_table
from lmprobe.results.result import Result
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.tabular.finding import finding, moves_of
from lmprobe.tabular.rows import AmplificationRow
from lmprobe.tabular.settings import AmplifySettings, listed

if TYPE_CHECKING:
    import pandas as pd

# Pairs shown from either end.
_TOP = 5
# Curves in one figure: more cannot be told apart, and the table has all.
_CURVES = 6
# Points of a curve in JSON and in a figure; a CSV has them all.
_POINTS = 201

LIMITS = (
    "It compares predictions with the labels of these rows (or of the train table). It does not "
    "show whether the labels are fair or the rows are a fair sample.",
    "It measures whether predictions exaggerate a link, not whether they are correct, or whether "
    "some groups have more errors than others.",
    "Compare values within one direction only: task->attribute and attribute->task have "
    "different scales.",
)
"""What this measures and what it does not; every report carries it."""

NO_LEAN = "Where the labels show no link, the sign of the value is due to chance."

CORRECTED = (
    "The lean of some pairs may be due to chance, which raises the value: “corrected” takes it "
    "from other rows, and the interval and the verdict belong to it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskThreshold(Threshold):
    """The threshold of one task's score."""

    json_keys: ClassVar[tuple[str, ...]] = ("task", "value", "wanted", "share", "row")

    wanted: float = json_field(key="wanted_share")
    row: float = json_field(key="heaviest_row")
    task: str


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """The amplification of one task over all thresholds: its summaries and some of its points."""

    task: str
    integral: float
    lowest: float
    highest: float
    at_threshold: float
    """The value at the calibrated threshold."""
    points: int
    """How many thresholds there are in all."""
    cuts: Floats
    """(K,), falling; the first lies above every score and is infinite."""
    share: Floats
    value: Floats
    full: AmplificationCurve | None = json_field(default=None, inherited=True)
    """Every point; not in JSON."""

    def __post_init__(self) -> None:
        """Restore the infinite threshold, which JSON does not have."""
        object.__setattr__(self, "cuts", np.where(np.isnan(self.cuts), np.inf, self.cuts))

    @classmethod
    def of(cls, curve: AmplificationCurve, cut: Threshold) -> ThresholdCurve:
        """Return the summaries, and points evenly spread over the share of positives."""
        value = curve.value
        places = np.searchsorted(curve.share, np.linspace(0, 1, _POINTS))
        some = np.unique(places.clip(0, len(value) - 1))
        return cls(
            curve.label,
            curve.integral,
            float(np.min(value)),
            float(np.max(value)),
            curve.at(cut.value),
            len(value),
            curve.thresholds[some],
            curve.share[some],
            value[some],
            curve,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one line per threshold: all of them, or those of a result that was read back."""
        import pandas as pd

        cuts = self.cuts if self.full is None else self.full.thresholds
        curve = self.full or self
        columns = {"threshold": cuts, "share": curve.share, "amplification": curve.value}
        return pd.DataFrame({"task": self.task, **columns})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AmplificationResult(Result):
    """The result of `amplify`: one row per direction whose predictions are given."""

    kind: ClassVar[str] = "amplification"
    limits: ClassVar[tuple[str, ...]] = LIMITS
    json_keys: ClassVar[tuple[str, ...]] = (
        "rows", "rows_read", "thresholds", "curves", "metrics", "notes", "limits", "provenance",
    )  # fmt: skip

    rows: tuple[AmplificationRow, ...]
    rows_read: int
    provenance: Mapping[str, Any]
    thresholds: tuple[TaskThreshold, ...] = ()
    """The cut of each task's score, table by table."""
    curves: tuple[ThresholdCurve, ...] = ()
    """The amplification of each task at every threshold."""
    metrics: tuple[MetricValue, ...] = ()
    """What other metrics give for the same table, where they were asked for."""
    notes: tuple[Note, ...] = ()

    def row(self, direction: Direction | str) -> AmplificationRow:
        """Return the row of that direction (`T->A` and `A->T` are accepted)."""
        wanted = Direction.parse(direction)
        for row in self.rows:
            if row.direction is wanted:
                return row
        raise InputError(f"{wanted} was not measured: its predictions were not given")

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every direction."""
        return tuple(Claim(row.estimate, row.base, row.direction) for row in self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Return the verdicts, then runs, thresholds and the pairs at both ends."""
        tables = [_verdict_table(self)]
        if len(self.rows[0].runs) > 1:
            tables.append(_run_table(self))
        if self.curves or self.thresholds:
            tables.append(_threshold_table(self))
        if self.metrics:
            tables.append(metric_table(self.metrics))
        return (*tables, *(_pair_table(row, _TOP) for row in self.rows))

    def page(self) -> Page:
        """Return the whole report."""
        settings: AmplifySettings = from_mapping(AmplifySettings, self.provenance["settings"])
        several = len(settings.task) > 1 or settings.task[0].endswith("*")
        task = f"{len(self.rows[0].tasks)} tasks" if several else settings.task[0]
        groups = " & ".join(settings.attribute)
        runs = len(self.rows[0].runs)
        of_runs = f" in {runs} training runs" if runs > 1 else ""
        tables = listed(list(dict.fromkeys(self.provenance["tables"])))
        return Page(
            title=f"Do the predictions exaggerate the link between {groups} and {task}?",
            subtitle=f"{self.rows_read:,} rows{of_runs} of {tables}",
            headline=finding(self.rows, settings),
            sections=tuple(_sections(self, settings)),
            limits=LIMITS,
            topic="lmprobe amplify",
            source="Wang & Russakovsky, Directional Bias Amplification, ICML 2021",
        )

    def pairs(self) -> pd.DataFrame:
        """Return one line per direction, run, attribute and task."""
        import pandas as pd

        frames = []
        for row in self.rows:
            for run in row.runs:
                frame = run.to_frame()
                frame["direction"] = row.direction.value
                if len(row.runs) > 1:
                    frame.insert(1, "run", run.run)
                frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return what is written as CSV: the verdicts, every pair, the curves."""
        import pandas as pd

        frames = {"amplification": self.to_frame(), "pairs": self.pairs()}
        if self.curves:
            frames["curves"] = pd.concat(curve.to_frame() for curve in self.curves)
        return frames

    def validate(self) -> None:
        """Refuse a document without rows."""
        if not self.rows:
            raise ValueError("it has no rows")


def _verdict_table(result: AmplificationResult) -> Table:
    first = result.rows[0]
    percent = f"{100 * first.interval.confidence:g}% interval"
    if first.over_runs is not None:
        percent += " over rows and runs"
    uncertain = (
        ColumnOf(percent, "interval", ColumnKind.INTERVAL, "interval"),
        ColumnOf("verdict", "verdict", ColumnKind.VERDICT),
    )
    columns = (
        ColumnOf("direction", "direction", ColumnKind.DIRECTION),
        ColumnOf("value", "value", ColumnKind.SIGNED),
        ColumnOf("corrected", "estimate.corrected", ColumnKind.SIGNED),
        *([] if result.provenance["settings"]["interval"] == "none" else uncertain),
        ColumnOf("strength", "strength.value", ColumnKind.NUMBER, essential=False),
        ColumnOf("its interval", "strength.interval", ColumnKind.RANGE, "strength", False),
        ColumnOf("mean size", "absolute", ColumnKind.NUMBER, "absolute", False),
        ColumnOf("undefined", _undefined, key="undefined_pairs", essential=False),
    )
    title = "How much further predictions lean than the labels do"
    fitted = any(row.estimate.corrected is not None for row in result.rows)
    no_lean = any(row.estimate.obstacle is Obstacle.NO_LEAN for row in result.rows)
    caption = " ".join([CORRECTED] * fitted + [NO_LEAN] * no_lean)
    return table_of("amplification", result.rows, columns, title=title, caption=caption)


def _undefined(row: AmplificationRow) -> str:
    return f"{row.undefined_pairs:,} of {row.by_pair.size:,}"


def _run_table(result: AmplificationResult) -> Table:
    columns = (
        ColumnOf("direction", "direction", ColumnKind.DIRECTION),
        ColumnOf("run", "run"),
        ColumnOf("value", "value", ColumnKind.SIGNED),
        ColumnOf("corrected", "corrected", ColumnKind.SIGNED),
        ColumnOf("interval over rows", "interval", ColumnKind.INTERVAL, "interval"),
    )
    runs = [run for row in result.rows for run in row.runs]
    return table_of("runs", runs, columns, title="Each training run")


def _threshold_table(result: AmplificationResult) -> Table:
    """Return where each score was cut, or the curve of each task over all thresholds."""
    if result.curves:
        columns = [
            ColumnOf("task", "task"),
            ColumnOf("integral", "integral", ColumnKind.SIGNED),
            ColumnOf("lowest", "lowest", ColumnKind.SIGNED),
            ColumnOf("highest", "highest", ColumnKind.SIGNED),
            ColumnOf("at the calibrated threshold", "at_threshold", ColumnKind.SIGNED),
        ]
        title = "attribute->task over all thresholds"
        return table_of("thresholds", result.curves, columns, title=title)
    columns = [
        ColumnOf("task", "task"),
        ColumnOf("positive from", "value", ColumnKind.NUMBER, "threshold"),
        ColumnOf("share positive", "share", ColumnKind.PERCENT, "share"),
        ColumnOf("share wanted", "wanted", ColumnKind.PERCENT, "wanted_share"),
    ]
    return table_of("thresholds", result.thresholds, columns, title="Where the scores are cut")


def _pair_table(row: AmplificationRow, top: int | None = None) -> Table:
    """Return the pairs, those that amplify most first; with `top`, only so many of either end."""
    by_pair = row.by_pair
    places = [place for place in np.ndindex(by_pair.shape) if not np.isnan(by_pair[place])]
    places.sort(key=lambda place: -by_pair[place])
    which = "every pair"
    if top is not None and len(places) > 2 * top:
        places = [*places[:top], *places[-top:]]
        which = f"the {top} pairs that amplify most, and least"
    predicted, base, lean = row.predicted, row.base_rate, row.lean
    columns = (
        ColumnOf("attribute", lambda place: row.attributes[place[0]]),
        ColumnOf("task", lambda place: row.tasks[place[1]]),
        ColumnOf("predicted", lambda place: float(predicted[place]), ColumnKind.NUMBER),
        ColumnOf("base rate", lambda place: float(base[place]), ColumnKind.NUMBER),
        ColumnOf("lean", lambda place: float(lean[place]), ColumnKind.COUNT, essential=False),
        ColumnOf("amplification", lambda place: float(by_pair[place]), ColumnKind.SIGNED),
    )
    title = f"{row.direction.value}: {which}"
    return table_of(f"pairs_{row.direction.slug}", places, columns, title=title, detail=True)


def _sections(result: AmplificationResult, settings: AmplifySettings) -> list[Section]:
    rows = result.rows
    sections = [
        Section(
            f"Task by task, {row.direction}",
            (
                "Each ring is the share among the labels, each dot among the predictions. Orange: "
                "moved beyond the labels; blue: moved back.",
            ),
            figures=_share_figures(row),
        )
        for row in rows
        if row.unevenness is None and row.estimate.obstacle is None
    ]
    sections = [section for section in sections if section.figures]
    sections.append(Section("Verdict", tables=(_verdict_table(result),)))
    if len(rows[0].runs) > 1:
        table, figure = _run_table(result), _run_figure(result)
        sections.append(Section("Training runs", tables=(table,), figures=(figure,)))
    sections += [
        Section(f"Pairs, {row.direction}", tables=(_pair_table(row),), searchable=True)
        for row in rows
    ]
    if result.metrics:
        sections.append(Section("Other metrics", tables=(metric_table(result.metrics),)))
    if result.curves or result.thresholds:
        curves = (_curve_figure(result),) if result.curves else ()
        sections.append(Section("Thresholds", tables=(_threshold_table(result),), figures=curves))
    undefined = [
        Note(NoteKind.UNDEFINED, f"the mean leaves out {_undefined(row)} pairs", row.direction)
        for row in rows
        if row.undefined_pairs
    ]
    notes = (*result.notes, *(note for row in rows for note in row.notes), *undefined)
    command = ""
    if result.provenance.get("files", True):
        tables = result.provenance["tables"]
        words = [*settings.words(), *(["--runs"] if len(tables) > 1 else [])]
        command = command_line("amplify", tables, words)
    return [*sections, *closing_sections(notes, command=command)]


def _share_figures(row: AmplificationRow) -> tuple[Figure, ...]:
    """Return the share of each task or group among labels and predictions."""
    moves = replace(moves_of(row), tasks=_short(row.tasks))
    return share_figures(moves, f"tasks_{row.direction.slug}", ("the labels", "the predictions"))


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
        x, y = curve.share.tolist(), curve.value.tolist()
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
