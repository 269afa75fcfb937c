"""The values of other metrics for the same table, beside directional amplification."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from lmprobe.errors import InputError
from lmprobe.metrics.metric import metrics
from lmprobe.results.estimate import nullable
from lmprobe.tabular.counting import RowCounts


@dataclass(frozen=True, slots=True)
class MetricValue:
    """What another metric gives for one direction, or without one."""

    metric: str
    direction: str
    """`task->attribute`, `attribute->task`, or `undirected`."""
    value: float | None
    """None where it is undefined."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read the JSON form."""
        value = document["value"]
        number = None if value is None else float(value)
        return cls(str(document["metric"]), str(document["direction"]), number)


def other_values(
    names: Sequence[str], table: RowCounts, train: RowCounts | None, tasks: Sequence[str]
) -> tuple[MetricValue, ...]:
    """Return the values of the metrics of these names, from the kinds of rows and their numbers."""
    if not names:
        return ()
    if table.added or (train is not None and train.added):
        raise InputError(
            "--metric needs a table with few kinds of rows: no probabilities as predictions, no "
            "clusters and at most 100,000 different rows"
        )
    options: dict[str, Any] = {
        "attribute_predictions": table.group_guesses,
        "task_predictions": _tasks(table.task_guesses, table, tasks),
        "sample_weight": table.weight * table.times,
    }
    leaning: dict[str, Any] = {}
    if train is not None:
        leaning = {
            "train_attribute_labels": train.groups,
            "train_task_labels": _tasks(train.tasks, train, tasks),
            "train_sample_weight": train.weight * train.times,
        }
    groups, truth = table.groups, _tasks(table.tasks, table, tasks)
    values: list[MetricValue] = []
    for name in names:
        metric = metrics.get(name)
        known = "train_attribute_labels" in inspect.signature(metric).parameters
        try:
            measured = metric(groups, truth, **options, **(leaning if known else {})).values
        except InputError as problem:
            raise InputError(f"{name}: {problem}") from problem
        values += [MetricValue(name, where, nullable(value)) for where, value in measured.items()]
    return tuple(values)


def _tasks(values: Any, table: RowCounts, names: Sequence[str]) -> Any:
    """Return the labels of the tasks as a metric takes them: categories, or 0/1 by column."""
    if values is None or values.ndim == 1:
        return values
    weight = np.where(table.weight > 0, table.weight, 1.0)
    return pd.DataFrame(values / weight[:, None], columns=list(names))
