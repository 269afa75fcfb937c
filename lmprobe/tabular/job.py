"""One measurement of tables, step by step: count, cut scores, agree on labels, measure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.resources import versions
from lmprobe.io.tables import TableSource
from lmprobe.io.work import Progress
from lmprobe.metrics.association import Association
from lmprobe.metrics.thresholds import Threshold
from lmprobe.results import Note, NoteKind
from lmprobe.stats.row_sums import RowSums
from lmprobe.tabular.columns import Columns, Layout, expanded, expanded_like
from lmprobe.tabular.counting import Counted, common_labels, counted, holds_unit_numbers
from lmprobe.tabular.cuts import ThresholdCurve, calibrated, curves
from lmprobe.tabular.engine import Pass, count_lines, run_here
from lmprobe.tabular.other_metrics import other_values
from lmprobe.tabular.result import AmplificationResult
from lmprobe.tabular.rows import measured_rows
from lmprobe.tabular.settings import AmplifySettings


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """A table that was counted, and the cuts of its scores."""

    source: TableSource
    counted: Counted
    thresholds: tuple[Threshold, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """The open tables and what is asked of them."""

    settings: AmplifySettings
    sources: tuple[TableSource, ...]
    train: TableSource | None
    validation: TableSource | None
    progress: Progress

    def run(self) -> AmplificationResult:
        """Measure everything."""
        settings, columns = self.settings, self._columns
        layout = Layout(columns, self._is_binary(head=True))
        try:
            train, tables = self._count(layout)
        except DataFileError:
            # The first rows may have held 0 and 1 where later ones hold other classes.
            if not layout.binary or self._is_binary(head=False):
                raise
            layout = replace(layout, binary=False)
            train, tables = self._count(layout)
        labels = common_labels(
            columns,
            [table.counted for table in tables],
            train,
            binary=layout.binary,
            train_name=settings.train,
        )
        leaning = None if train is None else train.row_sums(*labels)
        measured = self._measurements(tables, *labels)
        rows, notes = measured_rows(measured, leaning, settings)
        return AmplificationResult(
            rows=rows,
            rows_read=sum(table.counted.rows for table in tables),
            thresholds=tuple(
                (task, cut)
                for table in tables
                for task, cut in zip(columns.task, table.thresholds, strict=False)
            ),
            curves=self._curves(tables[0], measured[0][1], leaning),
            metrics=other_values(settings.metrics, tables[0].counted, train, columns.task),
            notes=(*_tied(columns, tables), *notes),
            provenance=self._provenance(),
        )

    @property
    def _columns(self) -> Columns:
        chosen, known = self.settings, self.sources[0].columns
        columns = Columns(
            expanded(chosen.attribute, known),
            expanded(chosen.task, known),
            expanded_like(chosen.attribute_prediction, chosen.attribute, known),
            expanded_like(chosen.task_prediction, chosen.task, known),
            expanded_like(chosen.score, chosen.task, known),
            chosen.weight,
            chosen.cluster,
            chosen.run_column,
        )
        if columns.score and columns.run and chosen.fixed_threshold is None:
            raise InputError(
                "each run needs its own threshold: give one table per run (--runs), or a value"
            )
        if columns.run and len(self.sources) > 1:
            raise InputError("give --run-column or several tables with --runs, not both")
        if chosen.metrics and (columns.run or len(self.sources) > 1):
            raise InputError("--metric is for one run; give one table")
        if chosen.threshold == "all" and len(self.sources) > 1:
            raise InputError("--threshold all is for one run; several would be cut alike")
        return columns

    @property
    def _pass(self) -> Pass:
        if self.settings.engine == "local":
            return run_here
        from lmprobe.tabular.cluster_engine import run_on_ray

        return run_on_ray

    def _is_binary(self, *, head: bool) -> bool:
        """Tell whether tasks are 0/1 or probabilities; one column may hold categories."""
        columns = self._columns
        labelled = (*self.sources, *([] if self.train is None else [self.train]))
        return len(columns.task) > 1 or all(
            holds_unit_numbers(source, columns, head=head) for source in labelled
        )

    def _count(self, layout: Layout) -> tuple[Counted | None, tuple[_Table, ...]]:
        train = None
        if self.train is not None:
            train = self._labels(self.train, layout, self.settings.train_weight)
        units = self.settings.interval != "none" or bool(self.settings.metrics)
        tables = []
        for number, source in enumerate(self.sources, start=1):
            thresholds = self._thresholds(source, layout, train)
            read = replace(layout, thresholds=tuple(cut.value for cut in thresholds))
            lines = count_lines(source, read, units=units, run=self._pass)
            tables.append(_Table(source, counted(lines, read, source.name), thresholds))
            self.progress(number, len(self.sources))
        return train, tuple(tables)

    def _labels(self, source: TableSource, layout: Layout, weight: str | None) -> Counted:
        """Count the labels alone."""
        read = Layout(layout.columns.labels(weight), layout.binary)
        lines = count_lines(source, read, units=bool(self.settings.metrics), run=self._pass)
        return counted(lines, read, source.name)

    def _thresholds(
        self, source: TableSource, layout: Layout, train: Counted | None
    ) -> tuple[Threshold, ...]:
        """Choose one per score column: the share of positives is that of the train labels."""
        columns, fixed = layout.columns, self.settings.fixed_threshold
        if not columns.score:
            return ()
        if fixed is not None:
            return (Threshold.fixed(fixed),) * len(columns.score)
        if not layout.binary:
            # `common_labels` will say which labels are not 0 and 1.
            return (Threshold.fixed(0.0),) * len(columns.score)
        labelled = train or self._labels(source, layout, columns.weight)
        return calibrated(self.validation or source, columns, labelled.task_shares())

    def _measurements(
        self, tables: tuple[_Table, ...], attributes: tuple[str, ...], tasks: tuple[str, ...]
    ) -> list[tuple[str, RowSums]]:
        """Return what was counted of each run; without runs, of the one table."""
        names = [
            table.source.name if table.source.files else f"run {number}"
            for number, table in enumerate(tables, start=1)
        ]
        runs = [(name, table.counted) for name, table in zip(names, tables, strict=True)]
        if self.settings.run_column is not None:
            every = tables[0].counted
            assert every.runs is not None
            runs = [(run, every.of_run(run)) for run in sorted(set(every.runs))]
        return [(run, rows.row_sums(attributes, tasks)) for run, rows in runs]

    def _curves(
        self, table: _Table, sums: RowSums, leaning: RowSums | None
    ) -> tuple[ThresholdCurve, ...]:
        if self.settings.threshold != "all":
            return ()
        world = _world(sums)
        lean = world if leaning is None else _world(leaning)
        keep_unseen = self.settings.keep_unseen
        every = curves(table.source, self._columns, world, lean, keep_unseen=keep_unseen)
        return tuple(map(ThresholdCurve.of, every, table.thresholds))

    def _provenance(self) -> dict[str, Any]:
        return {
            "tables": [source.name for source in self.sources],
            "files": all(
                source is None or source.files is not None
                for source in (*self.sources, self.train, self.validation)
            ),
            "settings": self.settings.to_dict(),
            "versions": versions(("duckdb", "numpy", "pandas", "scipy")),
            "seed": self.settings.seed,
        }


def _world(sums: RowSums) -> Association:
    return Association.from_tally(sums.tallies().labels, sums.attributes, sums.tasks)


def _tied(columns: Columns, tables: tuple[_Table, ...]) -> list[Note]:
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
