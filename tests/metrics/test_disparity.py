"""Costs by group: the cost of each measure by hand, the limits of every argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.disparity import (
    MEASURES,
    EmptyGroupError,
    GroupCosts,
    group_costs,
    group_names,
)

GOOD: dict[str, Any] = {
    "y_true": [0, 1, 0, 1],
    "y_pred": [0.0, 0.25, 1.0, 0.75],
    "sensitive_features": ["a", "a", "b", "b"],
    "protected": "a",
}
# The cost of each of the four rows, and the rows that the measure is counted on.
COSTS = {
    "demographic_parity": ([1.0, 0.75, 0.0, 0.25], [0, 1, 2, 3]),
    "equal_opportunity": ([1.0, 0.75, 0.0, 0.25], [1, 3]),
    "equalized_odds": ([0.0, 0.75, 1.0, 0.25], [0, 1, 2, 3]),
    "fpr_difference": ([0.0, 0.25, 1.0, 0.75], [0, 2]),
    "tpr_difference": ([0.0, 0.25, 1.0, 0.75], [1, 3]),
    "accuracy_difference": ([1.0, 0.25, 0.0, 0.75], [0, 1, 2, 3]),
}


def split(costs: GroupCosts) -> tuple[list[float], list[float]]:
    return costs.protected.tolist(), costs.other.tolist()


@pytest.mark.parametrize("measure", MEASURES)
def test_the_cost_of_a_probability_is_worked_out_by_hand(measure: Any) -> None:
    paid, counted = COSTS[measure]
    costs = group_costs(**GOOD, measure=measure)
    inside, outside = ([paid[row] for row in counted if (row < 2) == own] for own in (True, False))
    assert split(costs) == (inside, outside)
    assert costs.value == pytest.approx(np.mean(inside) - np.mean(outside))
    assert costs.cost_bound == 1.0


def test_parity_is_the_measure_by_default_and_needs_no_truth() -> None:
    for truth in (None, GOOD["y_true"]):
        assert split(group_costs(**GOOD | {"y_true": truth})) == ([1.0, 0.75], [0.0, 0.25])


def test_only_annotated_rows_are_counted() -> None:
    assert split(group_costs(**GOOD, annotated=[1, 0, 1, 1])) == ([1.0], [0.0, 0.25])
    mask = np.array([True, True, False, True])
    assert split(group_costs(**GOOD, annotated=mask)) == ([1.0, 0.75], [0.25])


def test_a_cost_of_ones_own_takes_any_numbers_and_all_rows() -> None:
    own = {"y_true": [10, -20, 7, 7], "y_pred": [13, -20, 7, 8]}
    costs = group_costs(**GOOD | own, cost=lambda y, p: np.abs(y - p), cost_bound=3.0)
    # A cost of exactly the bound and of exactly 0 are within it.
    assert split(costs) == ([3.0, 0.0], [0.0, 1.0])


def test_groups_may_be_numbers_several_or_crossed_and_rows_of_neither_are_left_out() -> None:
    rows: dict[str, Any] = {"y_true": None, "y_pred": [0, 1, 1, 0], "protected": 3}
    rows["sensitive_features"] = [3, 4, 5, 4]
    assert split(group_costs(**rows)) == ([1.0], [0.0, 0.0, 1.0])
    assert split(group_costs(**rows | {"protected": [3, 4]})) == ([1.0, 0.0, 1.0], [0.0])
    assert split(group_costs(**rows | {"protected": ("3",)}, other="5")) == ([1.0], [0.0])
    frame = pd.DataFrame({"sex": ["f", "m", "f", "m"], "race": ["w", "b", "b", "b"]})
    crossed = rows | {"sensitive_features": frame, "protected": ["f & w", "m & b"]}
    assert split(group_costs(**crossed)) == ([1.0, 0.0, 1.0], [0.0])
    assert group_names(frame) == ["f & b", "f & w", "m & b"]
    assert group_names([[2], [1]]) == ["1", "2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": [0, 1, 1.5, 1]}, r"`y_pred` must lie in \[0, 1\]: found 0.0 to 1.5"),
        ({"y_pred": [0, -0.5, 1, 1]}, r"`y_pred` must lie in \[0, 1\]: found -0.5 to 1.0"),
        ({"y_pred": [0, np.nan, np.inf, 1]}, "`y_pred` has NaN or infinity, first in row 1"),
        ({"y_pred": [[0, 1, 1, 1]]}, r"`y_pred` must be one column with at least one row: \(1, 4"),
        ({"y_pred": []}, r"`y_pred` must be one column with at least one row: \(0,\)"),
        ({"y_true": ["x"] * 4}, "`y_true` must be one column of numbers"),
        ({"y_true": [0, 1, 3, 2]}, "`y_true` must hold 0 and 1: found 3.0"),
        ({"y_true": [1, 0, 1]}, "`y_true`, `y_pred` and `sensitive_features` have 3, 4 and 4 rows"),
        ({"sensitive_features": ["a", "b"]}, "have 4, 4 and 2 rows"),
        ({"sensitive_features": ["a", None, None, "b"]}, "2 rows without a group, first row 1"),
        ({"sensitive_features": "a"}, "`sensitive_features` must be one column or several"),
        ({"sensitive_features": []}, "`sensitive_features` must be one column or several"),
        ({"protected": ["a", "c"]}, 'no protected group "c"'),
        ({"other": "c"}, 'no other group "c"'),
        ({"other": ["b", "a"]}, "a group cannot be both `protected` and `other`"),
        ({"cost_bound": 0}, "`cost_bound` must be positive and finite: found 0"),
        ({"cost_bound": np.inf}, "`cost_bound` must be positive and finite: found inf"),
        ({"cost_bound": "1"}, "`cost_bound` must be positive and finite: found 1"),
        ({"cost": lambda y, p: p - 0.5}, r"must lie in \[0, 1.0\] .*: found -0.5 to 0.5"),
        ({"cost": lambda y, p: p * 2}, r"must lie in \[0, 1.0\] .*: found 0.0 to 2.0"),
        ({"cost": lambda y, p: p * np.nan}, r"must lie in \[0, 1.0\] .*: found nan"),
        ({"cost": lambda y, p: p[:3]}, r"one number per row, found shape \(3,\)"),
        ({"cost": lambda y, p: p, "y_true": None}, "for demographic_parity only"),
        ({"measure": "equalized_odds", "y_true": None}, "for demographic_parity only"),
        ({"measure": "demographic_party"}, 'no measure called "demographic_party"; did you mean'),
        ({"annotated": [0, 1, 2, 1]}, "`annotated` must be 4 values"),
        ({"annotated": [True] * 3}, "`annotated` must be 4 values"),
    ],
)
def test_a_mistake_names_its_argument(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        group_costs(**GOOD | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "tpr_difference", "y_true": [0, 0, 1, 1]}, "protected group.*tpr_difference"),
        ({"measure": "fpr_difference", "y_true": [0, 0, 1, 1]}, "other group.*fpr_difference"),
        ({"annotated": [1, 1, 0, 0]}, "the other group has no row on which demographic_parity"),
        ({"cost": lambda y, p: p, "annotated": [0, 0, 1, 1]}, "protected group.*the cost is"),
    ],
)
def test_a_group_without_a_row_is_an_error_of_its_own(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EmptyGroupError, match=message):
        group_costs(**GOOD | change)
