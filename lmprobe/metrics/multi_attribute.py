"""Multi-attribute bias amplification (Zhao, Andrews & Xiang 2023, "Men Also Do Laundry").

A set m of tasks that occur together, such as {unloading, indoors}, may lean towards another
group than each of them does. The metric looks at every set of tasks that some row has, asks
how the share of rows that have all of m changes, and averages sizes, so that pairs that
exaggerate and pairs that weaken do not cancel:

    group->sets:  mean over g, m of |P(predicted m | g) - P(m | g)|
    sets->group:  mean over g, m of |P(predicted g | m) - P(g | m)|
    undirected:   sum over g with P(g | m) > 1 / |G| of |change of P(g | m)|, averaged over m

Deviation: like the published code, and unlike the paper's formula, the directed values compare
predictions with the labels of the same test rows, not with those of the train rows.
Undirected, the published code asks for P(g | m) > 1 / (|G| - 1), which two groups never reach,
and counts a set that is never predicted as 0; here the limit is the paper's, and such a set is
undefined and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats, checked_weight
from lmprobe.metrics.directional import (
    DirectionalAmplification,
    defined_mean,
    from_tallies,
    tallies,
    train_world,
)
from lmprobe.metrics.labels import Axis, Indicators, Labels, read_axis
from lmprobe.metrics.mals import undirected
from lmprobe.metrics.metric import metrics


@dataclass(frozen=True, slots=True, eq=False)
class MultiAttributeAmplification:
    """The change of every group and set of tasks, and the mean size of the changes."""

    sets: tuple[tuple[str, ...], ...]
    """The sets of tasks that were compared."""
    directed: DirectionalAmplification
    """The change of each group and set, as `directional_amplification` has it for single tasks."""
    undirected: float | None
    """None without predictions of both groups and tasks."""

    @property
    def values(self) -> Mapping[str, float]:
        """The mean size of the changes in each direction, and undirected."""
        sizes = {
            str(pairs.direction): float(defined_mean(np.abs(pairs.predicted - pairs.base_rate)))
            for pairs in self.directed.directions
        }
        return sizes if self.undirected is None else sizes | {"undirected": self.undirected}

    @property
    def variances(self) -> Mapping[str, float]:
        """How much the changes differ: 0 if the same for all groups and sets."""
        return {
            str(pairs.direction): float(np.nanvar(pairs.predicted - pairs.base_rate))
            for pairs in self.directed.directions
        }


def multi_attribute_amplification(
    attribute_labels: Labels,
    task_labels: Labels,
    *,
    attribute_predictions: Labels | None = None,
    task_predictions: Labels | None = None,
    train_attribute_labels: Labels | None = None,
    train_task_labels: Labels | None = None,
    sample_weight: Any = None,
    train_sample_weight: Any = None,
    min_size: int = 1,
    min_rows: float = 1,
) -> MultiAttributeAmplification:
    """Mean size of the change over all sets of tasks that occur together (Zhao et al. 2023).

    Inputs are those of `directional_amplification`. A set counts if some train row (test row
    without a train set) has exactly these tasks, at least `min_size` of them, and if both the
    train and the test labels have at least `min_rows` rows of it, counted by their weight.

    Examples
    --------
    Each task alone is predicted right as often as it occurs; together they are not.

    >>> group = np.repeat(["m", "f"], 4)
    >>> truth = np.array([[1, 1], [0, 0], [1, 0], [0, 1]] * 2)
    >>> guess = np.array([[1, 1], [0, 0], [1, 1], [0, 0]] + [[1, 0], [0, 1]] * 2)
    >>> multi_attribute_amplification(group, truth, task_predictions=guess, min_size=2).values
    {'attribute->task': 0.25}
    """
    groups = read_axis("attribute", attribute_labels, attribute_predictions, train_attribute_labels)
    tasks = read_axis("task", task_labels, task_predictions, train_task_labels)
    if groups.predicted is None and tasks.predicted is None:
        raise InputError("give `attribute_predictions`, `task_predictions` or both")
    weight = checked_weight(sample_weight, len(groups.truth.values))
    train_weight = None
    if tasks.train is not None:
        rows = len(tasks.train.values)
        train_weight = checked_weight(train_sample_weight, rows, "train_sample_weight")
    sets = _sets(tasks, weight, train_weight, min_size, min_rows)
    together = _together(tasks, sets)
    train = train_world(groups, together, train_weight)
    sums = tallies(groups, together, weight)
    directed = from_tallies(sums, groups.names, together.names, train=train, keep_unseen=True)
    names = tuple(tuple(tasks.names[task] for task in members) for members in sets)
    pairs = undirected(groups, together, train, weight)
    size = None if pairs is None else float(defined_mean(np.abs(pairs.by_pair).sum(axis=0)))
    return MultiAttributeAmplification(names, directed, size)


def _sets(
    tasks: Axis, weight: Floats | None, train_weight: Floats | None, min_size: int, min_rows: float
) -> list[tuple[int, ...]]:
    """Return the sets of tasks that rows have, by the places of the tasks."""
    for table in (tasks.truth, tasks.predicted, tasks.train):
        if table is not None and not np.isin(table.values, (0, 1)).all():
            raise InputError("sets of tasks need labels and predictions of 0 and 1")
    source, of_rows = (tasks.truth, weight) if tasks.train is None else (tasks.train, train_weight)
    kinds, kind = np.unique(source.values.astype(bool), axis=0, return_inverse=True)
    often = np.bincount(kind.ravel(), weights=of_rows)
    each = np.ones(len(tasks.truth.values)) if weight is None else weight
    sets = []
    for indicators, rows in zip(kinds, often, strict=True):
        members = tuple(np.flatnonzero(indicators).tolist())
        wanted = len(members) >= max(1, min_size) and rows >= min_rows
        if wanted and each @ _has_all(tasks.truth, members) >= min_rows:
            sets.append(members)
    if not sets:
        raise InputError(f"no set of at least {min_size} tasks occurs in {min_rows} rows or more")
    return sorted(sets, key=lambda members: (len(members), members))


def _has_all(table: Indicators, members: tuple[int, ...]) -> Floats:
    return np.asarray(table.values[:, list(members)].astype(bool).all(axis=1), dtype=np.float64)


def _together(tasks: Axis, sets: list[tuple[int, ...]]) -> Axis:
    """Return the axis whose columns are the sets: does a row have all tasks of one?"""
    names = tuple(" & ".join(tasks.names[task] for task in members) for members in sets)

    def columns(table: Indicators) -> Indicators:
        return Indicators(np.column_stack([_has_all(table, members) for members in sets]), names)

    return Axis(
        columns(tasks.truth),
        None if tasks.predicted is None else columns(tasks.predicted),
        None if tasks.train is None else columns(tasks.train),
    )


# Not as a decorator, so that the function keeps its own signature.
metrics.register("multi-attribute")(multi_attribute_amplification)
