"""Costs by group: the cost of each measure, the limits of every argument, its name in errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.disparity import MEASURES, EmptyGroupError, group_costs, group_names

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


def test_every_measure_is_worked_out_below() -> None:
    assert set(COSTS) == set(MEASURES)


@pytest.mark.parametrize("measure", COSTS)
def test_the_cost_of_a_probability_is_worked_out_by_hand(measure: Any) -> None:
    costs, counted = COSTS[measure]
    found = group_costs(**GOOD, measure=measure)
    assert found.protected.tolist() == [costs[row] for row in counted if row < 2]
    assert found.other.tolist() == [costs[row] for row in counted if row >= 2]
    assert found.value == pytest.approx(np.mean(found.protected) - np.mean(found.other))
    assert found.cost_bound == 1.0


def test_parity_is_the_measure_by_default_and_needs_no_truth() -> None:
    expected = group_costs(**GOOD, measure="demographic_parity")
    for truth in (None, GOOD["y_true"]):
        found = group_costs(**GOOD | {"y_true": truth})
        assert found.protected.tolist() == expected.protected.tolist()
        assert found.other.tolist() == expected.other.tolist()


def test_only_annotated_rows_are_counted() -> None:
    found = group_costs(**GOOD, annotated=[1, 0, 1, 1])
    assert (found.protected.tolist(), found.other.tolist()) == ([1.0], [0.0, 0.25])
    found = group_costs(**GOOD, annotated=np.array([True, True, False, True]))
    assert (found.protected.tolist(), found.other.tolist()) == ([1.0, 0.75], [0.25])


def test_a_cost_of_ones_own_takes_any_numbers_and_all_rows() -> None:
    found = group_costs(
        [10, -20, 7, 7],
        [13, -20, 7, 8],
        sensitive_features=["a", "a", "b", "b"],
        protected="a",
        cost=lambda y, p: np.abs(y - p),
        cost_bound=3.0,
    )
    # A cost of exactly the bound and of exactly 0 are within it.
    assert (found.protected.tolist(), found.other.tolist()) == ([3.0, 0.0], [0.0, 1.0])
    assert found.cost_bound == 3.0


def test_groups_may_be_numbers_and_several() -> None:
    rows = {"y_true": None, "y_pred": [0, 1, 1], "sensitive_features": [3, 4, 5]}
    assert group_costs(**rows, protected=3).protected.tolist() == [1.0]  # type: ignore[arg-type]
    assert group_costs(**rows, protected=np.int64(3)).other.tolist() == [0.0, 0.0]  # type: ignore[arg-type]
    assert group_costs(**rows, protected=[3, 4]).protected.tolist() == [1.0, 0.0]  # type: ignore[list-item]
    assert group_costs(**rows, protected=("3",), other="5").other.tolist() == [0.0]


def test_the_names_of_groups_are_sorted() -> None:
    assert group_names(["b", "a", "b"]) == ["a", "b"]
    assert group_names([[1], [2]]) == ["1", "2"]
    crossed = pd.DataFrame({"sex": ["f", "m"], "race": ["w", "b"]})
    assert group_names(crossed) == ["f & w", "m & b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_pred": [0, 1, 1.5, 1]}, r"`y_pred` must lie in \[0, 1\]: found 0.0 to 1.5"),
        ({"y_pred": [0, -0.5, 1, 1]}, r"`y_pred` must lie in \[0, 1\]: found -0.5 to 1.0"),
        ({"y_pred": [0, np.nan, np.inf, 1]}, "`y_pred` has NaN or infinity, first in row 1"),
        ({"y_true": [0, 1, -np.inf, np.nan]}, "`y_true` has NaN or infinity, first in row 2"),
        ({"y_pred": [[0, 1, 1, 1]]}, r"`y_pred` must be one column with at least one row: \(1, 4"),
        ({"y_pred": []}, r"`y_pred` must be one column with at least one row: \(0,\)"),
        ({"y_pred": 1}, r"`y_pred` must be one column with at least one row: \(\)"),
        ({"y_true": ["x"] * 4}, "`y_true` must be one column of numbers"),
        ({"y_true": [0, 1, 3, 2]}, "`y_true` must hold 0 and 1: found 3.0"),
        ({"y_true": [0.5, 1, 0, 0]}, "`y_true` must hold 0 and 1: found 0.5"),
        ({"y_true": [1, 0, 1]}, "`y_true`, `y_pred` and `sensitive_features` have 3, 4 and 4 rows"),
        ({"sensitive_features": ["a", "b"]}, "have 4, 4 and 2 rows"),
        ({"y_pred": [1, 0, 1]}, "have 4, 3 and 4 rows"),
        (
            {"sensitive_features": ["a", None, None, "b"]},
            "`sensitive_features` has 2 rows without a group, first row 1",
        ),
        ({"protected": ["a", "c"]}, 'no protected group "c"'),
        ({"other": "c"}, 'no other group "c"'),
        ({"other": ["b", "a"]}, "a group cannot be both `protected` and `other`"),
        ({"cost_bound": 0}, "`cost_bound` must be positive and finite: found 0"),
        ({"cost_bound": -1}, "`cost_bound` must be positive and finite: found -1"),
        ({"cost_bound": np.inf}, "`cost_bound` must be positive and finite: found inf"),
        ({"cost_bound": np.nan}, "`cost_bound` must be positive and finite: found nan"),
        ({"cost": lambda y, p: p - 0.5}, r"must lie in \[0, 1.0\] .*: found -0.5 to 0.5"),
        ({"cost": lambda y, p: p * 2}, r"must lie in \[0, 1.0\] .*: found 0.0 to 2.0"),
        ({"cost": lambda y, p: p * np.nan}, r"must lie in \[0, 1.0\] .*: found nan"),
        ({"cost": lambda y, p: p[:3]}, r"one number per row, found shape \(3,\)"),
        ({"cost": lambda y, p: p, "y_true": None}, "for demographic_parity only"),
        ({"measure": "equalized_odds", "y_true": None}, "for demographic_parity only"),
        ({"measure": "paritty"}, 'no measure called "paritty"'),
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
        (
            {"cost": lambda y, p: p, "annotated": [0, 0, 1, 1]},
            "the protected group has no row on which the cost is",
        ),
    ],
)
def test_a_group_without_a_row_is_an_error_of_its_own(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EmptyGroupError, match=message):
        group_costs(**GOOD | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensitive_features": "a"}, "`sensitive_features` must be one column or several"),
        ({"sensitive_features": 3}, "`sensitive_features` must be one column or several"),
        ({"sensitive_features": []}, "`sensitive_features` must be one column or several"),
        ({"sensitive_features": object()}, "`sensitive_features` must be one column or several"),
        ({"cost_bound": "1"}, "`cost_bound` must be positive and finite: found 1"),
        ({"cost_bound": [1.0]}, r"`cost_bound` must be positive and finite: found \[1.0\]"),
        ({"cost_bound": None}, "`cost_bound` must be positive and finite: found None"),
    ],
)
def test_an_argument_of_another_type_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        group_costs(**GOOD | change)
