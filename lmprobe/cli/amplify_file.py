"""Counts a table file for `lmprobe amplify`, chunk by chunk.

The metric needs only weighted sums, so a file larger than memory takes two passes: one
that finds the categories, one that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lmprobe.association import Association
from lmprobe.errors import DataFileError, InputError
from lmprobe.labels import Axis, Indicators, cross, indicators
from lmprobe.metrics.directional import Tallies, tallies
from lmprobe.metrics.thresholds import Threshold, calibrated_threshold
from lmprobe.tables import read_chunks
from lmprobe.tally import Floats

_YES_NO = {"0", "1", "true", "false"}
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
    names = tuple(sorted(attributes))
    # No kinds were collected where there are several task columns: each is one task.
    if {kind.lower() for kind in kinds} <= _YES_NO:
        return Layout(names, columns.task, binary=True)
    if columns.score:
        raise InputError(
            f'--score needs tasks of 0 and 1; the column "{columns.task[0]}" holds '
            f"{', '.join(sorted(kinds)[:5])}"
        )
    kinds = kinds | categories(path, [columns.task_prediction])[0]
    return Layout(names, tuple(sorted(kinds)), binary=False)


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


def count(
    path: Path, columns: Columns, layout: Layout, thresholds: Sequence[float] = ()
) -> Tallies:
    """Count the file; scores of at least their threshold are predictions."""
    text = [*columns.attribute, *columns.attribute_prediction]
    if not layout.binary:
        text += [*columns.task, *columns.task_prediction]
    numbers = (*columns.task, *columns.task_prediction, *columns.score)
    weights = () if columns.weight is None else (columns.weight,)
    total: Tallies | None = None
    for frame in _chunks(path, (*text, *numbers, *weights), text):
        groups = Axis(
            _group_indicators(frame, columns.attribute, layout),
            _group_indicators(frame, columns.attribute_prediction, layout)
            if columns.attribute_prediction
            else None,
            train=None,
        )
        tasks = Axis(
            _task_indicators(frame, columns.task, layout),
            _predicted_tasks(frame, columns, layout, thresholds),
            train=None,
        )
        part = tallies(groups, tasks, _weight(frame, columns.weight, path))
        total = part if total is None else total + part
    assert total is not None
    return total


def world_of(path: Path, columns: Columns, layout: Layout, weight: str | None) -> Association:
    """Count the labels of a train file."""
    labels = replace(
        columns, attribute_prediction=(), task_prediction=columns.task, score=(), weight=weight
    )
    sums = count(path, labels, layout).labels
    return Association.from_tally(sums, layout.attributes, layout.tasks)


def calibrated(
    path: Path, columns: Columns, layout: Layout, shares: Floats
) -> tuple[Threshold, ...]:
    """Choose the threshold of each score column that predicts the share of its task positive.

    Only the scores (and weights) are held in memory.
    """
    weights = () if columns.weight is None else (columns.weight,)
    parts = [
        (frame[list(columns.score)].to_numpy(), _weight(frame, columns.weight, path))
        for frame in _chunks(path, (*columns.score, *weights), ())
    ]
    scores = np.concatenate([part[0] for part in parts])
    weight = None if columns.weight is None else np.concatenate([part[1] for part in parts])
    return tuple(
        calibrated_threshold(scores[:, number], float(share), sample_weight=weight)
        for number, share in enumerate(shares)
    )


def _predicted_tasks(
    frame: pd.DataFrame, columns: Columns, layout: Layout, thresholds: Sequence[float]
) -> Indicators | None:
    if columns.score:
        above = frame[list(columns.score)].to_numpy() >= np.asarray(thresholds)
        return Indicators(above, layout.tasks)
    if columns.task_prediction:
        return _task_indicators(frame, columns.task_prediction, layout)
    return None


def _group_indicators(frame: pd.DataFrame, group: tuple[str, ...], layout: Layout) -> Indicators:
    return indicators(_crossed(frame, group), role=" & ".join(group), names=layout.attributes)


def _task_indicators(frame: pd.DataFrame, group: tuple[str, ...], layout: Layout) -> Indicators:
    if layout.binary:
        read = indicators(frame[list(group)], role=", ".join(group))
        return Indicators(read.values, layout.tasks)
    return indicators(_crossed(frame, group), role=group[0], names=layout.tasks)


def _crossed(frame: pd.DataFrame, group: tuple[str, ...]) -> NDArray[Any]:
    """Return one column of categories; 1.0, as a float column writes it, is the category 1."""
    plain = {name: frame[name].str.replace(_WHOLE, r"\1", regex=True) for name in group}
    return cross(plain).astype(object)


def _weight(frame: pd.DataFrame, column: str | None, path: Path) -> Floats | None:
    if column is None:
        return None
    values = frame[column].to_numpy()
    if values.dtype.kind not in "biuf" or not (values >= 0).all():
        raise DataFileError(f'{path}: the weights "{column}" must be numbers that are not negative')
    return values.astype(np.float64)


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
