"""Group disparities: each measure by hand, and against fairlearn's rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmprobe.errors import InputError
from lmprobe.inference.disparity import group_disparities, group_disparity
from lmprobe.inference.disparity_result import Disparity, DisparityResult
from lmprobe.metrics.disparity import MEASURES, group_costs
from lmprobe.results import IntervalStatus, NoteKind, Verdict


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
        method="bernstein",
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
        found = group_disparity(
            None, rows.p, sensitive_features=rows.group, protected="a", method="bernstein"
        )
        assert found.group_share == pytest.approx((rows.group == "a").mean())
        assert any("share of the smaller group" in note.text for note in found.notes)

    def test_given(self) -> None:
        rows = table()
        found = group_disparity(
            None,
            rows.p,
            sensitive_features=rows.group,
            protected="a",
            group_share=0.2,
            method="bernstein",
        )
        assert found.group_share == 0.2
        assert not any("share of the smaller group" in note.text for note in found.notes)
        larger = group_disparity(
            None,
            rows.p,
            sensitive_features=rows.group,
            protected="a",
            group_share=0.5,
            method="bernstein",
        )
        assert any("is below the bound that was given, 0.5" in note.text for note in larger.notes)
        with pytest.raises(InputError, match="group_share"):
            group_disparity(
                None, rows.p, sensitive_features=rows.group, protected="a", group_share=0.7
            )


class TestAuto:
    def test_exact_for_decisions(self) -> None:
        rows = table()
        shared = {"sensitive_features": rows.group, "protected": "a"}
        found = group_disparity(None, rows.p, **shared)
        assert found.interval.method == "exact"
        assert found == group_disparity(None, rows.p, **shared, method="exact")

    def test_betting_for_probabilities(self) -> None:
        rows = table()
        chances = 0.2 + 0.5 * rows.p
        found = group_disparity(None, chances, sensitive_features=rows.group, protected="a")
        assert found.interval.method == "betting"

    def test_costs_of_zero_and_the_bound_count_as_decisions(self) -> None:
        found = group_disparity(
            [0, 0, 0, 0], [4, 0, 0, 4], sensitive_features=["a", "a", "b", "b"], protected="a",
            cost=lambda y, p: np.abs(y - p), cost_bound=4.0,
        )  # fmt: skip
        assert found.interval.method == "exact"

    def test_loss_and_accuracy_are_the_same_facts(self) -> None:
        rows = table()
        loss, accuracy = (
            group_disparity(
                rows.y, rows.p, sensitive_features=rows.group, protected="a", measure=name,
                method="bernstein",
            )
            for name in ("equalized_odds", "accuracy_difference")
        )  # fmt: skip
        assert loss.interval.width == pytest.approx(accuracy.interval.width, rel=1e-12)
        assert loss.interval.low == pytest.approx(-accuracy.interval.high, abs=1e-12)


class TestBootstrap:
    def bootstrap(self, guess: list[int], groups: list[str]) -> Disparity:
        return group_disparity(
            None, guess, sensitive_features=groups, protected="a", method="bootstrap"
        )

    def test_refuses_where_costs_are_all_alike(self) -> None:
        found = self.bootstrap([1] * 50 + [0, 1] * 25, ["a"] * 50 + ["b"] * 50)
        assert found.interval.status is IntervalStatus.TOO_FEW_UNITS
        assert found.verdict is Verdict.UNDECIDED
        assert [note.kind for note in found.notes] == [NoteKind.NO_INTERVAL]
        assert "protected group has 50 rows, 0 of the rarer kind" in found.notes[0].text

    def test_refuses_five_rows(self) -> None:
        found = self.bootstrap([0, 1, 1, 0, 1] + [0, 1, 1] * 15, ["a"] * 5 + ["b"] * 45)
        assert found.interval.status is IntervalStatus.TOO_FEW_UNITS

    def test_warns_of_rare_costs(self) -> None:
        guess = [0] * 2 + [1] * 18 + [0] * 60 + [1] * 120
        found = self.bootstrap(guess, ["a"] * 20 + ["b"] * 180)
        assert found.interval.bounded
        assert [note.kind for note in found.notes] == [NoteKind.FEW_UNITS]

    def test_says_nothing_where_it_covers(self) -> None:
        assert self.bootstrap([0, 1] * 100, ["a", "a", "b", "b"] * 50).notes == ()


class TestEqualizedOdds:
    def test_a_component_without_rows_is_left_out(self) -> None:
        rows = table()
        rows = rows[(rows.group != "a") | (rows.y == 1)]
        found = group_disparity(
            rows.y, rows.p, sensitive_features=rows.group, protected="a", measure="equalized_odds"
        )
        assert [component.measure for component in found.components] == ["tpr_difference"]
        assert found.components[0].interval.confidence == 0.95
        note = next(note for note in found.notes if note.kind is NoteKind.LEFT_OUT)
        assert (note.scope, "no row" in note.text) == ("fpr_difference", True)


class TestGroupDisparities:
    def test_every_group_in_turn_covers_at_once(self) -> None:
        rows = table()
        found = group_disparities(None, rows.p, sensitive_features=rows.group)
        assert [row.protected for row in found.rows] == ["a", "b", "c"]
        level = 1 - 0.05 / 3
        assert found.rows[1] == group_disparity(
            None, rows.p, sensitive_features=rows.group, protected="b", confidence=level
        )
        assert [note.kind for note in found.notes] == [NoteKind.MULTIPLICITY]

    def test_two_groups_are_one_question(self) -> None:
        rows = table()
        rows = rows[rows.group != "c"]
        found = group_disparities(None, rows.p, sensitive_features=rows.group)
        assert [row.protected for row in found.rows] == ["a"]
        assert found.notes == ()

    @pytest.mark.parametrize("method", ["auto", "bernstein", "bootstrap"])
    def test_json_and_back(self, method: str) -> None:
        rows = table(n=40)
        found = group_disparities(
            rows.y, rows.p, sensitive_features=rows.group, measure="equalized_odds", method=method
        )
        again = DisparityResult.from_json(found.to_json())
        assert again.to_json() == found.to_json()
        assert again.rows == found.rows
        document = found.to_dict()
        assert (document["schema"], document["kind"]) == ("lmprobe.result/2", "disparity")
        assert document["rows"][0]["verdict"] in ("higher", "lower", "undecided")

    def test_several_groups_together(self) -> None:
        rows = table()
        found = group_disparities(None, rows.p, sensitive_features=rows.group, protected=["a", "b"])
        assert [row.protected for row in found.rows] == ["a + b"]

    def test_every_output_form(self) -> None:
        rows = table()
        found = group_disparities(
            rows.y, rows.p, sensitive_features=rows.group, measure="equalized_odds"
        )
        for text in (found.to_html(), found.to_markdown(), found.to_latex()):
            assert "difference" in text
        assert "<svg" in found.to_html()
        frame = found.to_frame()
        assert list(frame.protected.unique()) == ["a", "b", "c"]
        assert len(frame) == 12  # the value, two components and the larger of them, each
        assert len(repr(found)) < 200

    @pytest.mark.parametrize("wrong", [{"confidence": "0.95"}, {"seed": 0.5}, {"group_share": "x"}])
    def test_wrong_types_are_named(self, wrong: dict[str, object]) -> None:
        with pytest.raises(InputError, match=next(iter(wrong))):
            group_disparity(
                None, [0, 1, 1], sensitive_features=["a", "b", "a"], protected="a",
                **wrong,  # type: ignore[arg-type]
            )  # fmt: skip

    def test_one_group_or_too_many(self) -> None:
        with pytest.raises(InputError, match="at least two"):
            group_disparities(None, [0, 1], sensitive_features=["a", "a"])
        with pytest.raises(InputError, match="too many"):
            group_disparities(None, [0, 1] * 60, sensitive_features=list(range(120)))


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


@pytest.mark.parametrize(
    "annotated", [[0, 1, 2, 1], [1.0, 0.5, 1.0, 1.0], [True] * 3, [[1, 1], [1, 1]], ["a"] * 4]
)
def test_annotated_is_true_or_false_for_each_row(annotated: list[object]) -> None:
    with pytest.raises(InputError, match="`annotated` must be 4 values"):
        group_disparity(
            [0, 1, 0, 1], [0, 1, 1, 1], sensitive_features=list("aabb"), protected="a",
            annotated=annotated,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "rare", "kind"),
    [
        (9, 4, NoteKind.NO_INTERVAL),
        (10, 4, NoteKind.FEW_UNITS),
        (19, 5, NoteKind.FEW_UNITS),
        (20, 5, None),
        (20, 4, NoteKind.FEW_UNITS),
        (20, 0, NoteKind.NO_INTERVAL),
        (20, 15, None),
        (20, 16, NoteKind.FEW_UNITS),
        (20, 20, NoteKind.NO_INTERVAL),
    ],
)
def test_a_bootstrap_says_when_rows_are_few(rows: int, rare: int, kind: NoteKind | None) -> None:
    """The protected group has `rows` rows, `rare` of them with a cost; the other has plenty."""
    guesses = [1] * rare + [0] * (rows - rare) + [0, 1] * 30
    groups = ["a"] * rows + ["b"] * 60
    found = group_disparity(
        None, guesses, sensitive_features=groups, protected="a", measure="demographic_parity",
        method="bootstrap",
    )  # fmt: skip
    kinds = {note.kind for note in found.notes} & {NoteKind.NO_INTERVAL, NoteKind.FEW_UNITS}
    assert kinds == ({kind} if kind else set())
    assert np.isfinite(found.interval.low) == (kind is not NoteKind.NO_INTERVAL)


@pytest.mark.parametrize(("share", "warned"), [(0.26, True), (0.25, False), (0.2, False)])
def test_a_group_smaller_than_was_promised(share: float, warned: bool) -> None:
    """The protected group is a quarter of the rows."""
    guesses, groups = [0, 1] * 40, ["a"] * 20 + ["b"] * 60
    found = group_disparity(
        None, guesses, sensitive_features=groups, protected="a", measure="demographic_parity",
        method="bernstein", group_share=share,
    )  # fmt: skip
    below = [note for note in found.notes if "below the bound" in note.text]
    assert bool(below) == warned
