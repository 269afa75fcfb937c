"""The values of other metrics for the same table, beside directional amplification."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.metric import metrics
from lmprobe.results.codec import to_json
from lmprobe.results.metric_values import MetricValue
from lmprobe.tabular.counting import RowCounts


def other_values(
    names: Sequence[str], table: RowCounts, train: RowCounts | None, tasks: Sequence[str]
) -> tuple[MetricValue, ...]:
    """Return the values of the metrics of these names, from the kinds of rows and their numbers."""
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
        takes_train = "train_attribute_labels" in inspect.signature(metric).parameters
        train_options = leaning if takes_train else {}
        try:
            measured = metric(groups, truth, **options, **train_options).values
        except InputError as problem:
            raise InputError(f"{name}: ", problem) from problem
        values += [MetricValue(name, where, to_json(value)) for where, value in measured.items()]
    return tuple(values)


def _tasks(values: Any, table: RowCounts, names: Sequence[str]) -> Any:
    """Return the labels of the tasks as a metric takes them: categories, or 0/1 by column."""
    import pandas as pd

    if values is None or values.ndim == 1:
        return values
    weight = np.where(table.weight > 0, table.weight, 1.0)
    return pd.DataFrame(values / weight[:, None], columns=list(names))
