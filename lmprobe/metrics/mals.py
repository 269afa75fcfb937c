"""The amplification of "Men Also Like Shopping" (Zhao et al. 2017), kept to show its limits.

    (1 / |T|) * sum over pairs of  y(a,t) * (P(predicted a | predicted t) - P(a | t))
    y(a,t) = 1 where P(a | t) > 1 / |A|, else 0

It looks at positive correlations only, takes the larger group for the correlated one, and
cannot tell whether the attribute or the task was mispredicted (section 3.2 of Wang &
Russakovsky 2021): use `directional_amplification` to measure, this to compare with older work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.errors import Argument, InputError
from lmprobe.metrics.association import Association, Floats, checked_weight, ratio, sign, tally
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import amplification, defined_mean, train_world
from lmprobe.metrics.labels import Axis, Indicators, Labels, read_axis
from lmprobe.metrics.metric import PredictedTables, metrics, table_form


@dataclass(frozen=True, slots=True, eq=False)
class MalsAmplification:
    """The amplification of every pair as Zhao et al. count it; (A, T), NaN is undefined."""

    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    predicted: Floats
    base_rate: Floats

    @property
    def correlated(self) -> Floats:
        """y(a,t), (A, T): 1 where the attribute has more than an even share of the task."""
        even = np.full_like(self.base_rate, 1 / len(self.attributes))
        return np.maximum(sign(self.base_rate, even), 0.0)

    @property
    def by_pair(self) -> Floats:
        """The amplification of each pair, (A, T)."""
        return amplification(self.predicted, self.base_rate, self.correlated)

    @property
    def value(self) -> float:
        """The sum over attributes, averaged over the tasks that are defined."""
        return float(defined_mean(self.by_pair.sum(axis=0)))

    @property
    def values(self) -> dict[str, float]:
        """The one value, which has no direction."""
        return {"undirected": self.value}

    @property
    def undefined_pairs(self) -> int:
        """How many pairs belong to a task that is never labelled or never predicted."""
        return int(np.isnan(self.by_pair).sum())


def mals_amplification(
    attribute_labels: Labels,
    task_labels: Labels,
    *,
    attribute_predictions: Labels,
    task_predictions: Labels,
    train_attribute_labels: Labels | None = None,
    train_task_labels: Labels | None = None,
    sample_weight: Any = None,
    train_sample_weight: Any = None,
) -> MalsAmplification:
    """Measure undirected bias amplification, MALS (Zhao et al. 2017), to compare with older work.

    The inputs are those of `directional_amplification`. P(a|t) is that of the train labels if
    they are given, otherwise that of the labels; the predictions are those of the test rows.

    Examples
    --------
    The second shortcoming: predictions that exaggerate the link score -0.6.

    >>> groups = np.repeat(["A1", "A2"], [90, 30])
    >>> truth = np.repeat([0, 1, 0, 1], [60, 30, 10, 20])
    >>> guess = np.repeat([0, 1], [90, 30])
    >>> mals_amplification(
    ...     groups, truth, attribute_predictions=groups, task_predictions=guess
    ... ).value
    -0.6
    """
    groups = read_axis("attribute", attribute_labels, attribute_predictions, train_attribute_labels)
    tasks = read_axis("task", task_labels, task_predictions, train_task_labels)
    weight = checked_weight(sample_weight, len(groups.truth.values))
    measured = undirected(groups, tasks, train_world(groups, tasks, train_sample_weight), weight)
    if measured is None:
        both = Argument("attribute_predictions"), " and ", Argument("task_predictions")
        raise InputError("MALS needs both ", *both)
    if np.isnan(measured.by_pair).all():
        raise InputError("no task is both labelled and predicted; MALS has no defined pair")
    return measured


def undirected(
    groups: Axis, tasks: Axis, train: Association | None, weight: Floats | None
) -> MalsAmplification | None:
    """Return MALS of rows that were read; None without predictions of both groups and tasks."""
    if groups.predicted is None or tasks.predicted is None:
        return None

    def association(group: Indicators, task: Indicators) -> Association:
        counts = tally(group.values, task.values, weight)
        return Association.from_tally(counts, groups.names, tasks.names)

    world = train or association(groups.truth, tasks.truth)
    model = association(groups.predicted, tasks.predicted)
    return MalsAmplification(
        groups.names, tasks.names, model.attribute_given_task, world.attribute_given_task
    )


# Not as a decorator, so that the function keeps its own signature.
metrics.register("mals")(mals_amplification)


@table_form(mals_amplification)
def _of_tables(tables: PredictedTables) -> Floats:
    """Return the values with P(predicted a | predicted t) of the joint table of both.

    The joint table is what the model predicts times how often the base has what is given: of
    predicted attributes it has the given tasks, of predicted tasks the given attributes.
    """
    given_task = tables.predicted
    if tables.direction is Direction.ATTRIBUTE_TO_TASK:
        joint = tables.predicted * tables.base.p_attribute[:, None]
        given_task = ratio(joint, joint.sum(axis=1, keepdims=True))
    base = tables.base
    return np.array(
        [
            MalsAmplification(base.attributes, base.tasks, table, base.attribute_given_task).value
            for table in given_task
        ]
    )
