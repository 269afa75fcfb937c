"""Metrics in the convention of scikit-learn and fairlearn: `metric(y_true, y_pred, *, ...)`.

Each returns one number, so it fits `sklearn.metrics.make_scorer` and
`fairlearn.metrics.MetricFrame`; the functions they call also give intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmprobe.metrics.direction import DisparityMeasure
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.labels import cross, is_frame
from lmprobe.tabular.disparity import group_disparity


def bias_amplification(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return how much further predictions lean than labels do, attribute->task.

    Positive: they exaggerate the link between the groups and the label; 0 is the goal.
    `sensitive_features` is the group of each row, or a table of columns whose cross product
    makes the groups, as in `disparity`.

    >>> groups = ["a"] * 4 + ["b"] * 4
    >>> bias_amplification([1, 1, 1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0],
    ...                    sensitive_features=groups)
    0.25
    """
    groups = cross(sensitive_features) if is_frame(sensitive_features) else sensitive_features
    amplification = directional_amplification(
        groups, y_true, task_predictions=y_pred, sample_weight=sample_weight
    )
    return amplification.values["attribute->task"]


def disparity(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    protected: str | Sequence[str],
    measure: DisparityMeasure = "demographic_parity",
) -> float:
    """Return the mean cost of the protected group minus that of the others.

    The measures are those of `lmprobe.group_disparity`, which also gives the interval.
    """
    groups = {"sensitive_features": sensitive_features, "protected": protected}
    return group_disparity(y_true, y_pred, **groups, measure=measure, method="bernstein").value
