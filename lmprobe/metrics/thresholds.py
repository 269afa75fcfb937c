"""Where to cut a score, how amplification depends on the cut, and its mean over all cuts.

A row is predicted positive when its score is at least the threshold. Rows with equal
scores stand or fall together, so not every share of positives can be had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association, Floats, checked_weight, ratio, tally
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import amplification, defined_mean, lean_of_seen, train_world
from lmprobe.metrics.labels import Labels, number_column, read_axis


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold chosen for the share of positives that it gives."""

    value: float
    wanted: float
    """The share that was asked for."""
    share: float
    """The share of rows with a score of at least `value`."""
    row: float
    """The share of the heaviest row."""

    @classmethod
    def fixed(cls, value: float) -> Threshold:
        """Return a threshold that was given as a value; no share was asked for."""
        return cls(value, math.nan, math.nan, math.nan)

    @property
    def tied(self) -> bool:
        """Whether equal scores keep the share from what was wanted, by more than half a row."""
        return abs(self.share - self.wanted) > self.row / 2 + 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class AmplificationCurve:
    """The amplification of one predicted label at every cut of its score.

    The label is a task in the direction attribute->task, an attribute in the other. The
    first cut lies above all scores (nobody is positive), the last at the lowest (everybody
    is).
    """

    direction: Direction
    label: str
    given: tuple[str, ...]
    """The labels of the other axis, which the rates are conditioned on."""
    thresholds: Floats
    """(K,), from high to low; the first is infinite."""
    share: Floats
    """(K,), the share of rows predicted positive, from 0 to 1."""
    by_given: Floats
    """(K, G), NaN for a given label that no row has."""

    @property
    def value(self) -> Floats:
        """The mean over the given labels at each cut, (K,)."""
        return np.asarray(defined_mean(self.by_given, axis=1))

    @property
    def integral(self) -> float:
        """The mean of the curve over the share predicted positive, from none to all.

        Between two cuts the curve is a straight line, which is what choosing at random
        among tied rows gives on average; so the integral is exact. It compares models on
        the same rows: zero is not neutral here, since at most shares even a perfect
        ranking predicts too many or too few.
        """
        return float(np.trapezoid(self.value, self.share))

    def at(self, threshold: float) -> float:
        """Return the value when scores of at least `threshold` are positive."""
        # `thresholds` fall, so count those that are not below the one asked for.
        cut = int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1
        return float(self.value[cut])


def calibrated_threshold(scores: Any, share: float, *, sample_weight: Any = None) -> Threshold:
    """Return the threshold that predicts a share of the (validation) rows positive.

    Of N rows the N * share highest scores are positive (section 3.3 of Wang &
    Russakovsky 2021). Where a tie runs across that place, all tied rows go to the side
    that comes nearer to it.

    >>> calibrated_threshold([0.9, 0.2, 0.6, 0.4], 0.5).value
    0.6
    """
    values = number_column(scores, "scores")
    if not 0 <= share <= 1:
        raise InputError(f"`share` must lie between 0 and 1, found {share}")
    weight = checked_weight(sample_weight, len(values))
    distinct, amounts = _sums(np.empty((len(values), 0)), values, weight)
    reached = np.concatenate([[0.0], np.cumsum(amounts[:, 0])])
    reached /= reached[-1]
    best = int(np.argmin(np.abs(reached - share)))
    # Infinity would do for "nobody", but it cannot be written into JSON.
    value = np.nextafter(values.max(), np.inf) if best == 0 else distinct[best - 1]
    row = 1 / len(values) if weight is None else float(weight.max() / weight.sum())
    return Threshold(float(value), share, float(reached[best]), row)


def amplification_curves(
    attribute_labels: Labels,
    task_labels: Labels,
    *,
    task_scores: Any = None,
    attribute_scores: Any = None,
    train_attribute_labels: Labels | None = None,
    train_task_labels: Labels | None = None,
    sample_weight: Any = None,
    train_sample_weight: Any = None,
    keep_unseen: bool = False,
) -> tuple[AmplificationCurve, ...]:
    """Return one curve per predicted label: its amplification at every threshold.

    Give `task_scores` (n, T) for attribute->task or `attribute_scores` (n, A) for
    task->attribute; one column may be (n,). A score is any number that grows with the
    model's belief in the label. Scores are sorted once and summed, however many thresholds
    there are.
    """
    if (task_scores is None) == (attribute_scores is None):
        raise InputError("give either `task_scores` or `attribute_scores`")
    groups = read_axis("attribute", attribute_labels, None, train_attribute_labels)
    tasks = read_axis("task", task_labels, None, train_task_labels)
    weight = checked_weight(sample_weight, len(groups.truth.values))
    sums = tally(groups.truth.values, tasks.truth.values, weight)
    world = Association.from_tally(sums, groups.names, tasks.names)
    own_scores = dict(zip(Direction, (attribute_scores, task_scores), strict=True))
    direction = next(way for way in Direction if own_scores[way] is not None)
    train = train_world(groups, tasks, train_sample_weight)
    base = world.conditional(direction)
    leaning = lean_of_seen(train or world, direction, keep_unseen=keep_unseen)
    # One row per predicted label.
    base, leaning = (np.moveaxis(table, direction.axis, 0) for table in (base, leaning))
    given, predicted = (groups, tasks)[direction.given_axis], (groups, tasks)[direction.axis]
    columns = np.asarray(own_scores[direction])
    columns = columns[:, None] if columns.ndim == 1 else columns
    shape = predicted.truth.values.shape
    if columns.shape != shape:
        raise InputError(f"the scores must have shape {shape}, found {columns.shape}")
    return tuple(
        curve_of_sums(
            direction,
            name,
            given.names,
            *_sums(given.truth.values, number_column(column, "scores"), weight),
            *pairs,
        )
        for name, column, *pairs in zip(predicted.names, columns.T, base, leaning, strict=True)
    )


def curve_of_sums(
    direction: Direction,
    label: str,
    given: tuple[str, ...],
    scores: Floats,
    amounts: Floats,
    base: Floats,
    leaning: Floats,
) -> AmplificationCurve:
    """Return the curve of one predicted label from the sums at each distinct score.

    `scores` (K,) fall; `amounts` (K, 1 + G) is how much of everybody and of each given label
    has that score; `base` and `leaning` are (G,).
    """
    positive = np.vstack([np.zeros((1, amounts.shape[1])), np.cumsum(amounts, axis=0)])
    rates = ratio(positive, positive[-1])
    by_given = amplification(rates[:, 1:], base, leaning)
    thresholds = np.concatenate([[np.inf], scores])
    return AmplificationCurve(direction, label, given, thresholds, rates[:, 0], by_given)


def _sums(members: NDArray[Any], scores: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return the distinct scores (K,), falling, and the sums of the rows at each, (K, 1 + G).

    `members` (n, G) says how much each row belongs to each group; everybody comes first.
    """
    amount = np.hstack([np.ones((len(scores), 1)), members])
    if weight is not None:
        amount *= weight[:, None]
    rising, place = np.unique(scores, return_inverse=True)
    sums = np.zeros((len(rising), amount.shape[1]))
    np.add.at(sums, place, amount)
    return rising[::-1], sums[::-1]
