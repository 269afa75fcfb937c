"""Tables of a made-up model and base, from which the numbers of a row are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from lmprobe.core.direction import Direction
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
    chosen: dict[str, Any] = {
        "families": tuple(f"family {number:03}" for number in range(len(model))),
        "tasks": tasks,
        "units": options.get("tasks", tasks),
    }
    return RowTables(direction, predicted, np.log(predicted), base, **(chosen | options))


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


def amplified_tables(
    by_template: Any, by_task: Any, noise: float = 0.0, seed: int = 0, **options: Any
) -> RowTables:
    """Return two groups whose share moves by so much per template and task, all lean known.

    With a declared lean the value is the plain mean over templates and tasks of what was planted.
    """
    first, second = np.asarray(by_template, dtype=float), np.asarray(by_task, dtype=float)
    moved = first[:, None] + second
    moved = moved + noise * np.random.default_rng(seed).normal(size=moved.shape)
    model = np.stack([0.5 + moved, 0.5 - moved], axis=1)
    base = np.full(model.shape[1:], 0.5)
    lean = np.stack([np.ones(len(second)), -np.ones(len(second))])
    direction = Direction.TASK_TO_ATTRIBUTE
    return row_tables(model, base, direction, **({"declared": lean} | options))
