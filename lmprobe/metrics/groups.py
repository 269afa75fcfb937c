"""Error rates of each group, and the group measures that Figure 2 sets beside amplification.

Wang & Russakovsky 2021 compare with false and true positive rate difference, accuracy
difference, and the accuracy averaged over the classes and groups. They are point
measures; `lmprobe.metrics.disparity` puts intervals around differences between groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.association import ratio
from lmprobe.core.axis import read_axis
from lmprobe.core.labels import Labels
from lmprobe.core.tally import Floats, checked_weight, tally
from lmprobe.errors import InputError, did_you_mean

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
