"""`amplify`: the amplification of predictions in a table, as a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lmprobe.errors import InputError
from lmprobe.io.tables import TableSource
from lmprobe.io.work import Progress, silent
from lmprobe.tabular.job import Job
from lmprobe.tabular.result import AmplificationResult
from lmprobe.tabular.settings import AmplifySettings, RowInterval, TableEngine

Names = str | Sequence[str] | None
"""One column or several."""


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
    metrics
        Other metrics to compute too, such as `predictability`; see `lmprobe ls metrics`.
    interval
        `bootstrap`, or None for the value alone.
    engine
        `local`, or `ray`: file by file on a cluster, for very large tables.
    """
    settings = AmplifySettings(
        attribute=_columns(attribute),
        task=_columns(task),
        task_prediction=_columns(task_prediction),
        attribute_prediction=_columns(attribute_prediction),
        score=_columns(score),
        threshold=None if threshold is None else str(threshold),
        validation=_name(validation),
        train=_name(train),
        weight=weight,
        train_weight=train_weight,
        run_column=run_column,
        cluster=cluster,
        keep_unseen=keep_unseen,
        metrics=_columns(metrics),
        interval="none" if interval is None else interval,
        confidence=confidence,
        seed=seed,
        engine=engine,
    )
    return _measured(_tables(table, runs), settings, train, validation, progress)


def amplify_files(
    files: Sequence[Path], settings: AmplifySettings, *, runs: bool, progress: Progress = silent
) -> AmplificationResult:
    """Measure files as the command does: the settings name the other tables."""
    tables = _tables(list(files), runs)
    return _measured(tables, settings, settings.train, settings.validation, progress)


def _measured(
    tables: list[Any], settings: AmplifySettings, train: Any, validation: Any, progress: Progress
) -> AmplificationResult:
    with ExitStack() as stack:
        sources = tuple(stack.enter_context(TableSource(table)) for table in tables)
        train, validation = (
            None if table is None else stack.enter_context(TableSource(table))
            for table in (train, validation)
        )
        return Job(settings, sources, train, validation, progress).run()


def _tables(table: Any, runs: bool | Sequence[Any] | None) -> list[Any]:
    """Return the tables to measure, one per training run."""
    tables = list(table) if isinstance(table, list | tuple) else [table]
    if isinstance(runs, list | tuple):
        return [*tables, *runs]
    if len(tables) > 1 and not runs:
        raise InputError(
            f"{len(tables)} tables: several are training runs of one model (`runs=True`, --runs); "
            "name a folder or a pattern for the parts of one table"
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
    """Return how the provenance calls a table."""
    if table is None:
        return None
    return str(table) if isinstance(table, str | Path) else "a table in memory"
