"""Intervals that cover all at once: for every row of a result, from joint resamples.

With many intervals at 95 % some miss. Here the chance that any of them misses is bounded.
Templates (or families) and tasks are drawn once, by name, for all rows, so that rows which
rest on the same words move together; the intervals are as wide as the largest of the
studentized deviations requires (maximum-t).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.results.interval import Interval
from lmprobe.stats.method import REPLICATES, checked_confidence, constant
from lmprobe.stats.methods.bootstrap import expanded
from lmprobe.stats.probe import CellTable, crossed_draws, fewest_units
from lmprobe.stats.weights import slices


@dataclass(frozen=True, slots=True, eq=False)
class JointRow:
    """One of the values: cells (K, A, T) and the names of their tasks."""

    cells: Floats
    tasks: tuple[str, ...]


def simultaneous_intervals(
    rows: Sequence[JointRow],
    *,
    families: Sequence[str],
    confidence: float = 0.95,
    method: str = "bootstrap",
    resample: str = "both",
    rng: np.random.Generator,
) -> tuple[Interval, ...]:
    """Return one interval per row; with the confidence given all of them cover.

    Parameters
    ----------
    rows
        All have the same templates; their tasks may differ.
    families
        The family of each template, drawn whole.
    method
        The name that the intervals carry: `bootstrap`, or another method that resamples. Methods
        without resamples take `bonferroni` and their own interval.
    resample
        What is drawn anew: `both`, `templates` or `tasks`.
    """
    checked_confidence(confidence)
    units, family = np.unique(np.asarray(families, dtype=str), return_inverse=True)
    smallest = fewest_units(len(units), min(len(row.tasks) for row in rows), resample)
    if smallest < 2:
        return tuple(Interval.too_few_units(confidence, method) for _ in rows)
    tables = [CellTable.of(row.cells, families) for row in rows]
    values = np.array([table.by_template.mean() for table in tables])
    replicates = _replicates(rows, tables, family, resample, rng)
    spread = np.nanstd(replicates, axis=1)
    moving = np.array([not constant(drawn[~np.isnan(drawn)]) for drawn in replicates])
    if not moving.any():
        return tuple(Interval.undefined(confidence, method) for _ in rows)
    away = np.abs(replicates[moving] - values[moving, None]) / spread[moving, None]
    # As for a single bootstrap interval, few units are given a higher quantile.
    level = 1 - 2 * expanded(confidence, smallest)
    reach = float(np.nanquantile(np.nanmax(away, axis=0), level))
    return tuple(
        Interval(low, high, confidence, method) if moves else Interval.undefined(confidence, method)
        for low, high, moves in zip(
            values - reach * spread, values + reach * spread, moving, strict=True
        )
    )


def bonferroni(confidence: float, intervals: int) -> float:
    """Return the confidence of each of so many intervals that makes all cover together."""
    return 1 - (1 - checked_confidence(confidence)) / max(intervals, 1)


def _replicates(
    rows: Sequence[JointRow],
    tables: Sequence[CellTable],
    family: NDArray[np.intp],
    resample: str,
    rng: np.random.Generator,
) -> Floats:
    """Return the value of every row on the same resamples, (rows, R)."""
    names = sorted({task for row in rows for task in row.tasks})
    columns = [[names.index(task) for task in row.tasks] for row in rows]
    defined = [~np.isnan(row.cells).all(axis=(1, 2)) for row in rows]
    values = np.empty((len(rows), REPLICATES))
    for part in slices(REPLICATES, len(family) + len(names)):
        size = part.stop - part.start
        drawn, tasks = crossed_draws(size, int(family.max()) + 1, len(names), resample, rng)
        for number, table in enumerate(tables):
            templates = drawn[:, family[defined[number]]]
            values[number, part] = table.values(templates, tasks[:, columns[number]])
    return values
