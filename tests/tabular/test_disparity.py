"""Disparities against definitions and fairlearn; which method, which notes, which confidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.disparity import MEASURES
from lmprobe.results import IntervalStatus, NoteKind, Verdict
from lmprobe.stats.methods.bounded import bernstein_halfwidth
from lmprobe.stats.methods.proportions import exact_interval
from lmprobe.tabular.disparity import group_disparities, group_disparity, table_disparities
from lmprobe.tabular.disparity_result import Disparity, DisparityResult
from lmprobe.tabular.settings import DisparitySettings

GROUPS = ["a"] * 20 + ["b"] * 60
GUESSES = [1] * 6 + [0] * 14 + [1] * 40 + [0] * 20
"""Denied: 14 of 20, and 20 of 60."""


def table(seed: int = 0, n: int = 300, groups: str = "abc") -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    group = draw.choice(["a", "b", "c"], n, p=[0.3, 0.5, 0.2])
    truth = (draw.random(n) < 0.4 + 0.2 * (group == "a")).astype(int)
    guess = (draw.random(n) < 0.3 + 0.4 * truth + 0.1 * (group == "b")).astype(int)
    rows = pd.DataFrame({"y": truth, "p": guess, "group": group})
    return rows[rows.group.isin(list(groups))]


def disparity(guesses: Any = GUESSES, groups: Any = GROUPS, **more: Any) -> Disparity:
    return group_disparity(None, guesses, sensitive_features=groups, **{"protected": "a", **more})


def distance(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    return np.abs(y_true - y_pred)


def costs(paid: list[float], bound: float, **more: Any) -> Disparity:
    """Return the disparity of a first half of group a and a second of group b."""
    half = len(paid) // 2
    return group_disparity(
        [0.0] * len(paid), paid, sensitive_features=["a"] * half + ["b"] * half, protected="a",
        cost=distance, cost_bound=bound, **more,
    )  # fmt: skip


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


class TestValue:
    @pytest.mark.parametrize("measure", MEASURES)
    def test_it_is_the_protected_minus_the_other(self, measure: Any) -> None:
        rows = table()
        result = group_disparity(
            rows.y, rows.p, sensitive_features=rows.group, protected="a", measure=measure
        )
        inside, outside = (rate(rows[rows.group.eq("a") == own], measure) for own in (True, False))
        assert result.value == pytest.approx(inside - outside, abs=1e-12)
        assert result.mean_costs == pytest.approx((inside, outside))
        assert result.value in result.interval
        assert result.measure == measure

    def test_fairlearn_has_the_same_rates(self) -> None:
        fairlearn = pytest.importorskip("fairlearn.metrics")

        rows = table(groups="ab")
        shared = {"sensitive_features": rows.group}
        result = group_disparity(rows.y, rows.p, **shared, protected="a", measure="equalized_odds")
        assert result.largest_component is not None
        theirs = fairlearn.equalized_odds_difference(rows.y, rows.p, **shared)
        assert result.largest_component[0] == pytest.approx(theirs, abs=1e-12)
        parity = group_disparity(rows.y, rows.p, **shared, protected="a")
        theirs = fairlearn.demographic_parity_difference(rows.y, rows.p, **shared)
        assert abs(parity.value) == pytest.approx(theirs, abs=1e-12)

    @settings(deadline=None, max_examples=20)
    @given(seed=st.integers(0, 1000))
    def test_swapping_the_groups_turns_the_sign(self, seed: int) -> None:
        rows = table(seed, 60, "ab")
        both = [disparity(rows.p, rows.group, protected=name, method="score") for name in "ab"]
        assert both[0].value == pytest.approx(-both[1].value, abs=1e-12)
        assert both[0].interval.low == pytest.approx(-both[1].interval.high, abs=1e-9)

    def test_the_numbers_of_a_row(self) -> None:
        result = disparity()
        assert result.mean_costs == pytest.approx((0.7, 1 / 3))
        assert (result.group_sizes, result.group_share) == ((20, 60), 0.25)
        expected = exact_interval(14, 20, 20, 60, confidence=0.95)
        assert (result.interval.low, result.interval.high) == pytest.approx(expected)
        assert (result.verdict, result.interval.confidence) == (Verdict.HIGHER, 0.95)
        turned = disparity(protected="b")
        assert (turned.verdict, turned.group_share) == (Verdict.LOWER, 0.25)

    def test_the_measure_or_the_cost_and_the_groups_give_the_names(self) -> None:
        assert disparity().measure == "demographic_parity"
        assert costs([0.0, 1.0], 1.0).measure == "distance"
        groups = ["a", "b", "c"] * 10
        assert disparity([0, 1] * 15, groups, protected=["a", "c"]).protected == "a + c"
        assert disparity([0, 1] * 15, [1, 2, 3] * 10, protected=2).protected == "2"

    def test_any_bounded_cost_on_annotated_rows(self) -> None:
        result = group_disparity(
            [10.0, 20.0, 30.0, 40.0], [12.0, 20.0, 33.0, 90.0], sensitive_features=list("abab"),
            protected="a", cost=distance, cost_bound=50.0, annotated=[True, True, True, False],
        )  # fmt: skip
        assert result.value == pytest.approx(2.5)
        assert result.group_sizes == (2, 1)


class TestMethod:
    @pytest.mark.parametrize(
        ("paid", "bound", "method"),
        [
            ([0.0, 1.0, 1.0, 0.0], 1.0, "exact"),
            ([0.0, 4.0, 4.0, 0.0], 4.0, "exact"),
            # 1 is neither nothing nor everything of 4.
            ([0.0, 4.0, 1.0, 0.0], 4.0, "betting"),
            ([0.25, 0.0, 0.0, 0.25], 4.0, "betting"),
            ([0.0, 1.0, 0.1, 0.0], 1.0, "betting"),
        ],
    )
    def test_auto_is_exact_for_costs_of_zero_and_the_bound(
        self, paid: list[float], bound: float, method: str
    ) -> None:
        assert costs(paid, bound).interval.method == method
        assert costs(paid, bound, method="bernstein").interval.method == "bernstein"

    def test_a_function_may_be_the_method(self) -> None:
        from lmprobe.stats.methods.proportions import score

        assert disparity(method=score).interval == disparity(method="score").interval

    def test_the_seed_decides_the_bets(self) -> None:
        chances = np.linspace(0.1, 0.9, 80)
        both = [disparity(chances, seed=seed, method="betting").interval for seed in (0, 1)]
        assert both[0] == disparity(chances, method="betting").interval != both[1]

    @pytest.mark.parametrize(("share", "used"), [(None, 0.25), (0.2, 0.2), (0.25, 0.25)])
    def test_bernsteins_bound_takes_a_share_and_a_variance(
        self, share: float | None, used: float
    ) -> None:
        result = disparity(method="bernstein", group_share=share, confidence=0.9)
        # The costs over the share of their group, negative for the other; and 1 - cost likewise.
        signs = np.where(np.array(GROUPS) == "a", 1 / 0.25, -1 / 0.75)
        variances = [(signs * paid).var() for paid in (1 - np.array(GUESSES), np.array(GUESSES))]
        half = bernstein_halfwidth(80, min(variances), used, confidence=0.9)
        assert result.interval.width == pytest.approx(2 * half)
        texts = [note.text for note in result.notes]
        assert {note.kind for note in result.notes} == {NoteKind.ASSUMPTION}
        assert sum("is that of the sample" in text for text in texts) == (share is None)
        assert "the variance is estimated" in texts[-1]
        assert result.group_share == used

    def test_a_share_that_the_sample_contradicts_is_noted(self) -> None:
        texts = [note.text for note in disparity(method="bernstein", group_share=0.26).notes]
        assert "0.25, is below the bound that was given, 0.26" in texts[0]

    @pytest.mark.parametrize("method", ["auto", "score", "betting"])
    def test_methods_given_the_sizes_assume_nothing(self, method: str) -> None:
        assert disparity(method=method).notes == ()
        assert disparity(method=method, group_share=0.4).notes == ()

    def test_loss_and_accuracy_are_the_same_facts(self) -> None:
        rows = table()
        loss, accuracy = (
            group_disparity(
                rows.y, rows.p, sensitive_features=rows.group, protected="a", measure=name,
                method="bernstein",
            ).interval
            for name in ("equalized_odds", "accuracy_difference")
        )  # fmt: skip
        assert (loss.low, loss.high) == pytest.approx((-accuracy.high, -accuracy.low), abs=1e-12)


class TestBootstrap:
    @pytest.mark.parametrize(
        ("rows", "rare", "kind"),
        [
            (9, 4, NoteKind.NO_INTERVAL),
            (10, 4, NoteKind.FEW_UNITS),
            (19, 9, NoteKind.FEW_UNITS),
            (20, 10, None),
            (40, 4, NoteKind.FEW_UNITS),
            (40, 5, None),
            (40, 36, NoteKind.FEW_UNITS),
            (40, 35, None),
            (40, 0, NoteKind.NO_INTERVAL),
            (40, 40, NoteKind.NO_INTERVAL),
        ],
    )
    def test_ten_and_twenty_rows_and_five_of_the_rarer_kind(
        self, rows: int, rare: int, kind: NoteKind | None
    ) -> None:
        guesses = [0] * rare + [1] * (rows - rare) + [0, 1] * 30
        result = disparity(guesses, ["a"] * rows + ["b"] * 60, method="bootstrap")
        assert [note.kind for note in result.notes] == ([] if kind is None else [kind])
        what = f"the protected group has {rows} rows, {min(rare, rows - rare)} of the rarer kind"
        assert all(note.text.startswith(what) for note in result.notes)
        refused = kind is NoteKind.NO_INTERVAL
        assert (result.interval.status is IntervalStatus.TOO_FEW_UNITS) == refused
        assert not refused or result.verdict is Verdict.UNDECIDED

    def test_both_groups_are_looked_at(self) -> None:
        result = disparity([0, 1] * 8, ["a", "a", "b", "b"] * 4, method="bootstrap")
        said = [note.text.split(" has ")[0] for note in result.notes]
        assert said == ["the protected group", "the other group"]

    def test_costs_that_are_all_alike_have_no_bootstrap(self) -> None:
        varied = [0.5, 1.5] * 20
        alike = costs([0.5] * 40 + varied, 2.0, method="bootstrap")
        assert alike.interval.status is IntervalStatus.TOO_FEW_UNITS
        assert costs([0.5, 0.6] * 20 + varied, 2.0, method="bootstrap").notes == ()
        rare = costs([0.0] + [2.0] * 39 + varied, 2.0, method="bootstrap")
        assert "40 rows, 1 of the rarer kind" in rare.notes[0].text


class TestEqualizedOdds:
    def odds(self, truth: Any = (0, 1) * 40, **more: Any) -> Disparity:
        return group_disparity(
            truth, GUESSES, sensitive_features=GROUPS, protected="a",
            **{"measure": "equalized_odds", "method": "score", **more},
        )  # fmt: skip

    def test_both_components_cover_at_once(self) -> None:
        result = self.odds(confidence=0.8)
        assert [part.measure for part in result.components] == ["tpr_difference", "fpr_difference"]
        (note,) = [note for note in result.notes if note.kind is NoteKind.MULTIPLICITY]
        assert "intervals are at 0.9 each, so that both cover at once at 0.8" in note.text
        assert result.interval.confidence == 0.8
        for part in result.components:
            alone = self.odds(measure=part.measure, confidence=0.9)
            assert part.protected == "a"
            assert part.interval.confidence == pytest.approx(0.9)
            ends = (alone.interval.low, alone.interval.high)
            assert (part.interval.low, part.interval.high) == pytest.approx(ends)

    def test_a_component_without_rows_is_left_out(self) -> None:
        result = self.odds([1] * 20 + [0, 1] * 30, confidence=0.8)
        assert [part.measure for part in result.components] == ["tpr_difference"]
        assert result.components[0].interval.confidence == pytest.approx(0.8)
        assert [(note.kind, note.scope) for note in result.notes] == [
            (NoteKind.LEFT_OUT, "fpr_difference")
        ]
        assert "no row" in result.notes[0].text
        neither = self.odds([1] * 20 + [0] * 60)
        assert (neither.components, neither.largest_component) == ((), None)

    def test_other_measures_and_costs_have_no_components(self) -> None:
        assert self.odds(measure="accuracy_difference").components == ()
        assert self.odds(cost=distance).components == ()


def in_turn(names: list[str], **more: Any) -> DisparityResult:
    guesses, groups = [0, 1] * len(names), names * 2
    return group_disparities(
        None, guesses, sensitive_features=groups, **{"method": "score", **more}
    )


class TestEveryGroup:
    def test_three_groups_are_three_rows_at_once(self) -> None:
        result = in_turn(["c", "a", "b"], confidence=0.7)
        assert [row.protected for row in result.rows] == ["a", "b", "c"]
        for row in result.rows:
            alone = disparity(
                [0, 1] * 3, ["c", "a", "b"] * 2, protected=row.protected, method="score",
                confidence=row.interval.confidence,
            )  # fmt: skip
            assert row.interval.confidence == pytest.approx(0.9)
            assert row == alone
        (note,) = result.notes
        assert note.kind is NoteKind.MULTIPLICITY
        assert note.text == "each interval is at 0.9, so that all cover at once at 0.7"
        assert "mirrored_group" not in result.provenance

    def test_two_groups_are_one_row_and_its_mirror(self) -> None:
        result = in_turn(["y", "x"])
        assert [row.protected for row in result.rows] == ["x"]
        assert result.rows[0].interval.confidence == pytest.approx(0.95)
        assert (result.notes, result.provenance["mirrored_group"]) == ((), "y")

    def test_a_protected_group_is_one_row_without_a_mirror(self) -> None:
        for names in (["x", "y"], ["x", "y", "z"]):
            result = in_turn(names, protected="y")
            assert [row.protected for row in result.rows] == ["y"]
            assert result.rows[0].interval.confidence == pytest.approx(0.95)
            assert (result.notes, "mirrored_group" in result.provenance) == ((), False)
        together = in_turn(["x", "y", "z"], protected=["x", "z"])
        assert [row.protected for row in together.rows] == ["x + z"]

    def test_one_group_or_more_than_a_hundred(self) -> None:
        names = [f"{number:03}" for number in range(101)]
        assert len(in_turn(names[:100]).rows) == 100
        with pytest.raises(InputError, match=r"101 groups are too many.*`protected`"):
            in_turn(names)
        with pytest.raises(InputError, match="at least two: found x"):
            in_turn(["x"])

    def test_the_provenance_has_the_settings(self) -> None:
        result = in_turn(["x", "y"], group_share=0.4, seed=3, confidence=0.9)
        assert result.provenance["settings"] == {
            "measure": "demographic_parity",
            "method": "score",
            "group_share": 0.4,
            "confidence": 0.9,
            "seed": 3,
        }


ROWS = pd.DataFrame(
    {
        "race": ["a", "b", "c", "a", "b", "c"] * 5,
        "repaid": [1, 0] * 15,
        "approved": [1, 1, 0, 0, 0, 1, 1, 0, 0, 1] * 3,
    }
)


class TestTable:
    def measured(self, source: Any = ROWS, **more: Any) -> DisparityResult:
        return table_disparities(source, prediction="approved", attribute=["race"], **more)

    def test_the_columns_are_measured_as_arrays_are(self) -> None:
        assert [row.protected for row in self.measured().rows] == ["a", "b", "c"]
        score = DisparitySettings(method="score", measure="tpr_difference", seed=3)
        result = self.measured(label="repaid", protected=["a", "c"], settings=score)
        expected = group_disparity(
            ROWS.repaid, ROWS.approved, sensitive_features=ROWS.race, protected=["a", "c"],
            method="score", measure="tpr_difference",
        )  # fmt: skip
        assert result.rows == (expected,)
        with pytest.raises(InputError, match="tpr_difference needs the column of true labels"):
            self.measured(settings=score)

    def test_a_file_can_be_measured_again(self, tmp_path: Path) -> None:
        path = tmp_path / "loans.csv"
        ROWS.to_csv(path, index=False)
        score = DisparitySettings(method="score")
        facts = self.measured(path, label="repaid", protected=["a"], settings=score).provenance
        assert facts["command"] == (
            f"lmprobe disparity {path} --prediction approved --label repaid --attribute race "
            "--protected a --interval score"
        )
        assert (facts["subject"], facts["attribute"]) == (str(path), ["race"])
        assert "--label" not in self.measured(path).provenance["command"]
        table = self.measured().provenance
        assert (table["subject"], "command" in table) == ("a table", False)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"confidence": 2}, "confidence"),
        ({"confidence": "0.95"}, "confidence"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"group_share": 0.7}, "group_share"),
        ({"group_share": "x"}, "group_share"),
        ({"method": "guess"}, "guess"),
        ({"measure": "parity"}, 'no `measure` "parity"'),
        ({"protected": "z"}, 'no protected group "z"'),
    ],
)
def test_a_mistake_names_its_argument(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        disparity(**wrong)
