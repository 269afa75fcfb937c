"""The leakage of a table of labels and predictions, in one file or in one per training run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.resources import versions
from lmprobe.io.tables import read_columns, refuse_missing, refuse_words
from lmprobe.io.work import Progress, silent
from lmprobe.leakage.attackers import Attacker, find_attacker
from lmprobe.leakage.measure import measure_leakage
from lmprobe.leakage.result import LeakageResult, mean_row
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.results.settings import command_line
from lmprobe.stats.verdicts import runs_note

if TYPE_CHECKING:
    import pandas as pd


def table_leakage(
    table: Any,
    *more_runs: Any,
    attribute: str,
    labels: Sequence[str] = (),
    predictions: Sequence[str] = (),
    split: str | None = None,
    run_column: str | None = None,
    settings: LeakageSettings | None = None,
    progress: Progress = silent,
) -> LeakageResult:
    """Measure the leakage of the columns of a table: files, a DataFrame or an Arrow table.

    With `labels` alone it is the dataset's leakage, with `predictions` alone the model's, with
    both the leakage amplification too. Several tables, or the values of `run_column`, are
    several training runs: the answer is then the mean over runs, with an interval that covers
    rounds, test rows and runs.
    """
    settings = LeakageSettings() if settings is None else settings
    _refuse_without_effect(settings, labels, predictions)
    if run_column is not None and more_runs:
        raise InputError("give --run-column or several tables, not both")
    tables = (table, *more_runs)
    words = [attribute, *(name for name in (split, run_column) if name)]
    runs: list[tuple[str, pd.DataFrame]] = []
    for number, given in enumerate(tables, start=1):
        name = f"table {number}" if more_runs else "the table"
        name = str(given) if isinstance(given, str | Path) else name
        frame = read_columns(given, [*labels, *predictions, *words], text=words)
        refuse_missing(frame, name)
        if len(labels) > 1:
            _refuse_labels(frame, labels, name)
        if len(predictions) > 1:
            refuse_words(frame, predictions, name, "numbers (scores, logits or 0/1)")
        if run_column is None:
            runs.append((name, frame))
        else:
            parts = frame.groupby(run_column, sort=True)
            runs += [(f'{name}, run "{run}"', part) for run, part in parts]

    def measure(frame: pd.DataFrame) -> LeakageResult:
        options = settings.to_dict() | {"attacker": _attacker(settings), "progress": progress}
        del options["layers"], options["width"]
        given: dict[str, Any] = {"split": None if split is None else frame[split]}
        if labels:
            given["labels"] = frame[list(labels) if len(labels) > 1 else labels[0]]
        if predictions:
            # They go by position: their columns cannot be called like the labels'.
            scores = frame[list(predictions) if len(predictions) > 1 else predictions[0]]
            given["predictions"] = scores.to_numpy()
        return measure_leakage(attribute=frame[attribute], **given, **options)

    results = _each_run(runs, measure)
    result = results[0] if len(results) == 1 else _over_runs(results)
    subjects = [str(given) if isinstance(given, str | Path) else "a table" for given in tables]
    provenance: dict[str, Any] = {
        "subject": ", ".join(subjects),
        "attribute": attribute,
        "labels": list(labels),
        "predictions": list(predictions),
        "split": split,
        "run_column": run_column,
        "settings": settings.to_dict(),
        "versions": versions(),
    }
    if all(isinstance(given, str | Path) for given in tables):
        columns = [f"--attribute={attribute}", *(["--split", split] if split else [])]
        columns += ["--run-column", run_column] if run_column else []
        columns += [word for name in labels for word in ("--labels", name)]
        columns += [word for name in predictions for word in ("--predictions", name)]
        provenance["command"] = command_line("leak", subjects, columns, settings.words())
    return dataclasses.replace(result, provenance=provenance)


def _refuse_without_effect(
    settings: LeakageSettings, labels: Sequence[str], predictions: Sequence[str]
) -> None:
    if isinstance(labels, str) or isinstance(predictions, str):
        raise InputError('`labels` and `predictions` are lists of columns such as ["verb"]')
    if not labels and not predictions:
        raise InputError("a table needs `labels`, `predictions` or both")
    if settings.at is not None and not labels:
        raise InputError("`at` perturbs labels and needs `labels`")
    if settings.threshold is not None and not (labels and predictions):
        raise InputError("`threshold` decides an F1 and needs both `labels` and `predictions`")


def _refuse_labels(frame: pd.DataFrame, labels: Sequence[str], name: str) -> None:
    for column in labels:
        wrong = ~frame[column].isin((0, 1)).to_numpy()
        if wrong.any():
            row = int(wrong.argmax())
            raise DataFileError(
                f'{name}: the column "{column}" must be 0 or 1: found {frame[column].iloc[row]!r} '
                f"in row {row + 1}; one column of labels may hold categories"
            )


def _attacker(settings: LeakageSettings) -> Attacker:
    """Return the attacker, with the layers and the width of the settings."""
    attacker = find_attacker(settings.attacker)
    for name in ("layers", "width"):
        size = getattr(settings, name)
        if size is None:
            continue
        if name not in getattr(attacker, "__dataclass_fields__", {}):
            raise InputError(f'the attacker "{settings.attacker}" has no `{name}`; use mlp')
        attacker = dataclasses.replace(attacker, **{name: size})  # type: ignore[type-var]
    return attacker


def _each_run(
    runs: Sequence[tuple[str, pd.DataFrame]], measure: Callable[[pd.DataFrame], LeakageResult]
) -> list[LeakageResult]:
    """Return the leakage of each training run; an error says in which it is."""
    results: list[LeakageResult] = []
    for name, frame in runs:
        try:
            results.append(measure(frame))
        except InputError as problem:
            if len(runs) == 1:
                raise
            raise InputError(f"{name}: {problem}") from problem
        groups, first = (", ".join(result.groups) for result in (results[-1], results[0]))
        if groups != first:
            raise InputError(
                f"{name}: the groups are {groups}, in {runs[0][0]} they are {first}; all training "
                "runs must have the same groups"
            )
    return results


def _over_runs(results: Sequence[LeakageResult]) -> LeakageResult:
    """Return the mean over training runs of every row."""
    first = results[0]
    rows = [
        mean_row(of_runs, first.chance)
        for of_runs in zip(*(result.rows for result in results), strict=True)
    ]
    notes = (*first.notes, runs_note(len(results), "rows"))
    return LeakageResult(tuple(rows), first.groups, notes)
