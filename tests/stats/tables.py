"""Tables of a made-up model and base, from which the numbers of a row are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from lmprobe.metrics.direction import Direction
from lmprobe.stats.row_tables import RowTables


def conditional(table: np.ndarray, direction: Direction) -> np.ndarray:
    """Return P(a|t) or P(t|a) of tables (..., A, T); NaN for a condition that never occurs."""
    with np.errstate(invalid="ignore"):
        return table / table.sum(axis=direction.axis, keepdims=True)


def row_tables(model: Any, base: Any, direction: Direction, **options: Any) -> RowTables:
    """Return the tables of a model (K, A, T), of any positive numbers, and a base (A, T)."""
    model, base = np.asarray(model, dtype=float), np.asarray(base, dtype=float)
    predicted = conditional(model, direction)
    tasks = tuple(f"task {number:03}" for number in range(base.shape[1]))
    selected: dict[str, Any] = {
        "families": tuple(f"family {number:03}" for number in range(len(model))),
        "tasks": tasks,
        "units": options.get("tasks", tasks),
    }
    return RowTables(direction, predicted, np.log(predicted), base, **(selected | options))


def random_tables(
    direction: Direction,
    *,
    seed: int = 0,
    groups: int = 2,
    tasks: int = 6,
    templates: int = 4,
    **options: Any,
) -> RowTables:
    """Return the tables of a random model and a random base of counts."""
    rng = np.random.default_rng(seed)
    base = rng.integers(1, 60, (groups, tasks))
    model = base * np.exp(rng.normal(0, 0.7, (templates, groups, tasks)))
    return row_tables(model, base, direction, **options)


def moved_tables(moved: Any, **options: Any) -> RowTables:
    """Return two groups whose shares move by (K, T) towards a declared lean from an even base.

    The value is the plain mean of what was planted, over templates and over tasks.
    """
    shares = 0.5 + np.asarray(moved, dtype=float)
    model = np.stack([shares, 1 - shares], axis=1)
    lean = np.ones(model.shape[1:]) * [[1.0], [-1.0]]
    selected = {"declared": lean} | options
    return row_tables(model, np.full(lean.shape, 0.5), Direction.TASK_TO_ATTRIBUTE, **selected)
