"""The leakage of a table of labels and predictions, in one file or in one per training run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.errors import DataFileError, InputError
from lmprobe.intervals.methods.t import interval_over_runs
from lmprobe.intervals.runs import mean_interval, runs_note
from lmprobe.io.progress import Progress, silent
from lmprobe.io.tables import read_columns, refuse_missing, refuse_words
from lmprobe.io.versions import versions
from lmprobe.leakage.attackers.attacker import Attacker, find_attacker
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
from lmprobe.leakage.result import LeakageResult
from lmprobe.leakage.row import LeakageRow, leakage_row
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.results.settings import command_line

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
    several training runs: the answer is then the mean over runs, with an interval over runs
    beside the one over rounds and test rows.
    """
    chosen = LeakageSettings() if settings is None else settings
    chosen.refuse_without_effect(labels, predictions)
    tables = (table, *more_runs)
    if run_column is not None and more_runs:
        raise InputError("give --run-column or several tables, not both")
    named = _Columns(attribute, tuple(labels), tuple(predictions), split, run_column)
    names = _names(tables)
    runs = [run for one, name in zip(tables, names, strict=True) for run in named.runs(one, name)]
    found = _each_run(runs, named, chosen, progress)
    result = found[0] if len(found) == 1 else _over_runs(found, chosen.confidence)
    in_memory = [not isinstance(one, str | Path) for one in tables]
    subjects = ["a table" if held else name for name, held in zip(names, in_memory, strict=True)]
    options = [f"--attribute={attribute}", *(["--split", split] if split else [])]
    options += ["--run-column", run_column] if run_column else []
    options += [word for name in labels for word in ("--labels", name)]
    options += [word for name in predictions for word in ("--predictions", name)]
    provenance = {
        "subject": ", ".join(subjects),
        "attribute": attribute,
        "labels": list(labels),
        "predictions": list(predictions),
        "split": split,
        "run_column": run_column,
        "settings": chosen.to_dict(),
        "versions": versions(),
    }
    if not any(in_memory):
        provenance["command"] = command_line("leak", subjects, options, chosen.words())
    return dataclasses.replace(result, provenance=provenance)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns hold what."""

    attribute: str
    labels: tuple[str, ...]
    predictions: tuple[str, ...]
    split: str | None
    run: str | None

    def runs(self, table: Any, name: str) -> list[tuple[str, pd.DataFrame]]:
        """Return a table's training runs, each with its name; without `run`, the whole table."""
        words = [self.attribute, *(name for name in (self.split, self.run) if name)]
        frame = read_columns(table, [*self.labels, *self.predictions, *words], text=words)
        refuse_missing(frame, name)
        if len(self.labels) > 1:
            self._refuse_labels(frame, name)
        if len(self.predictions) > 1:
            refuse_words(frame, self.predictions, name, "numbers (scores, logits or 0/1)")
        if self.run is None:
            return [(name, frame)]
        return [(f'{name}, run "{run}"', part) for run, part in frame.groupby(self.run, sort=True)]

    def _refuse_labels(self, frame: pd.DataFrame, name: str) -> None:
        for column in self.labels:
            wrong = ~frame[column].isin((0, 1)).to_numpy()
            if wrong.any():
                row = int(wrong.argmax())
                raise DataFileError(
                    f'{name}: the column "{column}" must be 0 or 1: found '
                    f"{frame[column].iloc[row]!r} in row {row + 1}; one column of labels may hold "
                    "categories"
                )


def _names(tables: Sequence[Any]) -> list[str]:
    """Return what error messages call the tables."""
    held = "the table" if len(tables) == 1 else "table {}"
    return [
        str(one) if isinstance(one, str | Path) else held.format(number)
        for number, one in enumerate(tables, start=1)
    ]


def _each_run(
    runs: Sequence[tuple[str, pd.DataFrame]],
    named: _Columns,
    settings: LeakageSettings,
    progress: Progress,
) -> list[LeakageResult]:
    """Return the leakage of each training run; an error says in which it is."""
    found: list[LeakageResult] = []
    for name, frame in runs:
        try:
            found.append(_one_run(frame, named, settings, progress))
        except InputError as problem:
            if len(runs) == 1:
                raise
            raise InputError(f"{name}: {problem}") from problem
        groups, first = (", ".join(one.groups) for one in (found[-1], found[0]))
        if groups != first:
            raise InputError(
                f"{name}: the groups are {groups}, in {runs[0][0]} they are {first}; all training "
                "runs must have the same groups"
            )
    return found


def _one_run(
    frame: pd.DataFrame, named: _Columns, settings: LeakageSettings, progress: Progress
) -> LeakageResult:
    labels, predictions, split = named.labels, named.predictions, named.split
    options: dict[str, Any] = {
        "split": None if split is None else frame[split],
        "attacker": _attacker(settings),
        "progress": progress,
        **{name: getattr(settings, name)
           for name in ("rounds", "share", "confidence", "seed", "device")},
    }  # fmt: skip
    group, truth, given = (
        frame[named.attribute],
        _columns(frame, labels),
        _columns(frame, predictions),
    )
    if given is None:
        return dataset_leakage(truth, group, at=settings.at, average=settings.average, **options)
    # Predictions go by position: their columns cannot be called like the labels'.
    given = given.to_numpy()
    if truth is None:
        return model_leakage(given, group, **options)
    return leakage_amplification(
        truth, given, group,
        at=settings.at, average=settings.average, threshold=settings.threshold, **options,
    )  # fmt: skip


def _columns(frame: Any, names: Sequence[str]) -> Any:
    """Return a column, a frame of several, or None."""
    if not names:
        return None
    return frame[list(names)] if len(names) > 1 else frame[names[0]]


def _attacker(settings: LeakageSettings) -> Attacker:
    """Return the attacker, with the size that was asked for where it has one."""
    attacker = find_attacker(settings.attacker)
    sizes = {name: getattr(settings, name) for name in ("layers", "width")}
    changed = {name: size for name, size in sizes.items() if size is not None}
    if not changed:
        return attacker
    known = getattr(attacker, "__dataclass_fields__", {})
    lacking = sorted(set(changed) - set(known))
    if lacking:
        raise InputError(f'the attacker "{settings.attacker}" has no `{lacking[0]}`; use mlp')
    resized: Attacker = dataclasses.replace(attacker, **changed)  # type: ignore[type-var]
    return resized


def _over_runs(results: Sequence[LeakageResult], confidence: float) -> LeakageResult:
    """Return the mean over training runs of every row, with both intervals."""
    first = results[0]
    rows: list[LeakageRow] = []
    for number, row in enumerate(first.rows):
        of_runs = [result.rows[number] for result in results]
        values = [one.value for one in of_runs]
        known = [one.f1 for one in of_runs if one.f1 is not None]
        rows.append(
            leakage_row(
                row.measure,
                float(np.mean(values)),
                mean_interval([one.interval for one in of_runs]),
                values,
                chance=first.chance,
                f1=float(np.mean(known)) if known else None,
                over_runs=interval_over_runs(values, confidence),
            )
        )
    notes = (*first.notes, runs_note(len(results), "rows"))
    return LeakageResult(tuple(rows), first.groups, notes)
