"""Directional predictability amplification, DPA (Tokas, Nair & Kerner 2025).

How much better can the prediction be guessed from what is given than a label that is wrong
as often, but by chance? With L the reciprocal of an attacker's loss,

    (L(predictions) - L(labels made as wrong)) / (L(predictions) + L(labels made as wrong))

lies between -1 and 1 and needs no direction of bias.

Deviation: the published code trains a small network on random flips of the labels. Here what
is given is one label, so the best attacker is known, and so is the expected effect of the
flips: the value is exact, without training, seeds or trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from lmprobe.errors import InputError, did_you_mean
from lmprobe.metrics.association import Floats, checked_weight, ratio
from lmprobe.metrics.directional import defined_mean
from lmprobe.metrics.labels import Indicators, Labels, read_axis
from lmprobe.metrics.metric import metrics

Loss = Literal["error", "brier", "cross-entropy"]
LOSSES: tuple[Loss, ...] = get_args(Loss)


@dataclass(frozen=True, slots=True, eq=False)
class PredictabilityAmplification:
    """The value of each task in each direction, NaN where both losses are 0."""

    tasks: tuple[str, ...]
    attribute_to_task: Floats | None
    """(T,), None without predictions of the task."""
    task_to_attribute: Floats | None

    @property
    def values(self) -> Mapping[str, float]:
        """The mean over tasks in each direction."""
        both = {
            "attribute->task": self.attribute_to_task,
            "task->attribute": self.task_to_attribute,
        }
        return {name: float(defined_mean(each)) for name, each in both.items() if each is not None}


def predictability_amplification(
    attribute_labels: Labels,
    task_labels: Labels,
    *,
    attribute_predictions: Labels | None = None,
    task_predictions: Labels | None = None,
    sample_weight: Any = None,
    loss: Loss = "brier",
) -> PredictabilityAmplification:
    """How much better predictions can be guessed than labels as wrong by chance (DPA, 2025).

    Two groups, and tasks of 0/1. `loss` is what an attacker is judged by: `error` (how often
    it is wrong, the published code's default with its threshold), `brier` (the squared error
    of its probability) or `cross-entropy`. With `error` the value changes only where the more
    frequent answer does, so that most changes are not seen.

    Examples
    --------
    >>> group = np.repeat([0, 1], 50)
    >>> truth = np.repeat([0, 1, 0, 1], [30, 20, 20, 30])
    >>> biased = np.repeat([0, 1, 0, 1], [40, 10, 10, 40])
    >>> found = predictability_amplification(group, truth, task_predictions=biased)
    >>> round(found.values["attribute->task"], 3)
    0.213
    """
    if loss not in LOSSES:
        raise InputError(f'no loss "{loss}"; {did_you_mean(loss, LOSSES)}')
    groups = read_axis("attribute", attribute_labels, attribute_predictions)
    tasks = read_axis("task", task_labels, task_predictions)
    if groups.predicted is None and tasks.predicted is None:
        raise InputError("give `attribute_predictions`, `task_predictions` or both")
    if len(groups.names) != 2:
        raise InputError(f"DPA needs two groups, found {len(groups.names)}")
    for table in (groups.truth, groups.predicted, tasks.truth, tasks.predicted):
        if table is not None and not np.isin(table.values, (0, 1)).all():
            raise InputError("DPA needs labels and predictions of 0 and 1")
    n = len(groups.truth.values)
    weight = checked_weight(sample_weight, n)
    amount = np.ones(n) if weight is None else weight
    # One column per task; the second group stands beside each of them.
    labels, group = _columns(tasks.truth), _columns(groups.truth)[1:] * len(tasks.names)
    values: list[Floats | None] = [None, None]
    if tasks.predicted is not None:
        cases = zip(group, labels, _columns(tasks.predicted), strict=True)
        values[0] = np.array([_value(*case, amount, loss) for case in cases])
    if groups.predicted is not None:
        guess = _columns(groups.predicted)[1]
        cases = zip(labels, group, [guess] * len(labels), strict=True)
        values[1] = np.array([_value(*case, amount, loss) for case in cases])
    return PredictabilityAmplification(tasks.names, *values)


def _columns(table: Indicators) -> list[Floats]:
    return list(np.asarray(table.values, dtype=np.float64).T)


def _value(given: Floats, truth: Floats, guess: Floats, weight: Floats, loss: Loss) -> float:
    """Return the value of one given label and one predicted label, all (n,) of 0/1."""
    sizes = np.array([weight[given == label].sum() for label in (0, 1)])
    equal, unequal = weight[truth == guess].sum(), weight[truth != guess].sum()
    # Of the sum of both parts, so that rounding leaves it in [0, 1].
    right = float(equal / (equal + unequal))

    def rates(column: Floats) -> Floats:
        sums = np.array([(weight * column)[given == label].sum() for label in (0, 1)])
        return ratio(sums, sizes)

    labelled = rates(truth)
    # Flipping at random until the labels are right as often as the predictions.
    flipped = right * labelled + (1 - right) * (1 - labelled)
    losses = [_loss(sizes, rate, loss) for rate in (flipped, rates(guess))]
    total = sum(losses)
    # (1/m - 1/d) / (1/m + 1/d) = (d - m) / (d + m), which allows a loss of 0.
    return (losses[0] - losses[1]) / total if total > 0 else float("nan")


def _loss(sizes: Floats, rates: Floats, loss: Loss) -> float:
    """Return the summed loss of the attacker that knows the rate of each given label."""
    seen = sizes > 0
    rate = rates[seen]
    if loss == "error":
        each = np.minimum(rate, 1 - rate)
    elif loss == "brier":
        each = rate * (1 - rate)
    else:
        both = np.stack([rate, 1 - rate])
        each = -(both * np.log(np.where(both > 0, both, 1.0))).sum(axis=0)
    return float(sizes[seen] @ each)


# Not as a decorator, so that the function keeps its own signature.
metrics.register("predictability")(predictability_amplification)
