"""Group disparities: each measure by hand, and against fairlearn's rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmprobe.errors import InputError
from lmprobe.inference.disparity import group_disparity
from lmprobe.metrics.disparity import MEASURES, group_costs


def table(seed: int = 0, n: int = 300) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    group = draw.choice(["a", "b", "c"], n, p=[0.3, 0.5, 0.2])
    truth = (draw.random(n) < 0.4 + 0.2 * (group == "a")).astype(int)
    guess = (draw.random(n) < 0.3 + 0.4 * truth + 0.1 * (group == "b")).astype(int)
    return pd.DataFrame({"y": truth, "p": guess, "group": group})


def rate(part: pd.DataFrame, measure: str) -> float:
    """Each measure from the definition."""
    positive, negative = part[part.y == 1], part[part.y == 0]
    return {
        "demographic_parity": 1 - part.p.mean(),
        "equal_opportunity": 1 - positive.p.mean(),
        "equalized_odds": (part.p != part.y).mean(),
        "fpr_difference": negative.p.mean(),
        "tpr_difference": positive.p.mean(),
        "accuracy_difference": (part.p == part.y).mean(),
    }[measure]


@pytest.mark.parametrize("measure", MEASURES)
def test_the_value_is_the_protected_minus_the_other(measure: str) -> None:
    rows = table()
    found = group_disparity(
        rows.y, rows.p, sensitive_features=rows.group, protected="a", measure=measure
    )
    inside, outside = (rate(rows[mask], measure) for mask in (rows.group == "a", rows.group != "a"))
    assert found.value == pytest.approx(inside - outside, abs=1e-12)
    assert found.mean_costs == pytest.approx((inside, outside))
    assert found.value in found.interval
    assert found.measure == measure


def test_fairlearn_has_the_same_rates() -> None:
    from fairlearn import metrics as fairlearn

    rows = table()
    rows = rows[rows.group != "c"]
    shared = {"sensitive_features": rows.group}
    found = group_disparity(rows.y, rows.p, **shared, protected="a", measure="equalized_odds")
    assert found.largest_component is not None
    theirs = fairlearn.equalized_odds_difference(rows.y, rows.p, **shared)
    assert found.largest_component[0] == pytest.approx(theirs, abs=1e-12)
    parity = group_disparity(rows.y, rows.p, **shared, protected="a")
    theirs = fairlearn.demographic_parity_difference(rows.y, rows.p, **shared)
    assert abs(parity.value) == pytest.approx(theirs, abs=1e-12)


def test_the_larger_component_has_an_honest_interval() -> None:
    rows = table()
    found = group_disparity(
        rows.y, rows.p, sensitive_features=rows.group, protected="b", measure="equalized_odds",
        method="score",
    )  # fmt: skip
    assert {one.measure for one in found.components} == {"tpr_difference", "fpr_difference"}
    assert all(one.interval.confidence == pytest.approx(0.975) for one in found.components)
    value, ends = found.largest_component or (0.0, found.interval)
    assert value in ends
    assert ends.low >= 0
    assert ends.high == max(
        max(abs(one.interval.low), abs(one.interval.high)) for one in found.components
    )


def test_neither_group_is_left_out() -> None:
    rows = table()
    costs = group_costs(rows.y, rows.p, sensitive_features=rows.group, protected="a", other="b")
    assert len(costs.protected) == (rows.group == "a").sum()
    assert len(costs.other) == (rows.group == "b").sum()


def test_several_columns_cross() -> None:
    rows = table()
    rows["sex"] = np.where(np.arange(len(rows)) % 2, "f", "m")
    costs = group_costs(
        None, rows.p, sensitive_features=rows[["group", "sex"]], protected=["a & f", "b & f"]
    )
    assert len(costs.protected) == (rows.group.isin(["a", "b"]) & (rows.sex == "f")).sum()


def test_any_bounded_cost_on_annotated_rows() -> None:
    truth, guess = [10.0, 20.0, 30.0, 40.0], [12.0, 20.0, 33.0, 90.0]
    found = group_disparity(
        truth,
        guess,
        sensitive_features=["a", "b", "a", "b"],
        protected="a",
        cost=lambda y, p: np.abs(y - p),
        cost_bound=50.0,
        annotated=[True, True, True, False],
        method="stratified",
    )
    assert found.value == pytest.approx(2.5)
    assert found.group_sizes == (2, 1)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000))
def test_swapping_the_groups_turns_the_sign(seed: int) -> None:
    rows = table(seed, 60)
    rows = rows[rows.group != "c"]
    shared = {"sensitive_features": rows.group, "method": "score"}
    one = group_disparity(None, rows.p, **shared, protected="a")
    other = group_disparity(None, rows.p, **shared, protected="b")
    assert one.value == pytest.approx(-other.value, abs=1e-12)
    assert one.interval.low == pytest.approx(-other.interval.high, abs=1e-9)


class TestGroupShare:
    def test_estimated_and_said(self) -> None:
        rows = table()
        found = group_disparity(None, rows.p, sensitive_features=rows.group, protected="a")
        assert found.group_share == pytest.approx((rows.group == "a").mean())
        assert any("share of the smaller group" in note for note in found.notes)

    def test_given(self) -> None:
        rows = table()
        found = group_disparity(
            None, rows.p, sensitive_features=rows.group, protected="a", group_share=0.2
        )
        assert found.group_share == 0.2
        assert not any("share of the smaller group" in note for note in found.notes)
        larger = group_disparity(
            None, rows.p, sensitive_features=rows.group, protected="a", group_share=0.5
        )
        assert any("is below the bound that was given, 0.5" in note for note in larger.notes)
        with pytest.raises(InputError, match="group_share"):
            group_disparity(
                None, rows.p, sensitive_features=rows.group, protected="a", group_share=0.7
            )


def test_the_bootstrap_says_where_it_is_blind() -> None:
    guess = [1] * 50 + [0, 1] * 25
    found = group_disparity(
        None, guess, sensitive_features=["a"] * 50 + ["b"] * 50, protected="a", method="bootstrap"
    )
    assert any("protected group has 50 rows, 0 of the rarer kind" in note for note in found.notes)
    assert found.to_dict()["verdict"] == "lower for the protected group"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"protected": "z"}, 'no protected group "z"'),
        ({"protected": "a", "other": "a"}, "both"),
        ({"measure": "parity"}, "no measure"),
        ({"measure": "fpr_difference", "y_true": [1, 1, 1, 1]}, "the protected group has no row"),
        ({"measure": "tpr_difference", "y_true": None}, "demographic_parity only"),
        ({"y_true": [0, 1, 2, 1]}, "found 2"),
        ({"y_pred": [0, 1, 3, 1]}, r"\[0, 1\]"),
        ({"y_pred": [0, 1, np.nan, 1]}, "row 2"),
        ({"y_pred": ["x", "y", "z", "x"]}, "numbers"),
        ({"y_pred": [0, 1]}, "rows"),
        ({"sensitive_features": ["a", None, "b", "b"]}, "without a group"),
        ({"sensitive_features": ["a", "a", "a", "a"]}, "the other group has no row"),
        ({"cost": lambda y, p: p * 3}, "cost_bound"),
        ({"cost": lambda y, p: [1.0]}, "one number per row"),
        ({"annotated": [1, 0]}, "annotated"),
        ({"cost_bound": 0}, "cost_bound"),
        ({"confidence": 2}, "confidence"),
        ({"method": "guess"}, "guess"),
    ],
)
def test_mistakes(change: dict[str, object], word: str) -> None:
    arguments: dict[str, object] = {
        "y_true": [0, 1, 0, 1],
        "y_pred": [0, 1, 1, 1],
        "sensitive_features": ["a", "a", "b", "b"],
        "protected": "a",
    }
    arguments |= change
    with pytest.raises(InputError, match=word):
        group_disparity(**arguments)  # type: ignore[arg-type]
