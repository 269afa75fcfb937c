"""The interval round directional amplification on labelled rows (vision, tabular).

Every number that the metric needs is a sum over rows, so a bootstrap replicate is a row of
weights times a matrix of indicators, and rows that are alike need one weight between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.association import DIRECTIONS, Association, Direction
from lmprobe.errors import InputError, did_you_mean
from lmprobe.intervals.bootstrap import of_replicates
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import checked_confidence, undefined, unknown
from lmprobe.intervals.weights import poisson
from lmprobe.labels import Axis, Indicators, Labels, read_axis
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.metrics.lean import lean_of
from lmprobe.tally import Floats, checked_weight, tally

LEANS = ("fixed", "resampled")

# Rows turned into indicators at a time, and numbers held at a time when rows are alike.
_ROWS = 2048
_HELD = 20_000_000

# Weights and fractions are added in single precision: a smaller spread is only rounding.
_SINGLE = 1e-6


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
    confidence: float = 0.95,
    rng: np.random.Generator,
    replicates: int = 1000,
) -> dict[Direction, Interval]:
    """Return the bootstrap interval of each direction whose predictions are given.

    The inputs are those of `directional_amplification`.

    Parameters
    ----------
    clusters
        (n,) what rows belong together, such as the photos of one person; drawn whole.
    lean
        `fixed`: the direction of bias is that of the train set (or of all rows) in every
        replicate. `resampled`: it is found anew in each, so the interval also covers the
        doubt about which way the world leans.
    """
    checked_confidence(confidence)
    if lean not in LEANS:
        raise InputError(f'no lean "{lean}"; {did_you_mean(lean, LEANS)}')
    if replicates < 2:
        raise InputError(f"`replicates` must be at least 2: found {replicates}")
    groups = read_axis("attribute", attribute_labels, attribute_predictions, train_attribute_labels)
    tasks = read_axis("task", task_labels, task_predictions, train_task_labels)
    if groups.predicted is None and tasks.predicted is None:
        raise InputError("give `attribute_predictions`, `task_predictions` or both")
    rows = _Rows.of(groups, tasks, sample_weight, clusters)
    if rows.units < 2:
        return {one: unknown(confidence, "bootstrap") for one in rows.directions}
    train = _Rows.of_train(groups, tasks, train_sample_weight)
    sums = rows.resampled(replicates, rng)
    if lean == "fixed":
        signs = (train or rows).lean
    else:
        signs = (sums if train is None else train.resampled(replicates, rng)).lean
    found = {}
    for direction in rows.directions:
        values = sums.value(direction, signs)
        known = values[~np.isnan(values)]
        if known.size and np.ptp(known) <= _SINGLE:
            found[direction] = undefined(confidence, "bootstrap")
        else:
            found[direction] = of_replicates(known, units=rows.units, confidence=confidence)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """What each replicate counted, (R, F), and how the columns are laid out."""

    columns: Floats
    attributes: int
    tasks: int
    directions: tuple[Direction, ...]

    def _part(self, start: int, *shape: int) -> Floats:
        width = int(np.prod(shape))
        return self.columns[:, start : start + width].reshape(-1, *shape)

    @property
    def _marginals(self) -> tuple[Floats, Floats, Floats, Floats]:
        a, t = self.attributes, self.tasks
        return (
            self._part(0, 1),
            self._part(1, a),
            self._part(1 + a, t),
            self._part(1 + a + t, a, t),
        )

    @property
    def lean(self) -> Floats:
        """Which way each replicate leans, (R, A, T)."""
        total, attribute, task, joint = self._marginals
        whole = np.where(total > 0, total, 1.0)
        return lean_of(joint / whole[:, :, None], attribute / whole, task / whole)

    def value(self, direction: Direction, lean: Floats) -> Floats:
        """Return the amplification of each replicate, (R,); NaN where nothing is defined."""
        _, attribute, task, joint = self._marginals
        a, t = self.attributes, self.tasks
        place = 1 + a + t + a * t * (1 + self.directions.index(direction))
        given = task[:, None, :] if direction == "task->attribute" else attribute[:, :, None]
        known = np.where(given > 0, given, np.nan)
        pairs = amplification(self._part(place, a, t) / known, joint / known, lean)
        return np.asarray(defined_mean(pairs, axis=(1, 2)))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Labelled rows: indicators (n, ·), their weights, and the cluster of each row."""

    group: Indicators
    task: Indicators
    predicted: tuple[tuple[Direction, Indicators], ...]
    weight: Floats | None
    cluster: NDArray[np.intp] | None

    @classmethod
    def of(cls, groups: Axis, tasks: Axis, sample_weight: Any, clusters: Any) -> _Rows:
        n = len(groups.truth.values)
        if len(tasks.truth.values) != n:
            raise InputError(
                f"`attribute_labels` has {n} rows, `task_labels` has {len(tasks.truth.values)}"
            )
        guesses = zip(DIRECTIONS, (groups.predicted, tasks.predicted), strict=True)
        predicted = tuple((one, guess) for one, guess in guesses if guess is not None)
        cluster = None
        if clusters is not None:
            import pandas as pd

            cluster, _ = pd.factorize(np.asarray(clusters))
            if cluster.shape != (n,) or (cluster < 0).any():
                raise InputError(f"`clusters` must name the cluster of each of the {n} rows")
        weight = checked_weight(sample_weight, n)
        return cls(groups.truth, tasks.truth, predicted, weight, cluster)

    @classmethod
    def of_train(cls, groups: Axis, tasks: Axis, sample_weight: Any) -> _Rows | None:
        if (groups.train is None) != (tasks.train is None):
            raise InputError("`train_attribute_labels` and `train_task_labels` go together")
        if groups.train is None or tasks.train is None:
            return None
        weight = checked_weight(sample_weight, len(groups.train.values), "train_sample_weight")
        return cls(groups.train, tasks.train, (), weight, None)

    @property
    def directions(self) -> tuple[Direction, ...]:
        return tuple(direction for direction, _ in self.predicted)

    @property
    def units(self) -> int:
        """How many rows or clusters are drawn."""
        return len(self.group.values) if self.cluster is None else int(self.cluster.max()) + 1

    def sums(self, columns: Floats) -> _Sums:
        return _Sums(columns, len(self.group.names), len(self.task.names), self.directions)

    @property
    def lean(self) -> Floats:
        """Which way the rows themselves lean, (A, T): exactly as the metric says."""
        sums = tally(self.group.values, self.task.values, self.weight)
        world = Association.from_tally(sums, self.group.names, self.task.names)
        return lean_of(world.joint, world.p_attribute, world.p_task)

    def resampled(self, replicates: int, rng: np.random.Generator) -> _Sums:
        """Return what so many resamples of the rows count."""
        alike = self._alike()
        if alike is not None:
            return self.sums(_multinomial(*alike, replicates, rng))
        width = self.features(np.arange(1)).shape[1]
        found = np.zeros((replicates, width))
        for part in self._blocks():
            found += poisson(replicates, len(part), rng) @ part
        return self.sums(found)

    def features(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the columns that are summed, (len(rows), F), of some rows."""
        group = self.group.values[rows].astype(np.float32)
        task = self.task.values[rows].astype(np.float32)
        parts = [np.ones((len(rows), 1), dtype=np.float32), group, task, _pairs(group, task)]
        for direction, guess in self.predicted:
            said = guess.values[rows].astype(np.float32)
            about_group = direction == "task->attribute"
            parts.append(_pairs(said, task) if about_group else _pairs(group, said))
        columns = np.concatenate(parts, axis=1)
        return columns if self.weight is None else columns * self.weight[rows, None].astype("f4")

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        """Yield the features of the units, some at a time."""
        n = len(self.group.values)
        if self.cluster is None:
            for start in range(0, n, _ROWS):
                yield self.features(np.arange(start, min(start + _ROWS, n)))
            return
        order = np.argsort(self.cluster, kind="stable")
        first = np.searchsorted(self.cluster[order], np.arange(self.units + 1))
        start = 0
        while start < self.units:
            # As many whole clusters as fit, and at least one.
            fit = int(np.searchsorted(first, first[start] + _ROWS, side="right")) - 1
            stop = max(start + 1, fit)
            rows = order[first[start] : first[stop]]
            yield np.add.reduceat(self.features(rows), first[start:stop] - first[start], axis=0)
            start = stop

    def _alike(self) -> tuple[Floats, NDArray[np.intp]] | None:
        """Return the features of the distinct rows and how often each occurs, if few."""
        tables = [self.group.values, self.task.values, *(one.values for _, one in self.predicted)]
        if self.weight is not None or self.cluster is not None:
            return None
        if any(table.dtype.kind not in "biu" for table in tables):
            return None
        code = _codes(np.concatenate(tables, axis=1, dtype=np.uint8, casting="unsafe"))
        _, first, often = np.unique(code, return_index=True, return_counts=True)
        width = self.features(first[:1]).shape[1]
        if len(first) > len(code) / 4 or len(first) * width > _HELD:
            return None
        return self.features(first).astype(np.float64), often


def _pairs(group: NDArray[np.float32], task: NDArray[np.float32]) -> NDArray[np.float32]:
    return (group[:, :, None] * task[:, None, :]).reshape(len(group), -1)


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


def _multinomial(
    features: Floats, often: NDArray[np.intp], replicates: int, rng: np.random.Generator
) -> Floats:
    """Return the sums of resamples: how often each kind of row is drawn, times its features."""
    n = int(often.sum())
    found = np.empty((replicates, features.shape[1]))
    step = max(1, _HELD // len(often))
    for start in range(0, replicates, step):
        count = min(step, replicates - start)
        drawn = rng.multinomial(n, often / n, size=count)
        found[start : start + count] = drawn @ features
    return found
