"""Counts a table file for `lmprobe amplify`, chunk by chunk.

The metric needs only weighted sums, so a file larger than memory takes two passes: one
that finds the categories, one that counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lmprobe.errors import DataFileError, InputError
from lmprobe.labels import Axis, Indicators, cross, indicators
from lmprobe.metrics.directional import Tallies, tallies
from lmprobe.metrics.thresholds import Threshold, calibrated_threshold
from lmprobe.progress import Progress, silent
from lmprobe.tables import read_chunks
from lmprobe.tally import Floats

_YES_NO = {"0", "1", "true", "false"}
# Indicators held at most: beyond, a file is only counted, which needs no memory to speak of.
HELD = 20_000_000
_WHOLE = r"^(-?\d+)\.0+$"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of the file hold what; several attributes are crossed."""

    attribute: tuple[str, ...]
    task: tuple[str, ...]
    attribute_prediction: tuple[str, ...] = ()
    task_prediction: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        """Check that the predictions answer to the labels, column by column."""
        if self.score and self.task_prediction:
            raise InputError("give --score or --task-prediction, not both")
        if not (self.attribute_prediction or self.task_prediction or self.score):
            raise InputError("give --task-prediction, --score or --attribute-prediction")
        pairs = (
            ("--attribute-prediction", self.attribute_prediction, "--attribute", self.attribute),
            ("--task-prediction", self.task_prediction, "--task", self.task),
            ("--score", self.score, "--task", self.task),
        )
        for option, columns, other, labels in pairs:
            if columns and len(columns) != len(labels):
                raise InputError(
                    f"{option} names {len(columns)} columns and {other} {len(labels)}: "
                    "each label needs its own, in the same order"
                )


@dataclass(frozen=True, slots=True)
class Layout:
    """The labels of both axes, the same in every chunk and in the train file."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    binary: bool
    """Whether task columns hold 0/1 or probabilities; else the one column holds categories."""


def layout_of(path: Path, columns: Columns, train: Path | None) -> Layout:
    """Find the categories that the file and its train file hold together."""
    wanted = [columns.attribute, columns.task if len(columns.task) == 1 else ()]
    seen = categories(path, [*wanted, columns.attribute_prediction])
    attributes, kinds = seen[0] | seen[2], seen[1]
    if train is not None:
        more = categories(train, wanted)
        attributes, kinds = attributes | more[0], kinds | more[1]
    if min(len(seen[0]), len(seen[2])) > 1 and not seen[0] & seen[2]:
        raise InputError(
            f"no predicted group ({', '.join(sorted(seen[2])[:5])}) is one of the groups "
            f"({', '.join(sorted(seen[0])[:5])})"
        )
    names = tuple(sorted(attributes))
    # No kinds were collected where there are several task columns: each is one task.
    if {kind.lower() for kind in kinds} <= _YES_NO:
        return Layout(names, columns.task, binary=True)
    if columns.score:
        raise InputError(
            f'--score needs tasks of 0 and 1; the column "{columns.task[0]}" holds '
            f"{', '.join(sorted(kinds)[:5])}"
        )
    guessed = categories(path, [columns.task_prediction])[0]
    if len(guessed) > 1 and not guessed & kinds:
        raise InputError(
            f'no value of "{columns.task_prediction[0]}" ({", ".join(sorted(guessed)[:5])}) is '
            f'one of "{columns.task[0]}" ({", ".join(sorted(kinds)[:5])})'
        )
    return Layout(names, tuple(sorted(kinds | guessed)), binary=False)


def categories(path: Path, groups: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """Return the distinct values of each group of columns, crossed; an empty group has none."""
    found: list[set[str]] = [set() for _ in groups]
    text = tuple(dict.fromkeys(name for group in groups for name in group))
    if text:
        for frame in _chunks(path, text, text):
            for values, group in zip(found, groups, strict=True):
                if group:
                    values.update(pd.unique(_crossed(frame, group)))
    return found


Part = tuple[Axis, Axis, Floats | None]
"""The groups, the tasks and the weights of a chunk of rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The sums of a file, and its rows themselves where they are few enough to hold."""

    sums: Tallies
    rows: int
    kept: tuple[Part, ...] | None

    def column(self, axis: int, side: str) -> pd.DataFrame | None:
        """Return the rows of an axis (0 attribute, 1 task): `truth` or `predicted`."""
        parts = [getattr(part[axis], side) for part in self.kept or ()]
        if not parts or parts[0] is None:
            return None
        values = np.concatenate([part.values for part in parts])
        return pd.DataFrame(values, columns=list(parts[0].names))

    @property
    def weight(self) -> Floats | None:
        """The weights of the rows."""
        weights = [part[2] for part in self.kept or () if part[2] is not None]
        return np.concatenate(weights) if weights else None


def count(
    path: Path,
    columns: Columns,
    layout: Layout,
    thresholds: Sequence[float] = (),
    progress: Progress = silent,
    held: float | None = None,
) -> Counted:
    """Count the file; scores of at least their threshold are predictions.

    Rows are kept beside the sums up to `held` indicators, HELD if not told.
    """
    text = [*columns.attribute, *columns.attribute_prediction]
    if not layout.binary:
        text += [*columns.task, *columns.task_prediction]
    numbers = (*columns.task, *columns.task_prediction, *columns.score)
    weights = () if columns.weight is None else (columns.weight,)
    total: Tallies | None = None
    rows, size = 0, 0
    kept: list[Part] = []
    for frame in _chunks(path, (*text, *numbers, *weights), text):
        with _said_of(path, rows):
            groups = _groups(frame, columns, layout)
            tasks = _tasks(frame, columns, layout, thresholds, path)
            weight = _weight(frame, columns.weight, path)
        part = tallies(groups, tasks, weight)
        total = part if total is None else total + part
        rows += len(frame)
        size += 2 * len(frame) * (len(layout.attributes) + len(layout.tasks))
        if size > (HELD if held is None else held):
            kept = []
        else:
            kept.append((groups, tasks, weight))
        progress(rows, 0)
    assert total is not None
    return Counted(total, rows, tuple(kept) or None)


def count_train(
    path: Path, columns: Columns, layout: Layout, weight: str | None, held: float | None = None
) -> Counted:
    """Count the labels of a train file."""
    # The task stands in for a prediction, which a train file does not have.
    labels = Columns(columns.attribute, columns.task, task_prediction=columns.task, weight=weight)
    return count(path, labels, layout, held=held)


def calibrated(path: Path, columns: Columns, shares: Floats) -> tuple[Threshold, ...]:
    """Choose the threshold of each score column that predicts the share of its task positive.

    Only the scores (and weights) are held in memory.
    """
    weights = () if columns.weight is None else (columns.weight,)
    scores, amounts = [], []
    for frame in _chunks(path, (*columns.score, *weights), ()):
        scores.append(_scores(frame, columns, path))
        amount = _weight(frame, columns.weight, path)
        amounts.extend([] if amount is None else [amount])
    table = np.concatenate(scores)
    weight = np.concatenate(amounts) if amounts else None
    return tuple(
        calibrated_threshold(table[:, number], float(share), sample_weight=weight)
        for number, share in enumerate(shares)
    )


def scored(
    path: Path, columns: Columns, layout: Layout
) -> tuple[pd.DataFrame, pd.DataFrame, NDArray[Any], Floats | None]:
    """Return the rows themselves: groups, tasks, scores and weights, all held in memory."""
    counted = count(path, columns, layout, [0.0] * len(columns.score), held=math.inf)
    groups, tasks = counted.column(0, "truth"), counted.column(1, "truth")
    assert groups is not None
    assert tasks is not None
    scores = [_scores(frame, columns, path) for frame in _chunks(path, columns.score, ())]
    return groups, tasks, np.concatenate(scores), counted.weight


def _groups(frame: pd.DataFrame, columns: Columns, layout: Layout) -> Axis:
    def read(group: tuple[str, ...]) -> Indicators:
        return indicators(_crossed(frame, group), role=" & ".join(group), names=layout.attributes)

    guessed = columns.attribute_prediction
    return Axis(read(columns.attribute), read(guessed) if guessed else None, train=None)


def _tasks(
    frame: pd.DataFrame, columns: Columns, layout: Layout, thresholds: Sequence[float], path: Path
) -> Axis:
    def read(group: tuple[str, ...]) -> Indicators:
        if layout.binary:
            values = indicators(frame[list(group)], role=", ".join(group)).values
            # Whole numbers in [0, 1] need no eight bytes each.
            small = values if values.dtype.kind == "f" else values.astype(np.uint8)
            return Indicators(small, layout.tasks)
        return indicators(_crossed(frame, group), role=group[0], names=layout.tasks)

    predicted = read(columns.task_prediction) if columns.task_prediction else None
    if columns.score:
        above = _scores(frame, columns, path) >= np.asarray(thresholds)
        predicted = Indicators(above, layout.tasks)
    return Axis(read(columns.task), predicted, train=None)


def _crossed(frame: pd.DataFrame, group: tuple[str, ...]) -> NDArray[Any]:
    """Return one column of categories; 1.0, as a float column writes it, is the category 1."""
    plain = {name: frame[name].str.replace(_WHOLE, r"\1", regex=True) for name in group}
    return cross(plain).astype(object)


def _scores(frame: pd.DataFrame, columns: Columns, path: Path) -> Floats:
    for name in columns.score:
        if frame[name].to_numpy().dtype.kind not in "biuf":
            raise DataFileError(f'{path}: the scores "{name}" must be numbers')
    return frame[list(columns.score)].to_numpy(dtype=np.float64)


def _weight(frame: pd.DataFrame, column: str | None, path: Path) -> Floats | None:
    if column is None:
        return None
    values = frame[column].to_numpy()
    if values.dtype.kind not in "biuf" or not (values >= 0).all():
        raise DataFileError(f'{path}: the weights "{column}" must be numbers that are not negative')
    return values.astype(np.float64)


@contextmanager
def _said_of(path: Path, before: int) -> Iterator[None]:
    """Name the file, and where its chunk starts, in what is wrong with a chunk."""
    try:
        yield
    except InputError as problem:
        start = f" (row 0 is row {before} of the file)" if before else ""
        raise DataFileError(f"{path}: {problem}{start}") from None


def _chunks(path: Path, columns: Sequence[str], text: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield chunks without a missing value, and say in which row one is."""
    start = 0
    for frame in read_chunks(path, columns, text=text):
        missing = frame.isna()
        if missing.to_numpy().any():
            name = missing.any().idxmax()
            row = start + int(missing[name].to_numpy().argmax()) + 1
            raise DataFileError(
                f'{path}: the column "{name}" has no value in row {row}; remove or impute it'
            )
        yield frame
        start += len(frame)
