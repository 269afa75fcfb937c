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

from lmprobe.core.tally import Floats
from lmprobe.intervals.method import REPLICATES, checked_confidence, constant
from lmprobe.intervals.methods.bootstrap import expanded
from lmprobe.intervals.probe import CellTable
from lmprobe.intervals.weights import draws
from lmprobe.results.interval import Interval

# Numbers held in memory at a time.
_BLOCK = 4_000_000


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
    names = sorted({task for row in rows for task in row.tasks})
    units = np.unique(np.asarray(families, dtype=str))
    fewest = {"templates": len(units), "tasks": min(len(row.tasks) for row in rows)}
    smallest = min(fewest.values()) if resample == "both" else fewest[resample]
    if smallest < 2:
        return tuple(Interval.too_few_units(confidence, method) for _ in rows)
    values = np.array([_value(row, families) for row in rows])
    found = _replicates(rows, names, families, resample, rng)
    spread = np.array([np.nanstd(one) for one in found])
    moving = [number for number, one in enumerate(found) if not constant(one[~np.isnan(one)])]
    if not moving:
        return tuple(Interval.undefined(confidence, method) for _ in rows)
    away = np.abs(found[moving] - values[moving, None]) / spread[moving, None]
    # As for a single bootstrap interval, few units are given a higher quantile.
    level = 1 - 2 * expanded(confidence, smallest)
    reach = float(np.nanquantile(np.nanmax(away, axis=0), level))
    lows, highs = values - reach * spread, values + reach * spread
    return tuple(
        Interval(lows[number], highs[number], confidence, method)
        if number in moving
        else Interval.undefined(confidence, method)
        for number in range(len(rows))
    )


def bonferroni(confidence: float, intervals: int) -> float:
    """Return the confidence of each of so many intervals that makes all cover together."""
    return 1 - (1 - checked_confidence(confidence)) / max(intervals, 1)


def _value(row: JointRow, families: Sequence[str]) -> float:
    return float(CellTable.of(row.cells, families).by_template.mean())


def _replicates(
    rows: Sequence[JointRow],
    names: Sequence[str],
    families: Sequence[str],
    resample: str,
    rng: np.random.Generator,
) -> Floats:
    """Return the value of every row on the same resamples, (rows, R)."""
    place = {name: number for number, name in enumerate(names)}
    units, family = np.unique(np.asarray(families, dtype=str), return_inverse=True)
    tables = [CellTable.of(row.cells, families) for row in rows]
    kept = [~np.isnan(row.cells).all(axis=(1, 2)) for row in rows]
    columns = [[place[task] for task in row.tasks] for row in rows]
    found = np.empty((len(rows), REPLICATES))
    step = max(1, _BLOCK // (len(family) + len(names)))
    for start in range(0, REPLICATES, step):
        size = min(step, REPLICATES - start)
        part = slice(start, start + size)
        ones = np.ones((size, len(units))), np.ones((size, len(names)))
        drawn = draws(size, len(units), rng) if resample != "tasks" else ones[0]
        tasks = draws(size, len(names), rng) if resample != "templates" else ones[1]
        weight = drawn[:, family]
        for number, table in enumerate(tables):
            chosen = tasks[:, columns[number]]
            found[number, part] = table.values(weight[:, kept[number]], chosen)
    return found
