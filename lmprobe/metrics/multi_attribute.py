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
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, did_you_mean
from lmprobe.metrics.association import Association, Floats, checked_weight, ratio, sign, tally
from lmprobe.metrics.directional import (
    DirectionalAmplification,
    defined_mean,
    from_tallies,
    tallies,
    train_world,
)
from lmprobe.metrics.labels import Axis, Indicators, Labels, read_axis
from lmprobe.metrics.metric import metrics

Rate = Literal["false_positive", "true_positive", "accuracy"]


@dataclass(frozen=True, slots=True, eq=False)
class GroupRates:
    """How often predictions of each task are right or wrong in each group.

    Arrays are (A, T), NaN where a group has nobody for whom the rate could be taken.
    """

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    false_positive: Floats
    true_positive: Floats
    accuracy: Floats

    def difference(self, rate: Rate, attribute: str, other: str) -> Floats:
        """Return the rate of `attribute` minus that of `other`, (T,)."""
        rows = []
        for name in (attribute, other):
            if name not in self.attributes:
                known = did_you_mean(name, self.attributes)
                raise InputError(f'no group called "{name}"; {known}')
            rows.append(getattr(self, rate)[self.attributes.index(name)])
        return np.asarray(rows[0] - rows[1])

    @property
    def subgroup_accuracy(self) -> Floats:
        """The mean accuracy over the subgroups, each group with and without the task; (T,).

        Every subgroup weighs the same; NaN where one of them is empty.
        """
        per_class = (self.true_positive + (1 - self.false_positive)) / 2
        return np.asarray(per_class.mean(axis=0))


def group_rates(
    attribute_labels: Labels,
    task_labels: Labels,
    task_predictions: Labels,
    *,
    sample_weight: Any = None,
) -> GroupRates:
    """Measure the error rates of each group; inputs as `directional_amplification`.

    >>> rates = group_rates(["w", "w", "m", "m"], [1, 0, 1, 0], [1, 1, 1, 0])
    >>> rates.difference("false_positive", "w", "m").tolist()
    [1.0]
    """
    groups = read_axis("attribute", attribute_labels)
    tasks = read_axis("task", task_labels, task_predictions)
    assert tasks.predicted is not None
    weight = checked_weight(sample_weight, len(groups.truth.values))

    # Differences of sums would round: nobody must stay exactly 0.
    def count(rows: NDArray[Any]) -> Floats:
        return tally(groups.truth.values, rows, weight).joint

    has, said = tasks.truth.values, tasks.predicted.values
    with_task, without = count(has), count(1 - has)
    right, wrong = count(has * said), count((1 - has) * said)
    return GroupRates(
        groups.names,
        tasks.names,
        false_positive=ratio(wrong, without),
        true_positive=ratio(right, with_task),
        accuracy=ratio(right + count((1 - has) * (1 - said)), with_task + without),
    )


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
        found = {
            str(one.direction): float(defined_mean(np.abs(one.predicted - one.base_rate)))
            for one in self.directed.directions
        }
        return found if self.undirected is None else found | {"undirected": self.undirected}

    @property
    def variances(self) -> Mapping[str, float]:
        """How much the changes differ: 0 if the same for all groups and sets."""
        return {
            str(one.direction): float(np.nanvar(one.predicted - one.base_rate))
            for one in self.directed.directions
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
    names = tuple(tuple(tasks.names[one] for one in members) for members in sets)
    undirected = _undirected(groups, together, train, weight)
    return MultiAttributeAmplification(names, directed, undirected)


def _sets(
    tasks: Axis,
    weight: Floats | None,
    train_weight: Floats | None,
    min_size: int,
    min_rows: float,
) -> list[tuple[int, ...]]:
    """Return the sets of tasks that rows have, by the places of the tasks."""
    for table in (tasks.truth, tasks.predicted, tasks.train):
        if table is not None and not np.isin(table.values, (0, 1)).all():
            raise InputError("sets of tasks need labels and predictions of 0 and 1")
    source, of_rows = (tasks.truth, weight) if tasks.train is None else (tasks.train, train_weight)
    kinds, kind = np.unique(source.values.astype(bool), axis=0, return_inverse=True)
    often = np.bincount(kind.ravel(), weights=of_rows)
    found = [
        tuple(np.flatnonzero(kind).tolist())
        for kind, rows in zip(kinds, often, strict=True)
        if kind.sum() >= max(1, min_size) and rows >= min_rows
    ]
    each = np.ones(len(tasks.truth.values)) if weight is None else weight
    kept = [one for one in found if each @ _has_all(tasks.truth, one) >= min_rows]
    if not kept:
        raise InputError(f"no set of at least {min_size} tasks occurs in {min_rows} rows or more")
    return sorted(kept, key=lambda one: (len(one), one))


def _has_all(table: Indicators, members: tuple[int, ...]) -> Floats:
    return np.asarray(table.values[:, list(members)].astype(bool).all(axis=1), dtype=np.float64)


def _together(tasks: Axis, sets: list[tuple[int, ...]]) -> Axis:
    """Return the axis whose columns are the sets: does a row have all tasks of one?"""
    names = tuple(" & ".join(tasks.names[one] for one in members) for members in sets)

    def columns(table: Indicators | None) -> Indicators | None:
        if table is None:
            return None
        return Indicators(np.column_stack([_has_all(table, one) for one in sets]), names)

    truth = columns(tasks.truth)
    assert truth is not None
    return Axis(truth, columns(tasks.predicted), columns(tasks.train))


def _undirected(
    groups: Axis, together: Axis, train: Association | None, weight: Floats | None
) -> float | None:
    if groups.predicted is None or together.predicted is None:
        return None
    counted = tally(groups.truth.values, together.truth.values, weight)
    world = train or Association.from_tally(counted, groups.names, together.names)
    guessed = tally(groups.predicted.values, together.predicted.values, weight)
    model = Association.from_tally(guessed, groups.names, together.names)
    base = world.attribute_given_task
    chosen = sign(base, np.full_like(base, 1 / len(groups.names))) > 0
    # A product, so that a set that is never predicted is undefined whichever group is larger.
    change = np.abs(model.attribute_given_task - base) * chosen
    return float(defined_mean(change.sum(axis=0)))


# Not as a decorator, so that the function keeps its own signature.
metrics.register("multi-attribute")(multi_attribute_amplification)
