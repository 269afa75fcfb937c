"""Directional bias amplification (Wang & Russakovsky 2021, Eq. 2).

How much further do predictions lean than the labels do? For each pair of an attribute a
and a task t, the change of a conditional probability, multiplied by the lean:

    attribute->task:  lean(a,t) * (P(predicted t | a) - P(t | a))
    task->attribute:  lean(a,t) * (P(predicted a | t) - P(a | t))

A positive value means that predictions exaggerate the link, a negative one that they
weaken it. The value is the mean over the pairs that are defined.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association, Floats, Tally, checked_weight, lean, tally
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.labels import Axis, Indicators, Labels, read_axis
from lmprobe.metrics.metric import PredictedTables, metrics, table_form

if TYPE_CHECKING:
    import pandas as pd


def amplification(predicted: Floats, base: Floats, lean: Floats) -> Floats:
    """Return how much further the predictions lean than the base does, pair by pair.

    All are (..., A, T); leading axes, such as one table per template, are kept, and NaN,
    the mark of an undefined pair, stays NaN.
    """
    # Adding zero turns the -0.0 of an unchanged pair that leans down into a plain 0.
    return lean * (predicted - base) + 0.0


def defined_mean(values: Floats, axis: int | tuple[int, ...] | None = None) -> Any:
    """Return the mean of what is defined, NaN where nothing is: the only NaN-skipping mean."""
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=axis)
    counted = defined.sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)[()]


@dataclass(frozen=True, slots=True, eq=False)
class Amplification:
    """The amplification of every pair in one direction, and its summaries.

    Arrays are (A, T), NaN where a pair is undefined.
    """

    direction: Direction
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    predicted: Floats
    base_rate: Floats
    lean: Floats

    def __post_init__(self) -> None:
        """Refuse a table in which nothing is defined: its mean would be nothing."""
        if np.isnan(self.by_pair).all():
            raise InputError(
                f"no pair of an attribute and a task is defined for {self.direction}: "
                "every condition has zero rows, or every label of an axis is new"
            )

    @property
    def by_pair(self) -> Floats:
        """The amplification of each pair, (A, T)."""
        return amplification(self.predicted, self.base_rate, self.lean)

    @property
    def value(self) -> float:
        """The mean over the defined pairs: positive exaggerates, negative weakens."""
        return float(defined_mean(self.by_pair))

    @property
    def absolute(self) -> float:
        """The mean size, sign aside: large when pairs cancel in `value`."""
        return float(defined_mean(np.abs(self.by_pair)))

    @property
    def by_task(self) -> Floats:
        """The mean over attributes, (T,)."""
        return np.asarray(defined_mean(self.by_pair, axis=0))

    @property
    def by_attribute(self) -> Floats:
        """The mean over tasks, (A,)."""
        return np.asarray(defined_mean(self.by_pair, axis=1))

    @property
    def undefined_pairs(self) -> int:
        """How many pairs are left out of every mean: 0/0, or of a label that never occurs."""
        return int(np.isnan(self.by_pair).sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair."""
        import pandas as pd

        size = len(self.tasks)
        return pd.DataFrame(
            {
                "direction": self.direction,
                "attribute": np.repeat(self.attributes, size),
                "task": np.tile(self.tasks, len(self.attributes)),
                "predicted": self.predicted.ravel(),
                "base_rate": self.base_rate.ravel(),
                "lean": self.lean.ravel(),
                "amplification": self.by_pair.ravel(),
            }
        )


@dataclass(frozen=True, slots=True)
class DirectionalAmplification:
    """Both directions; one is None where its prediction was not given."""

    attribute_to_task: Amplification | None
    task_to_attribute: Amplification | None

    @property
    def directions(self) -> tuple[Amplification, ...]:
        """The directions that were measured."""
        both = (self.attribute_to_task, self.task_to_attribute)
        return tuple(measured for measured in both if measured is not None)

    @property
    def values(self) -> dict[str, float]:
        """The value of each direction that was measured."""
        return {str(measured.direction): measured.value for measured in self.directions}


@dataclass(frozen=True, slots=True, eq=False)
class Tallies:
    """The sums that the metric needs: of the labels, and of the predictions in each direction."""

    labels: Tally
    predicted: Mapping[Direction, Tally]


def from_tallies(
    sums: Tallies,
    attributes: tuple[str, ...],
    tasks: tuple[str, ...],
    *,
    train: Association | None = None,
    keep_unseen: bool = False,
) -> DirectionalAmplification:
    """Return both directions from the sums alone; the lean is that of `train` where given."""
    leaning = train or Association.from_tally(sums.labels, attributes, tasks)

    def measured(direction: Direction) -> Amplification | None:
        if direction not in sums.predicted:
            return None
        # Both sides from the sums, so that equal counts differ by exactly nothing.
        predicted, base = sums.predicted[direction], sums.labels
        return Amplification(
            direction,
            attributes,
            tasks,
            predicted.conditional(direction),
            base.conditional(direction),
            lean_of_seen(leaning, direction, keep_unseen=keep_unseen),
        )

    return DirectionalAmplification(**{way.slug: measured(way) for way in Direction})


def lean_of_seen(world: Association, direction: Direction, *, keep_unseen: bool = False) -> Floats:
    """Return the lean (A, T), NaN for pairs of a label that `world` never has.

    Such a label leans nowhere, so that its pairs would only dilute the mean with zeros;
    `keep_unseen` keeps the zeros, as the published code does.
    """
    signs = lean(world, direction)
    seen = (world.p_attribute[:, None] > 0) & (world.p_task > 0)
    return signs if keep_unseen else np.where(seen, signs, np.nan)


def directional_amplification(
    attribute_labels: Labels,
    task_labels: Labels,
    *,
    attribute_predictions: Labels | None = None,
    task_predictions: Labels | None = None,
    train_attribute_labels: Labels | None = None,
    train_task_labels: Labels | None = None,
    sample_weight: Any = None,
    train_sample_weight: Any = None,
    keep_unseen: bool = False,
) -> DirectionalAmplification:
    """Measure directional bias amplification of labelled rows (Wang & Russakovsky 2021).

    Each input is an (n, A) or (n, T) array or DataFrame of 0/1 or probabilities, or one
    categorical column. A task column of 0/1 is one task, present or not; an attribute
    column of 0/1 is two groups.

    Parameters
    ----------
    attribute_labels, task_labels
        The true group and the true task of each row.
    attribute_predictions, task_predictions
        The predictions of a model, of either or both. task->attribute needs the first,
        attribute->task the second.
    train_attribute_labels, train_task_labels
        The labels of the train set, which then determine the lean (Appendix A.1 of the
        paper); everything else is computed on the test rows.
    sample_weight, train_sample_weight
        (n,) weights of the test and of the train rows; a weight of 2 counts the row twice.
    keep_unseen
        Count pairs whose label never occurs in the data that determine the lean as 0, as in
        the published code; by default they are left out of the mean.

    Examples
    --------
    The first example of the paper's section 3.2: three groups, one task; the model never
    predicts it for the second group and always for the third.

    >>> groups = np.repeat(["A1", "A2", "A3"], [50, 50, 30])
    >>> truth = np.repeat([0, 1, 0, 1, 0, 1], [10, 40, 40, 10, 10, 20])
    >>> guess = np.repeat([0, 1, 0, 1], [10, 40, 50, 30])
    >>> result = directional_amplification(groups, truth, task_predictions=guess)
    >>> round(result.attribute_to_task.value, 4)
    0.1778
    """
    if attribute_predictions is None and task_predictions is None:
        raise InputError("give `attribute_predictions`, `task_predictions` or both")
    groups = read_axis("attribute", attribute_labels, attribute_predictions, train_attribute_labels)
    tasks = read_axis("task", task_labels, task_predictions, train_task_labels)
    weight = checked_weight(sample_weight, len(groups.truth.values))
    sums = tallies(groups, tasks, weight)
    train = train_world(groups, tasks, train_sample_weight)
    return from_tallies(sums, groups.names, tasks.names, train=train, keep_unseen=keep_unseen)


def train_world(groups: Axis, tasks: Axis, sample_weight: Any = None) -> Association | None:
    """Return the world of the train labels, or None where there are none."""
    if groups.train is None and tasks.train is None:
        return None
    if groups.train is None or tasks.train is None:
        raise InputError("`train_attribute_labels` and `train_task_labels` go together")
    weight = checked_weight(sample_weight, len(groups.train.values), "train_sample_weight")
    seen = tally(groups.train.values, tasks.train.values, weight)
    return Association.from_tally(seen, groups.names, tasks.names)


def tallies(groups: Axis, tasks: Axis, weight: Floats | None = None) -> Tallies:
    """Count the rows."""

    def count(group: Indicators, task: Indicators) -> Tally:
        return tally(group.values, task.values, weight)

    predicted = {}
    for direction in Direction:
        sides = [groups.truth, tasks.truth]
        guess = (groups, tasks)[direction.axis].predicted
        if guess is not None:
            sides[direction.axis] = guess
            predicted[direction] = count(*sides)
    return Tallies(count(groups.truth, tasks.truth), predicted)


# Not as a decorator, so that the function keeps its own signature.
metrics.register("directional")(directional_amplification)


@table_form(directional_amplification)
def _of_tables(tables: PredictedTables) -> Floats:
    base_rate = tables.base.conditional(tables.direction)
    cells = amplification(tables.predicted, base_rate, tables.lean)
    return np.asarray(defined_mean(cells, axis=(1, 2)))
