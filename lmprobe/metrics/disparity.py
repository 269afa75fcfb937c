"""Group disparities as differences of mean cost (Ethayarajh 2020, section 2).

A measure is a cost and the rows it is paid on. The disparity is the mean cost of the
protected group minus the mean cost of the other. The three measures that are named after a
notion of fairness charge for harm, as the paper does; those named after a rate take the rate
itself as the cost, so their sign is that of protected minus other. The error rates of each group
stand beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, InputError, did_you_mean, invalid
from lmprobe.metrics.association import Floats, checked_weight, ratio, tally
from lmprobe.metrics.direction import DisparityMeasure
from lmprobe.metrics.labels import Labels, cross, number_column, read_axis

Cost = Callable[[Floats, Floats], Any]
"""Takes the labels and the predictions, (n,) each, and returns the cost of each row."""


class EmptyGroupError(InputError):
    """A group has no row on which the measure is counted."""


@dataclass(frozen=True, slots=True)
class RowCost:
    """A cost c(y, ŷ), and the labels whose rows are annotated with a group."""

    mean: str
    """What the mean over rows is, such as `share denied`."""
    formula: str
    cost: Cost
    labels: tuple[float, ...] = (0.0, 1.0)


def _denied(truth: Floats, guess: Floats) -> Floats:
    return 1 - guess


def _granted(truth: Floats, guess: Floats) -> Floats:
    return guess


def _wrong(truth: Floats, guess: Floats) -> Floats:
    # For a probability this is the chance of a wrong guess; for 0/1 the zero-one loss.
    return np.abs(truth - guess)


MEASURES: dict[DisparityMeasure, RowCost] = {
    "demographic_parity": RowCost("share denied", "1 - prediction of all rows", _denied),
    "equal_opportunity": RowCost(
        "share denied though qualified", "1 - prediction where label is 1", _denied, (1.0,)
    ),
    # Deviation: the paper would annotate the rows of equal opportunity (y = 1) alone, where
    # the zero-one loss sees no false positive; all rows are needed for what it describes.
    "equalized_odds": RowCost(
        "share predicted wrongly", "|label - prediction| of all rows", _wrong
    ),
    "fpr_difference": RowCost(
        "false positive rate", "prediction where label is 0", _granted, (0.0,)
    ),
    "tpr_difference": RowCost(
        "true positive rate", "prediction where label is 1", _granted, (1.0,)
    ),
    "accuracy_difference": RowCost(
        "accuracy", "1 - |label - prediction|", lambda truth, guess: 1 - _wrong(truth, guess)
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class GroupCosts:
    """The costs of the rows of each group; rows of neither are left out."""

    protected: Floats
    other: Floats
    cost_bound: float

    @property
    def value(self) -> float:
        """The mean cost of the protected group minus that of the other."""
        return float(self.protected.mean() - self.other.mean())


def group_costs(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    protected: str | Sequence[str],
    other: str | Sequence[str] | None = None,
    measure: DisparityMeasure = "demographic_parity",
    cost: Cost | None = None,
    cost_bound: float = 1.0,
    annotated: Any = None,
) -> GroupCosts:
    """Split the costs of the annotated rows by group.

    `y_true` and `y_pred` are (n,), 0/1 or, for the predictions, probabilities; with a `cost`
    of one's own they are any numbers. `y_true` may be None where the measure has no use for
    it. `sensitive_features` is one column, or several whose cross product makes the groups.
    """
    if cost is None and measure not in MEASURES:
        raise InputError(f'no measure called "{measure}"; {did_you_mean(measure, MEASURES)}')
    charged = RowCost("mean cost", "own", cost) if cost is not None else MEASURES[measure]
    guess = _numbers(y_pred, "y_pred", unit=cost is None)
    truth = _truth(y_true, guess, measure, own=cost is not None)
    groups = _groups(sensitive_features)
    counted = _mask(annotated, len(guess))
    if not len(guess) == len(truth) == len(groups):
        raise invalid(
            "y_true",
            ", ",
            Argument("y_pred"),
            " and ",
            Argument("sensitive_features"),
            f" have {len(truth)}, {len(guess)} and {len(groups)} rows; they must have the same",
        )
    if cost is None:
        counted &= np.isin(truth, charged.labels) | np.isnan(truth)
    in_group = np.isin(groups, _wanted(protected, groups, "protected"))
    outside = ~in_group if other is None else np.isin(groups, _wanted(other, groups, "other"))
    if (in_group & outside).any():
        raise InputError(
            "a group cannot be both ", Argument("protected"), " and ", Argument("other")
        )
    costs = _bounded(charged.cost(truth, guess), cost_bound, len(guess))
    for name, rows in (("protected", in_group & counted), ("other", outside & counted)):
        if not rows.any():
            raise EmptyGroupError(
                f"the {name} group has no row on which {measure if cost is None else 'the cost'} "
                "is counted; a difference needs both groups"
            )
    return GroupCosts(costs[in_group & counted], costs[outside & counted], cost_bound)


def _truth(y_true: Any, guess: Floats, measure: str, *, own: bool) -> Floats:
    if y_true is None:
        if own or measure != "demographic_parity":
            raise invalid("y_true", " may be left out for demographic_parity only")
        return np.full(len(guess), np.nan)
    truth = _numbers(y_true, "y_true", unit=False)
    if not own and not np.isin(truth, (0.0, 1.0)).all():
        strange = truth[~np.isin(truth, (0.0, 1.0))][0]
        raise invalid("y_true", f" must hold 0 and 1: found {strange}; code the labels so")
    return truth


def _numbers(column: Any, role: str, *, unit: bool) -> Floats:
    values = number_column(column, role)
    if unit and (values.min() < 0 or values.max() > 1):
        raise invalid(
            role,
            f" must lie in [0, 1]: found {values.min()} to {values.max()}; give 0/1 "
            "decisions or probabilities, or a ",
            Argument("cost"),
            " of your own",
        )
    return values


def group_names(sensitive_features: Any) -> list[str]:
    """Return the groups of one column, or of the cross product of several, sorted."""
    return sorted(set(_groups(sensitive_features)))


def _groups(sensitive_features: Any) -> NDArray[Any]:
    import pandas as pd

    try:
        frame = pd.DataFrame(sensitive_features)
    except (TypeError, ValueError):
        frame = pd.DataFrame()
    if frame.empty:
        raise invalid("sensitive_features", " must be one column or several, with a row at least")
    missing = frame.isna().any(axis=1).to_numpy()
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise invalid(
            "sensitive_features", f" has {missing.sum()} rows without a group, first row {row}"
        )
    if frame.shape[1] == 1:
        return frame.iloc[:, 0].astype(str).to_numpy(dtype=object)
    return cross({str(name): frame[name] for name in frame.columns})


def _wanted(names: str | Sequence[str], groups: NDArray[Any], role: str) -> list[str]:
    wanted = [names] if isinstance(names, str) or np.ndim(names) == 0 else list(names)
    labels = {str(group) for group in np.unique(groups)}
    for name in wanted:
        if str(name) not in labels:
            raise InputError(f'no {role} group "{name}"; {did_you_mean(str(name), labels)}')
    return [str(name) for name in wanted]


def _mask(annotated: Any, rows: int) -> NDArray[np.bool_]:
    if annotated is None:
        return np.ones(rows, dtype=bool)
    mask = np.asarray(annotated)
    if mask.shape != (rows,) or not np.isin(mask, (0, 1)).all():
        raise invalid("annotated", f" must be {rows} values, true where a row has a group")
    return mask.astype(bool)


def _bounded(costs: Any, bound: float, rows: int) -> Floats:
    if not isinstance(bound, int | float | np.number) or not 0 < bound < np.inf:
        raise invalid("cost_bound", f" must be positive and finite: found {bound}")
    values = np.asarray(costs, dtype=np.float64)
    if values.shape != (rows,):
        raise invalid("cost", f" must return one number per row, found shape {values.shape}")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > bound:
        raise InputError(
            f"costs must lie in [0, {bound}] (",
            Argument("cost_bound"),
            f"): found {values.min()} to {values.max()}",
        )
    return values


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
                hint = did_you_mean(name, self.attributes)
                raise InputError(f'no group called "{name}"; {hint}')
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
