"""The interval around directional amplification on labelled rows (vision, tabular)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.axis import Axis, read_axis
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.core.labels import Indicators, Labels
from lmprobe.core.tally import Floats, checked_weight
from lmprobe.errors import InputError, did_you_mean
from lmprobe.intervals.method import checked_confidence
from lmprobe.intervals.methods.bootstrap import of_replicates
from lmprobe.intervals.row_sums import BINS, PATTERNS, RowSums, added_by, bin_of, features
from lmprobe.results.interval import Interval

LEANS = ("fixed", "resampled")

# Rows turned into sums at a time.
_ROWS = 65_536


def amplification_interval(
    attribute_labels: Labels,
    task_labels: Labels,
    *,
    attribute_predictions: Labels | None = None,
    task_predictions: Labels | None = None,
    train_attribute_labels: Labels | None = None,
    train_task_labels: Labels | None = None,
    sample_weight: Any = None,
    train_sample_weight: Any = None,
    clusters: Any = None,
    lean: str = "fixed",
    keep_unseen: bool = False,
    confidence: float = 0.95,
    rng: np.random.Generator,
    replicates: int | None = None,
) -> dict[Direction, Interval]:
    """Return the bootstrap interval of each direction whose predictions are given.

    The inputs are those of `directional_amplification`.

    Parameters
    ----------
    clusters
        (n,) which rows belong together, such as the photos of one person; drawn whole.
    lean
        `fixed`: the direction of bias is that of the train set (or of all rows) in every
        replicate. `resampled`: it is determined anew in each, so the interval also covers
        the uncertainty of the lean.
    """
    groups = read_axis("attribute", attribute_labels, attribute_predictions, train_attribute_labels)
    tasks = read_axis("task", task_labels, task_predictions, train_task_labels)
    if groups.predicted is None and tasks.predicted is None:
        raise InputError("give `attribute_predictions`, `task_predictions` or both")
    return bootstrap_interval(
        row_sums(groups, tasks, sample_weight, clusters),
        train=train_sums(groups, tasks, train_sample_weight),
        lean=lean,
        keep_unseen=keep_unseen,
        confidence=confidence,
        rng=rng,
        replicates=replicates,
    )


def bootstrap_interval(
    rows: RowSums,
    *,
    train: RowSums | None = None,
    lean: str = "fixed",
    keep_unseen: bool = False,
    confidence: float = 0.95,
    method: str = "bootstrap",
    rng: np.random.Generator,
    replicates: int | None = None,
) -> dict[Direction, Interval]:
    """Return the bootstrap interval of each direction, from the sums of the units alone."""
    checked_confidence(confidence)
    if lean not in LEANS:
        raise InputError(f'no lean "{lean}"; {did_you_mean(lean, LEANS)}')
    if replicates is not None and replicates < 2:
        raise InputError(f"`replicates` must be at least 2: found {replicates}")
    if rows.units < 2:
        return {one: Interval.too_few_units(confidence, method) for one in rows.directions}
    signs = (train or rows).total.lean(keep_unseen=keep_unseen)
    values: dict[Direction, list[Floats]] = {direction: [] for direction in rows.directions}
    for count in rows.blocks(replicates or rows.replicates):
        sums = rows.resampled(count, rng)
        if lean == "resampled":
            drawn = sums if train is None else train.resampled(count, rng)
            signs = drawn.lean(keep_unseen=keep_unseen)
        for direction in rows.directions:
            values[direction].append(sums.value(direction, signs))
    found = {}
    for direction, parts in values.items():
        every = np.concatenate(parts)
        known = every[~np.isnan(every)]
        found[direction] = of_replicates(
            known, units=rows.units, confidence=confidence, method=method
        )
    return found


def row_sums(groups: Axis, tasks: Axis, sample_weight: Any = None, clusters: Any = None) -> RowSums:
    """Return the sums of labelled rows, by distinct row, by cluster or by bin."""
    n = len(groups.truth.values)
    if len(tasks.truth.values) != n:
        raise InputError(
            f"`attribute_labels` has {n} rows, `task_labels` has {len(tasks.truth.values)}"
        )
    guesses = zip(DIRECTIONS, (groups.predicted, tasks.predicted), strict=True)
    predicted = tuple((one, guess) for one, guess in guesses if guess is not None)
    weight = checked_weight(sample_weight, n)
    rows = _Rows(groups.truth, tasks.truth, predicted, weight)
    if clusters is not None:
        return rows.by_unit(*_cluster_codes(clusters, n))
    distinct = rows.distinct()
    if distinct is not None:
        return distinct
    return rows.by_unit(bin_of(np.arange(n)), BINS)


def train_sums(groups: Axis, tasks: Axis, sample_weight: Any = None) -> RowSums | None:
    """Return the sums of the train labels, or None where there are none."""
    if (groups.train is None) != (tasks.train is None):
        raise InputError("`train_attribute_labels` and `train_task_labels` go together")
    if groups.train is None or tasks.train is None:
        return None
    return row_sums(Axis(groups.train, None, None), Axis(tasks.train, None, None), sample_weight)


def _cluster_codes(clusters: Any, n: int) -> tuple[NDArray[np.intp], int]:
    import pandas as pd

    codes, kinds = pd.factorize(np.asarray(clusters))
    if codes.shape != (n,) or (codes < 0).any():
        raise InputError(f"`clusters` must name the cluster of each of the {n} rows")
    return codes, len(kinds)


class _Rows:
    """Labelled rows as indicators (n, ·) with their weights."""

    def __init__(
        self,
        group: Indicators,
        task: Indicators,
        predicted: tuple[tuple[Direction, Indicators], ...],
        weight: Floats | None,
    ) -> None:
        self.group = group
        self.task = task
        self.predicted = predicted
        self.weight = weight

    def by_unit(self, unit: NDArray[np.intp], units: int) -> RowSums:
        """Return the sums of the rows that belong to each unit."""
        from scipy import sparse

        n = len(unit)
        total: Any = 0
        for start in range(0, n, _ROWS):
            rows = np.arange(start, min(start + _ROWS, n))
            total = total + added_by(unit[rows], units, self._features(rows))
        # A bin without rows is no unit.
        filled = np.flatnonzero(np.bincount(unit, minlength=units))
        return self._sums(sparse.csr_array(total)[filled], np.ones(len(filled), dtype=np.int64))

    def distinct(self) -> RowSums | None:
        """Return the sums of the distinct rows and how often each occurs, if few enough."""
        n = len(self.group.values)
        tables = [self.group.values, self.task.values, *(one.values for _, one in self.predicted)]
        if any(table.dtype.kind not in "biu" for table in tables):
            # Fractions hardly ever repeat.
            if n > PATTERNS:
                return None
            return self._sums(self._features(np.arange(n)), np.ones(n, dtype=np.int64))
        code = _codes(np.concatenate(tables, axis=1, dtype=np.uint8, casting="unsafe"))
        if self.weight is not None:
            _, weights = np.unique(self.weight, return_inverse=True)
            code = code * (int(weights.max()) + 1) + weights
        _, first, often = np.unique(code, return_index=True, return_counts=True)
        if len(first) > PATTERNS:
            return None
        return self._sums(self._features(first), often.astype(np.int64))

    def _features(self, rows: NDArray[np.intp]) -> Any:
        from scipy import sparse

        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]

        def read(table: Indicators, amount: Floats | None) -> Any:
            values = table.values[rows].astype(np.float64)
            return sparse.csr_array(values if amount is None else values * amount[:, None])

        predicted = [
            (direction, read(one, None if direction == Direction.TASK_TO_ATTRIBUTE else weight))
            for direction, one in self.predicted
        ]
        return features(read(self.group, None), read(self.task, weight), weight, predicted)

    def _sums(self, lines: Any, times: NDArray[np.int64]) -> RowSums:
        directions = tuple(direction for direction, _ in self.predicted)
        return RowSums(lines, times, self.group.names, self.task.names, directions)


def _codes(indicators: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return one number per row, the same for rows that are alike."""
    import pandas as pd

    packed = np.packbits(indicators.astype(bool), axis=1)
    code = np.zeros(len(packed), dtype=np.int64)
    # Numbering what occurs keeps the code below the number of rows, so three more bytes fit.
    for start in range(0, packed.shape[1], 3):
        for column in packed[:, start : start + 3].T:
            code = code * 256 + column
        code, _ = pd.factorize(code)
        code = code.astype(np.int64)
    return code
