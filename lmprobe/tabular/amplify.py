"""`amplify`: the amplification of predictions in a table.

The rows are counted, scores are turned into predictions, the labels of all tables are united,
and the counts give the values and their intervals.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.errors import Argument, DataFileError, InputError, invalid
from lmprobe.io.tables import LackingRows, TableSource
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.direction import MissingCells
from lmprobe.metrics.metric import row_metric
from lmprobe.metrics.thresholds import Threshold
from lmprobe.registry import versions
from lmprobe.results import Note, NoteKind
from lmprobe.results.codec import to_json
from lmprobe.results.metric_values import MetricValue
from lmprobe.results.settings import from_mapping
from lmprobe.stats.row_sums import RowSums
from lmprobe.stats.rows import with_left_out
from lmprobe.tabular.counting import (
    RowCounts,
    calibrated,
    common_labels,
    count_rows,
    curves,
    holds_unit_numbers,
)
from lmprobe.tabular.engine import Plan, count_lines
from lmprobe.tabular.result import AmplificationResult, TaskThreshold, ThresholdCurve
from lmprobe.tabular.rows import label_association, measured_rows
from lmprobe.tabular.settings import (
    AmplifySettings,
    Columns,
    Layout,
    RowInterval,
    TableEngine,
    expanded,
    expanded_like,
)

Names = str | Sequence[str] | None
"""One column or several."""

_SEVERAL = ("attribute", "task", "task_prediction", "attribute_prediction", "score", "metrics")


def amplify(
    table: Any,
    *,
    attribute: Names,
    task: Names,
    task_prediction: Names = None,
    attribute_prediction: Names = None,
    score: Names = None,
    threshold: str | float | None = None,
    validation: Any = None,
    train: Any = None,
    weight: str | None = None,
    train_weight: str | None = None,
    runs: bool | Sequence[Any] | None = None,
    run_column: str | None = None,
    cluster: str | None = None,
    keep_unseen: bool = AmplifySettings.keep_unseen,
    missing_cells: MissingCells = AmplifySettings.missing_cells,
    metrics: Names = AmplifySettings.metrics,
    interval: RowInterval | None = AmplifySettings.interval,
    confidence: float = AmplifySettings.confidence,
    seed: int = AmplifySettings.seed,
    engine: TableEngine = AmplifySettings.engine,
    progress: Progress = silent,
) -> AmplificationResult:
    """Measure how much the predictions in a table exaggerate the link between group and task.

    Parameters
    ----------
    table
        A CSV, Parquet or JSON Lines file of any size (.gz and .zst too), a folder or a pattern
        of such files, a DataFrame or an Arrow table. With `runs=True`, a list of these.
    attribute, task
        Columns of labels. Several attributes are crossed; each of several 0/1 columns is a task.
    task_prediction, attribute_prediction, score
        Columns of predictions, one per label; scores are turned into predictions of the task.
    threshold, validation
        The threshold of the scores: `calibrated` (as many rows are predicted positive as are
        labelled positive, in `validation` if given), a number, or `all` for every threshold.
    train
        The table whose labels determine the lean; by default the table itself.
    runs, run_column
        Several training runs of one model: `runs=True` if `table` is a list of tables, one per
        run, or the tables of further runs; or the column that names the run.
    cluster
        Column that names the cluster of a row; clusters are resampled as a whole.
    keep_unseen
        Count pairs whose label never occurs as 0, as the published code does.
    missing_cells
        `error`, or `drop`: leave out the rows that lack a value in a column that is used.
    metrics
        Other metrics to compute too, such as `predictability`; see `lmprobe ls metrics`.
    interval
        `bootstrap`, or None for the value alone.
    engine
        `local`, or `ray`: file by file on a cluster, for very large tables.
    """
    choices = dict(locals())
    choices |= {name: _columns(choices[name]) for name in _SEVERAL}
    choices |= {"train": _name(train), "validation": _name(validation)}
    choices["threshold"] = None if threshold is None else str(threshold)
    choices["interval"] = "none" if interval is None else interval
    settings = from_mapping(AmplifySettings, choices)
    with ExitStack() as stack:
        sources = tuple(stack.enter_context(TableSource(part)) for part in _tables(table, runs))
        train, validation = (
            None if other is None else stack.enter_context(TableSource(other))
            for other in (train, validation)
        )
        columns = _resolved_columns(settings, sources)
        tables = _OpenTables(settings, columns, sources, train, validation, progress)
        left_out = tables.leave_out_missing() if settings.missing_cells == "drop" else ()
        return with_left_out(tables.measure(), left_out)


def _tables(table: Any, runs: bool | Sequence[Any] | None) -> list[Any]:
    """Return the tables to measure, one per training run."""
    tables = list(table) if isinstance(table, list | tuple) else [table]
    if isinstance(runs, list | tuple):
        return [*tables, *runs]
    if len(tables) > 1 and not runs:
        raise InputError(
            f"{len(tables)} tables: several are training runs of one model (",
            Argument("runs", True),
            "); name a folder or a pattern for the parts of one table",
        )
    if not tables:
        raise InputError("no table was given")
    return tables


def _columns(names: Names) -> tuple[str, ...]:
    if names is None:
        return ()
    if not isinstance(names, Iterable):
        raise InputError(f"a column is chosen by its name: found {names!r}")
    return (names,) if isinstance(names, str) else tuple(names)


def _name(table: Any) -> str | None:
    """Return the name of a table in the provenance."""
    if table is None:
        return None
    return str(table) if isinstance(table, str | Path) else "a table in memory"


def _resolved_columns(settings: AmplifySettings, sources: tuple[TableSource, ...]) -> Columns:
    """Return the columns that the settings name, patterns expanded."""
    names = sources[0].columns
    columns = Columns(
        expanded(settings.attribute, names),
        expanded(settings.task, names),
        expanded_like(settings.attribute_prediction, settings.attribute, names),
        expanded_like(settings.task_prediction, settings.task, names),
        expanded_like(settings.score, settings.task, names),
        settings.weight,
        settings.cluster,
        settings.run_column,
    )
    if columns.score and columns.run and settings.fixed_threshold is None:
        raise InputError(
            "each run needs its own threshold: give one table per run (--runs), or a value"
        )
    if columns.run and len(sources) > 1:
        raise InputError("give --run-column or several tables with --runs, not both")
    if settings.metrics and (columns.run or len(sources) > 1):
        raise invalid("metrics", " is for one run; give one table")
    if settings.threshold == "all" and len(sources) > 1:
        raise InputError(
            Argument("threshold", "all"), " is for one run; several would be cut alike"
        )
    return columns


@dataclass(frozen=True, slots=True, eq=False)
class _CountedTable:
    source: TableSource
    counts: RowCounts
    thresholds: tuple[Threshold, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _OpenTables:
    """The tables of one measurement: one per training run, and those that it refers to."""

    settings: AmplifySettings
    columns: Columns
    sources: tuple[TableSource, ...]
    train: TableSource | None
    validation: TableSource | None
    progress: Progress

    def leave_out_missing(self) -> list[LackingRows | None]:
        """Leave out the rows that lack a value of a column that is read."""
        several = len(self.columns.task) > 1
        read = [(source, Layout(self.columns, several)) for source in self.sources]
        if self.train is not None:
            own = self.columns.labels(self.settings.train_weight)
            read.append((self.train, Layout(own, several)))
        left_out = [source.leave_out_missing(of.labels, of.measured) for source, of in read]
        if self.validation is not None:
            scores = [*self.columns.score, *filter(None, [self.columns.weight])]
            left_out.append(self.validation.leave_out_missing([], scores))
        return left_out

    def measure(self) -> AmplificationResult:
        settings, columns = self.settings, self.columns
        layout = Layout(columns, self._is_binary(head=True))
        try:
            train, tables = self._count(layout)
        except DataFileError:
            # The first rows may have held 0 and 1 where later ones hold other classes.
            if not layout.binary or self._is_binary(head=False):
                raise
            layout = replace(layout, binary=False)
            train, tables = self._count(layout)
        counts = [table.counts for table in tables]
        labels = common_labels(
            columns, counts, train, binary=layout.binary, train_name=settings.train
        )
        train_sums = None if train is None else train.row_sums(*labels)
        runs = [(name, rows.row_sums(*labels)) for name, rows in self._runs(tables)]
        rows, notes = measured_rows(runs, train_sums, settings)
        return AmplificationResult(
            rows=rows,
            rows_read=sum(table.rows for table in counts),
            thresholds=tuple(
                TaskThreshold(task=task, **asdict(cut))
                for table in tables
                for task, cut in zip(columns.task, table.thresholds, strict=False)
            ),
            curves=self._curves(tables[0], runs[0][1], train_sums),
            metrics=_other_values(settings.metrics, counts[0], train, columns.task)
            if settings.metrics
            else (),
            notes=(*_tied(columns, tables), *notes),
            provenance=self._provenance(),
        )

    def _is_binary(self, *, head: bool) -> bool:
        """Tell whether tasks are 0/1 or probabilities; one column may hold categories."""
        labelled = (*self.sources, *([] if self.train is None else [self.train]))
        return len(self.columns.task) > 1 or all(
            holds_unit_numbers(source, self.columns, head=head) for source in labelled
        )

    def _count(self, layout: Layout) -> tuple[RowCounts | None, tuple[_CountedTable, ...]]:
        train = None
        if self.train is not None:
            train = self._label_counts(self.train, layout, self.settings.train_weight)
        units = self.settings.interval != "none" or bool(self.settings.metrics)
        tables = []
        for number, source in enumerate(self.sources, start=1):
            thresholds = self._thresholds(source, layout, train)
            cut = replace(layout, thresholds=tuple(threshold.value for threshold in thresholds))
            tables.append(_CountedTable(source, self._counts(source, cut, units=units), thresholds))
            self.progress(number, len(self.sources))
        return train, tuple(tables)

    def _label_counts(self, source: TableSource, layout: Layout, weight: str | None) -> RowCounts:
        labels = Layout(layout.columns.labels(weight), layout.binary)
        return self._counts(source, labels, units=bool(self.settings.metrics))

    def _counts(self, source: TableSource, layout: Layout, *, units: bool) -> RowCounts:
        run = Plan.run if self.settings.engine == "local" else Plan.run_on_ray
        lines = count_lines(source, layout, units=units, run=run)
        return count_rows(lines, layout, source.name)

    def _thresholds(
        self, source: TableSource, layout: Layout, train: RowCounts | None
    ) -> tuple[Threshold, ...]:
        """Choose one per score column: the share of positives is that of the train labels."""
        columns, fixed = layout.columns, self.settings.fixed_threshold
        if not columns.score:
            return ()
        if fixed is None and not layout.binary:
            # `common_labels` will say which labels are not 0 and 1.
            fixed = 0.0
        if fixed is not None:
            return (Threshold.fixed(fixed),) * len(columns.score)
        labelled = train or self._label_counts(source, layout, columns.weight)
        return calibrated(self.validation or source, columns, labelled.task_shares())

    def _runs(self, tables: tuple[_CountedTable, ...]) -> list[tuple[str, RowCounts]]:
        """Return the counts of each run under its name; without runs, of the one table."""
        if self.settings.run_column is not None:
            return tables[0].counts.by_run()
        return [
            (table.source.name if table.source.files else f"run {number}", table.counts)
            for number, table in enumerate(tables, start=1)
        ]

    def _curves(
        self, table: _CountedTable, sums: RowSums, train: RowSums | None
    ) -> tuple[ThresholdCurve, ...]:
        if self.settings.threshold != "all":
            return ()
        labels = label_association(sums)
        lean = labels if train is None else label_association(train)
        keep_unseen = self.settings.keep_unseen
        by_task = curves(table.source, self.columns, labels, lean, keep_unseen=keep_unseen)
        return tuple(map(ThresholdCurve.of, by_task, table.thresholds))

    def _provenance(self) -> dict[str, Any]:
        sources = (*self.sources, self.train, self.validation)
        return {
            "tables": [source.name for source in self.sources],
            "files": all(source is None or source.files is not None for source in sources),
            "settings": self.settings.to_dict(),
            "versions": versions(("duckdb", "numpy", "pandas", "scipy")),
            "seed": self.settings.seed,
        }


def _tied(columns: Columns, tables: tuple[_CountedTable, ...]) -> list[Note]:
    return [
        Note(
            NoteKind.THRESHOLD,
            f"{column}: tied scores let {cut.share:.4f} be positive where {cut.wanted:.4f} are "
            "wanted",
        )
        for table in tables
        for column, cut in zip(columns.score, table.thresholds, strict=True)
        if cut.tied
    ]


def _other_values(
    names: Sequence[str], table: RowCounts, train: RowCounts | None, tasks: Sequence[str]
) -> tuple[MetricValue, ...]:
    """Return the values of the metrics of these names, from the kinds of rows and their numbers."""
    if table.added or (train is not None and train.added):
        raise invalid(
            "metrics",
            " needs a table with few kinds of rows: no probabilities as predictions, no "
            "clusters and at most 100,000 different rows",
        )
    options: dict[str, Any] = {
        "attribute_predictions": table.group_guesses,
        "task_predictions": _task_labels(table.task_guesses, table, tasks),
        "sample_weight": table.weight * table.times,
    }
    leaning: dict[str, Any] = {}
    if train is not None:
        leaning = {
            "train_attribute_labels": train.groups,
            "train_task_labels": _task_labels(train.tasks, train, tasks),
            "train_sample_weight": train.weight * train.times,
        }
    groups, truth = table.groups, _task_labels(table.tasks, table, tasks)
    values: list[MetricValue] = []
    for name in names:
        metric = row_metric(name)
        takes_train = "train_attribute_labels" in inspect.signature(metric).parameters
        train_options = leaning if takes_train else {}
        try:
            measured = metric(groups, truth, **options, **train_options).values
        except InputError as problem:
            raise InputError(f"{name}: ", problem) from problem
        values += [MetricValue(name, where, to_json(value)) for where, value in measured.items()]
    return tuple(values)


def _task_labels(values: Any, table: RowCounts, names: Sequence[str]) -> Any:
    """Return the labels of the tasks as a metric takes them: categories, or 0/1 by column."""
    import pandas as pd

    if values is None or values.ndim == 1:
        return values
    weight = np.where(table.weight > 0, table.weight, 1.0)
    return pd.DataFrame(values / weight[:, None], columns=list(names))
