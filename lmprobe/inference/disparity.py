"""A group disparity with its interval (Bernstein-Bounded Unfairness, Ethayarajh 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmprobe.intervals.bernstein import checked_group_share
from lmprobe.intervals.interval import Interval
from lmprobe.intervals.method import IntervalMethod, interval
from lmprobe.intervals.two_groups import groups_sample
from lmprobe.metrics.disparity import Cost, GroupCosts, group_costs

# With fewer rows, or fewer of them that differ, the bootstrap is too short: docs/coverage.md.
_FEW, _FEW_COSTS = 20, 5


@dataclass(frozen=True, slots=True)
class Disparity:
    """The mean cost of the protected group minus that of the other, with its interval."""

    measure: str
    value: float
    interval: Interval
    mean_costs: tuple[float, float]
    """Of the protected group and of the other."""
    group_sizes: tuple[int, int]
    """The rows that count, of the protected group and of the other."""
    group_share: float
    """The lower bound on the share of the smaller group that the bound was made with."""
    components: tuple[Disparity, ...] = ()
    """For equalized odds: the TPR and FPR differences, whose intervals hold both at once."""
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What the interval allows to be said."""
        if self.interval.low > 0:
            return "higher for the protected group"
        if self.interval.high < 0:
            return "lower for the protected group"
        return "not enough evidence either way"

    @property
    def largest_component(self) -> tuple[float, Interval] | None:
        """The larger of the |TPR| and |FPR| differences with its interval, or None.

        This is what fairlearn calls the equalized odds difference. The interval holds
        because those of both components hold at once.
        """
        if not self.components:
            return None
        value = max(abs(one.value) for one in self.components)
        ranges = [_absolute(one.interval) for one in self.components]
        low, high = max(one[0] for one in ranges), max(one[1] for one in ranges)
        return value, Interval(low, high, self.interval.confidence, self.interval.method)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        largest = self.largest_component
        return {
            "measure": self.measure,
            "value": self.value,
            "interval": self.interval.to_dict(),
            "verdict": self.verdict,
            "mean_costs": list(self.mean_costs),
            "group_sizes": list(self.group_sizes),
            "group_share": self.group_share,
            "components": [one.to_dict() for one in self.components],
            "largest_component": None
            if largest is None
            else {"value": largest[0], "interval": largest[1].to_dict()},
            "notes": list(self.notes),
        }


def _absolute(found: Interval) -> tuple[float, float]:
    """Return the range of |x| for x in the interval."""
    ends = (abs(found.low), abs(found.high))
    return (0.0 if 0 in found else min(ends)), max(ends)


def group_disparity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    protected: str | Sequence[str],
    other: str | Sequence[str] | None = None,
    measure: str = "demographic_parity",
    cost: Cost | None = None,
    cost_bound: float = 1.0,
    annotated: Any = None,
    group_share: float | None = None,
    method: str | IntervalMethod = "bernstein",
    confidence: float = 0.95,
    seed: int = 0,
) -> Disparity:
    """Measure how much more a group pays for a classifier's predictions, with an interval.

    Parameters
    ----------
    y_true, y_pred
        (n,) labels (0/1) and predictions (0/1 or probabilities); with a `cost` any numbers.
    sensitive_features
        (n,) the group of each row, or several columns whose cross product makes the groups.
    protected, other
        One group or several; without `other`, all that are not protected.
    measure
        `demographic_parity`, `equal_opportunity`, `equalized_odds`, `fpr_difference`,
        `tpr_difference` or `accuracy_difference`; `lmprobe.metrics.disparity` says what each
        charges. The value is the mean cost of the protected group minus that of the other.
    cost, cost_bound, annotated
        A function of (y_true, y_pred) that returns costs in [0, cost_bound], in place of a
        measure, and optionally the rows that count.
    group_share
        A lower bound on the share of the smaller group in the population (Definition 2.4);
        when not given, its share in the sample, which a note says.
    method
        `bernstein` (as published), `hoeffding`, `stratified`, `stratified-bernstein`,
        `score`, `bootstrap`, ...
    seed
        Of the bootstrap.

    Examples
    --------
    >>> hired = [0] * 60 + [1] * 40 + [0] * 40 + [1] * 60
    >>> groups = ["women"] * 100 + ["men"] * 100
    >>> found = group_disparity(
    ...     None, hired, sensitive_features=groups, protected="women", method="stratified"
    ... )
    >>> round(found.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.2, 0.008, 0.392)
    """
    rng = np.random.default_rng(seed)

    def costs_of(name: str) -> GroupCosts:
        return group_costs(
            y_true,
            y_pred,
            sensitive_features=sensitive_features,
            protected=protected,
            other=other,
            measure=name,
            cost=cost,
            cost_bound=cost_bound,
            annotated=annotated,
        )

    name = measure if cost is None else getattr(cost, "__name__", "cost")
    whole = disparity(
        costs_of(measure), name, method=method, confidence=confidence, share=group_share, rng=rng
    )
    if measure != "equalized_odds" or cost is not None:
        return whole
    each = 1 - (1 - confidence) / 2
    parts = tuple(
        disparity(costs_of(one), one, method=method, confidence=each, share=group_share, rng=rng)
        for one in ("tpr_difference", "fpr_difference")
    )
    note = (
        "errors of both kinds can cancel in the zero-one loss; the components do not: their "
        f"intervals are at {each:g} each, so that both hold at once at {confidence:g} (Bonferroni)"
    )
    return replace(whole, components=parts, notes=(*whole.notes, note))


def disparity(
    costs: GroupCosts,
    measure: str,
    *,
    method: str | IntervalMethod,
    confidence: float,
    share: float | None,
    rng: np.random.Generator,
) -> Disparity:
    """Return the disparity of costs that are already split by group."""
    sizes = (len(costs.protected), len(costs.other))
    notes = []
    seen = min(sizes) / sum(sizes)
    gamma = seen if share is None else checked_group_share(share)
    sample = groups_sample(
        costs.protected, costs.other, cost_bound=costs.cost_bound, group_share=gamma
    )
    found = interval(sample, method=method, confidence=confidence, rng=rng)
    if found.method in ("bernstein", "hoeffding", "empirical-bernstein"):
        if share is None:
            notes.append(
                "the share of the smaller group is that of the sample; the bound takes it as "
                "known (give `group_share` where it is)"
            )
        elif seen < share:
            notes.append(
                f"the share of the smaller group in the sample, {seen:.4g}, is below the bound "
                f"that was given, {share:.4g}: the interval is too short where the sample is right"
            )
    if found.method == "bernstein":
        notes.append("the variance is estimated from the sample; the bound takes it as known")
    if found.method.startswith("bootstrap"):
        notes += _bootstrap_notes(costs)
    if np.isnan(found.low):
        notes.append("every resample gives the same value, no spread can be seen: no interval")
    means = (float(costs.protected.mean()), float(costs.other.mean()))
    return Disparity(measure, sample.value, found, means, sizes, gamma, notes=tuple(notes))


def _bootstrap_notes(costs: GroupCosts) -> list[str]:
    """Say where resampling cannot see what may happen: too few rows, or too few costs."""
    notes = []
    for name, paid in (("protected", costs.protected), ("other", costs.other)):
        # Of 0/1 costs, the rarer kind is what the rows know little of.
        seen = min(np.count_nonzero(paid), np.count_nonzero(paid < costs.cost_bound))
        if len(paid) < _FEW or seen < _FEW_COSTS:
            notes.append(
                f"the {name} group has {len(paid)} rows, {seen} of the rarer kind: the bootstrap "
                "interval is too short there; use score or stratified"
            )
    return notes
