"""Labelled rows made up for tests, and their sums as the table engine makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lmprobe.stats.row_sums import RowSums
from lmprobe.tabular.counting import RowCounts


def people(n: int = 400, seed: int = 1) -> dict[str, Any]:
    """Two groups, three tasks of which any may occur together, and predictions of both."""
    draw = np.random.default_rng(seed)
    group = draw.integers(0, 2, n)
    task = (draw.random((n, 3)) < 0.3 + 0.2 * group[:, None]).astype(np.uint8)
    guess = (draw.random((n, 3)) < 0.25 + 0.35 * group[:, None]).astype(np.uint8)
    said = np.where(draw.random(n) < 0.8, group, 1 - group)
    return {
        "attribute_labels": group,
        "task_labels": task,
        "attribute_predictions": said,
        "task_predictions": guess,
    }


def sums_of(
    attribute_labels: Any,
    task_labels: Any,
    *,
    attribute_predictions: Any = None,
    task_predictions: Any = None,
    weight: Any = None,
    times: Any = None,
    unit: Any = None,
) -> RowSums:
    """Return the sums by row (`times` of each), or by `unit`; one column is one task."""
    rows = len(attribute_labels)
    weights = np.ones(rows) if weight is None else np.asarray(weight, dtype=np.float64)

    def names(labels: Any) -> Any:
        return None if labels is None else np.array([str(label) for label in labels], dtype=object)

    def amounts(labels: Any) -> Any:
        if labels is None:
            return None
        return np.asarray(labels, dtype=np.float64).reshape(rows, -1) * weights[:, None]

    groups, said = names(attribute_labels), names(attribute_predictions)
    tasks = amounts(task_labels)
    return RowCounts(
        groups,
        said,
        tasks,
        amounts(task_predictions),
        weights,
        np.ones(rows, dtype=np.int64) if times is None else np.asarray(times),
        None if unit is None else np.asarray(unit),
        added=unit is not None,
    ).row_sums(
        tuple(sorted({*groups, *(() if said is None else said)})),
        tuple(f"task {number}" for number in range(tasks.shape[1])),
    )


def kinds_of(**rows: Any) -> RowSums:
    """Return the sums of the distinct rows, each with how often it occurs."""
    columns = [np.asarray(column).reshape(len(column), -1) for column in rows.values()]
    _, first, times = np.unique(
        np.concatenate(columns, axis=1), axis=0, return_index=True, return_counts=True
    )
    return sums_of(**{name: column[first] for name, column in rows.items()}, times=times)
