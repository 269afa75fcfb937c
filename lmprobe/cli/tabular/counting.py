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

from lmprobe.cli.tabular.columns import Columns, Layout, chunks, crossed
from lmprobe.errors import DataFileError, InputError
from lmprobe.labels import Axis, Indicators, indicators
from lmprobe.metrics.directional import Tallies, tallies
from lmprobe.metrics.thresholds import Threshold, calibrated_threshold
from lmprobe.progress import Progress, silent
from lmprobe.tables import ROWS
from lmprobe.tally import Floats

# Indicators made at a time, at most.
_CHUNK = 1 << 27
# Indicators held at most: beyond, a file is only counted, which needs no memory to speak of.
HELD = 20_000_000

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
    every = (*text, *numbers, *weights)
    step = max(1, min(ROWS, _CHUNK // (len(layout.attributes) + len(layout.tasks))))
    for frame in chunks(path, every, text, (*columns.score, *weights), step):
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
    every = (*columns.score, *weights)
    for frame in chunks(path, every, (), every):
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
    frames = chunks(path, columns.score, (), columns.score)
    scores = [_scores(frame, columns, path) for frame in frames]
    return groups, tasks, np.concatenate(scores), counted.weight


def _groups(frame: pd.DataFrame, columns: Columns, layout: Layout) -> Axis:
    def read(group: tuple[str, ...]) -> Indicators:
        return indicators(crossed(frame, group), role=" & ".join(group), names=layout.attributes)

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
        return indicators(crossed(frame, group), role=group[0], names=layout.tasks)

    predicted = read(columns.task_prediction) if columns.task_prediction else None
    if columns.score:
        above = _scores(frame, columns, path) >= np.asarray(thresholds)
        predicted = Indicators(above, layout.tasks)
    return Axis(read(columns.task), predicted, train=None)


def _scores(frame: pd.DataFrame, columns: Columns, path: Path) -> Floats:
    for name in columns.score:
        if frame[name].to_numpy().dtype.kind not in "biuf":
            raise DataFileError(f'{path}: the scores "{name}" must be numbers')
    return frame[list(columns.score)].to_numpy(dtype=np.float64)


def _weight(frame: pd.DataFrame, column: str | None, path: Path) -> Floats | None:
    if column is None:
        return None
    values = frame[column].to_numpy()
    if values.dtype.kind not in "biuf" or not ((values >= 0) & np.isfinite(values)).all():
        raise DataFileError(
            f'{path}: the weights "{column}" must be finite numbers that are not negative'
        )
    return values.astype(np.float64)


@contextmanager
def _said_of(path: Path, before: int) -> Iterator[None]:
    """Name the file, and where its chunk starts, in what is wrong with a chunk."""
    try:
        yield
    except InputError as problem:
        start = f" (row 0 is row {before} of the file)" if before else ""
        raise DataFileError(f"{path}: {problem}{start}") from None
