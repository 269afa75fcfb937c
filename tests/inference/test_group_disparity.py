"""Disparities: which method, which notes, at which confidence; thresholds to the row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.inference.disparity import group_disparities, group_disparity
from lmprobe.inference.disparity_result import Disparity
from lmprobe.inference.settings import DisparitySettings, PlanSettings
from lmprobe.results import IntervalStatus, NoteKind, Verdict

GROUPS = ["a"] * 20 + ["b"] * 60
GUESSES = [1] * 6 + [0] * 14 + [1] * 40 + [0] * 20


def disparity(guesses: Any = GUESSES, groups: Any = GROUPS, **more: Any) -> Disparity:
    return group_disparity(None, guesses, sensitive_features=groups, **{"protected": "a", **more})


def distance(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    return np.abs(y_true - y_pred)


def costs(paid: list[float], bound: float, **more: Any) -> Disparity:
    """Return the disparity of a first half of group a and a second of group b."""
    groups = ["a"] * (len(paid) // 2) + ["b"] * (len(paid) // 2)
    return group_disparity(
        [0.0] * len(paid), paid, sensitive_features=groups, protected="a", cost=distance,
        cost_bound=bound, **more,
    )  # fmt: skip


class TestOneGroup:
    def test_the_numbers(self) -> None:
        found = disparity()
        # Denied: 14 of 20, and 20 of 60.
        assert found.mean_costs == pytest.approx((0.7, 1 / 3))
        assert found.value == pytest.approx(0.7 - 1 / 3)
        assert found.group_sizes == (20, 60)
        assert found.group_share == 0.25
        assert found.verdict is Verdict.HIGHER
        assert found.interval.confidence == 0.95
        turned = disparity(protected="b")
        assert turned.verdict is Verdict.LOWER
        assert turned.group_share == 0.25

    def test_a_cost_is_at_most_one_unless_told_otherwise(self) -> None:
        found = disparity(method="stratified", confidence=0.9)
        half = math.sqrt((1 / 20 + 1 / 60) * math.log(2 / 0.1) / 2)
        assert found.interval.width == pytest.approx(2 * half)
        every = group_disparities(
            None, GUESSES, sensitive_features=GROUPS, method="stratified", confidence=0.9
        )
        assert every.rows[0].interval == found.interval
        wide = costs([0.0, 1.0, 1.0, 3.0], 3.0, method="stratified")
        assert wide.interval.width == pytest.approx(6 * math.sqrt(math.log(40) / 2))

    def test_the_measure_or_the_cost_gives_the_name(self) -> None:
        assert disparity().measure == "demographic_parity"
        assert costs([0.0, 1.0], 1.0).measure == "distance"

        class Unnamed:
            def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
                return y_pred

        found = group_disparity(
            [0, 1], [0, 1], sensitive_features=["a", "b"], protected="a", cost=Unnamed()
        )
        assert found.measure == "cost"

    def test_several_groups_are_joined_by_name(self) -> None:
        groups = ["a", "b", "c"] * 10
        assert disparity([0, 1] * 15, groups, protected=["a", "c"]).protected == "a + c"
        assert disparity([0, 1] * 15, groups, protected="b").protected == "b"
        numbers = [1, 2, 3] * 10
        assert disparity([0, 1] * 15, numbers, protected=2).protected == "2"

    @pytest.mark.parametrize(
        ("paid", "bound", "method"),
        [
            ([0.0, 1.0, 1.0, 0.0], 1.0, "exact"),
            ([0.0, 4.0, 4.0, 0.0], 4.0, "exact"),
            ([4.0, 4.0, 4.0, 4.0], 4.0, "exact"),
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

    def test_a_method_that_is_named_is_used(self) -> None:
        assert disparity(method="betting").interval.method == "betting"


class TestShareNotes:
    @pytest.mark.parametrize("method", ["bernstein", "hoeffding", "empirical-bernstein"])
    def test_bounds_on_amortized_disparities_say_what_they_assume(self, method: str) -> None:
        texts = [note.text for note in disparity(method=method).notes]
        assert sum("is that of the sample" in text for text in texts) == 1
        assert sum("the variance is estimated" in text for text in texts) == (method == "bernstein")
        known = disparity(method=method, group_share=0.25)
        assert not any("share of the smaller group" in note.text for note in known.notes)
        assert known.group_share == 0.25
        kinds = {note.kind for note in disparity(method=method).notes}
        assert kinds == {NoteKind.ASSUMPTION}

    @pytest.mark.parametrize("method", ["auto", "stratified", "score", "stratified-bernstein"])
    def test_methods_given_the_sizes_assume_nothing(self, method: str) -> None:
        assert disparity(method=method).notes == ()
        assert disparity(method=method, group_share=0.4).notes == ()


def bootstrapped(rare: int, rows: int = 20, **more: Any) -> Disparity:
    """Return the disparity of `rows` rows, `rare` of them with a cost, from plenty of others."""
    guesses = [0] * rare + [1] * (rows - rare) + [0, 1] * 30
    return disparity(guesses, ["a"] * rows + ["b"] * 60, method="bootstrap", **more)


class TestBootstrapNotes:
    @pytest.mark.parametrize(
        ("rows", "rare", "kind"),
        [
            (9, 4, NoteKind.NO_INTERVAL),
            (10, 4, NoteKind.FEW_UNITS),
            (11, 5, NoteKind.FEW_UNITS),
            (19, 9, NoteKind.FEW_UNITS),
            (20, 10, None),
            (21, 10, None),
            (40, 4, NoteKind.FEW_UNITS),
            (40, 5, None),
            (40, 6, None),
            (40, 36, NoteKind.FEW_UNITS),
            (40, 35, None),
            (40, 1, NoteKind.FEW_UNITS),
            (40, 39, NoteKind.FEW_UNITS),
            (40, 0, NoteKind.NO_INTERVAL),
            (40, 40, NoteKind.NO_INTERVAL),
        ],
    )
    def test_ten_and_twenty_rows_and_five_of_the_rarer_kind(
        self, rows: int, rare: int, kind: NoteKind | None
    ) -> None:
        found = bootstrapped(rare, rows)
        assert [note.kind for note in found.notes] == ([] if kind is None else [kind])
        for note in found.notes:
            seen = min(rare, rows - rare)
            what = f"the protected group has {rows} rows, {seen} of the rarer kind"
            assert note.text.startswith(what)
        refused = kind is NoteKind.NO_INTERVAL
        assert (found.interval.status is IntervalStatus.TOO_FEW_UNITS) == refused
        assert found.interval.method == "bootstrap"

    def test_both_groups_are_looked_at(self) -> None:
        found = disparity([0, 1] * 4 + [0, 1] * 4, ["a", "a", "b", "b"] * 4, method="bootstrap")
        said = [note.text.split(" has ")[0] for note in found.notes]
        assert said == ["the protected group", "the other group"]

    def test_costs_that_are_all_alike_have_no_bootstrap(self) -> None:
        varied = [0.5, 1.5] * 20
        found = costs([0.5] * 40 + varied, 2.0, method="bootstrap")
        assert found.interval.status is IntervalStatus.TOO_FEW_UNITS
        assert found.verdict is Verdict.UNDECIDED
        assert costs([0.5, 0.6] * 20 + varied, 2.0, method="bootstrap").notes == ()
        # One apart is not alike.
        assert costs([0.5, 1.5] * 20 + varied, 2.0, method="bootstrap").notes == ()

    def test_the_bound_is_the_rarer_kind_of_large_costs(self) -> None:
        rare = costs([0.0] + [2.0] * 39 + [0.5, 1.5] * 20, 2.0, method="bootstrap")
        assert [note.text.split(", ")[1].split(":")[0] for note in rare.notes] == [
            "1 of the rarer kind"
        ]

    def test_other_methods_have_no_such_notes(self) -> None:
        few = disparity([0, 1] * 4, ["a", "a", "b", "b"] * 2)
        assert few.notes == ()


TRUTH = [0, 1] * 40


class TestEqualizedOdds:
    def odds(self, truth: Any = TRUTH, **more: Any) -> Disparity:
        return group_disparity(
            truth, GUESSES, sensitive_features=GROUPS, protected="a",
            **{"measure": "equalized_odds", "method": "stratified", **more},
        )  # fmt: skip

    def test_both_components_cover_at_once(self) -> None:
        found = self.odds(confidence=0.8)
        assert [one.measure for one in found.components] == ["tpr_difference", "fpr_difference"]
        assert [one.interval.confidence for one in found.components] == pytest.approx([0.9, 0.9])
        assert found.interval.confidence == 0.8
        (note,) = [note for note in found.notes if note.kind is NoteKind.MULTIPLICITY]
        assert "intervals are at 0.9 each, so that both cover at once at 0.8" in note.text
        for one in found.components:
            assert one.protected == "a"
            assert one.interval == self.odds(measure=one.measure, confidence=0.9).interval

    def test_one_component_keeps_the_confidence(self) -> None:
        found = self.odds([1] * 20 + [0, 1] * 30, confidence=0.8)
        assert [one.measure for one in found.components] == ["tpr_difference"]
        assert found.components[0].interval.confidence == pytest.approx(0.8)
        assert [note.kind for note in found.notes] == [NoteKind.LEFT_OUT]

    def test_both_may_be_left_out(self) -> None:
        found = self.odds([1] * 20 + [0] * 60)
        assert found.components == ()
        assert found.largest_component is None
        assert [(note.kind, note.scope) for note in found.notes] == [
            (NoteKind.LEFT_OUT, "tpr_difference"),
            (NoteKind.LEFT_OUT, "fpr_difference"),
        ]

    def test_other_measures_and_costs_have_no_components(self) -> None:
        assert self.odds(measure="accuracy_difference").components == ()
        assert self.odds(cost=distance).components == ()
        assert self.odds(cost=distance).measure == "distance"


def in_turn(names: list[str], **more: Any) -> Any:
    return group_disparities(
        None, [0, 1] * len(names), sensitive_features=names * 2, method="stratified", **more
    )


class TestEveryGroup:
    def test_three_groups_are_three_rows_at_once(self) -> None:
        found = in_turn(["c", "a", "b"], confidence=0.7)
        assert [row.protected for row in found.rows] == ["a", "b", "c"]
        assert [row.interval.confidence for row in found.rows] == pytest.approx([0.9] * 3)
        (note,) = found.notes
        assert note.kind is NoteKind.MULTIPLICITY
        assert note.text == "each interval is at 0.9, so that all cover at once at 0.7"
        assert "mirrored_group" not in found.provenance

    def test_two_groups_are_one_row_and_its_mirror(self) -> None:
        found = in_turn(["y", "x"])
        assert [row.protected for row in found.rows] == ["x"]
        assert found.rows[0].interval.confidence == pytest.approx(0.95)
        assert found.notes == ()
        assert found.provenance["mirrored_group"] == "y"

    def test_a_protected_group_is_one_row_without_a_mirror(self) -> None:
        for names in (["x", "y"], ["x", "y", "z"]):
            found = in_turn(names, protected="y")
            assert [row.protected for row in found.rows] == ["y"]
            assert found.rows[0].interval.confidence == pytest.approx(0.95)
            assert found.notes == ()
            assert "mirrored_group" not in found.provenance

    def test_a_hundred_groups_are_the_most(self) -> None:
        names = [f"{number:03}" for number in range(101)]
        assert len(in_turn(names[:100]).rows) == 100
        with pytest.raises(InputError, match=r"101 groups are too many.*`protected`"):
            in_turn(names)

    def test_one_group_is_none(self) -> None:
        with pytest.raises(InputError, match="at least two: found x"):
            in_turn(["x"])

    def test_the_provenance_has_what_was_chosen(self) -> None:
        found = in_turn(["x", "y"], group_share=0.4, seed=3, confidence=0.9)
        assert found.provenance["settings"] == {
            "measure": "demographic_parity",
            "method": "stratified",
            "group_share": 0.4,
            "confidence": 0.9,
            "seed": 3,
        }


@pytest.mark.parametrize("chosen", [DisparitySettings(), PlanSettings()])
def test_the_confidence_is_95_percent(chosen: DisparitySettings | PlanSettings) -> None:
    assert chosen.confidence == 0.95


def test_the_other_defaults() -> None:
    assert (DisparitySettings().seed, DisparitySettings(seed=0).seed) == (0, 0)
    assert (PlanSettings().group_share, PlanSettings().cost_bound) == (0.5, 1.0)


def test_the_settings_name_the_argument() -> None:
    with pytest.raises(InputError, match="`seed`"):
        disparity(seed=-1)
    with pytest.raises(InputError, match="`confidence`"):
        disparity(confidence=0.0)
    with pytest.raises(InputError, match="`group_share`"):
        disparity(group_share=0.6)
