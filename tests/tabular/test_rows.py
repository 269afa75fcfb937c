"""One row per direction: mean over runs, corrected value, and when each note is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import lmprobe
from lmprobe.results import Obstacle, Verdict
from lmprobe.stats.row_sums import RowSums
from lmprobe.tabular.result import AmplificationResult

CHOICES: dict[str, Any] = {
    "attribute": "sex",
    "task": "job",
    "task_prediction": "said",
    "attribute_prediction": "sex",
}


def people(*kinds: tuple[str, str, str, int]) -> pd.DataFrame:
    """Return rows by kind: group, task, predicted task, how many."""
    kinds_of_rows = pd.DataFrame(kinds, columns=["sex", "job", "said", "times"])
    return kinds_of_rows.loc[kinds_of_rows.index.repeat(kinds_of_rows["times"])].reset_index()


def measured(*runs: pd.DataFrame, **choices: Any) -> AmplificationResult:
    return lmprobe.amplify(list(runs), **CHOICES, runs=True, **choices)


def notes(result: AmplificationResult) -> dict[str, str]:
    return {note.kind.value: note.text for note in result.notes}


# Of 100 women 90 do x, of 100 men 20; 95 and 10 are predicted to.
CLEAR = people(
    ("f", "x", "x", 90), ("f", "y", "x", 5), ("f", "y", "y", 5), ("m", "x", "x", 10),
    ("m", "x", "y", 10), ("m", "y", "y", 80),
)  # fmt: skip
# The same with all women predicted right.
OTHER = people(
    ("f", "x", "x", 90), ("f", "y", "y", 10), ("m", "x", "x", 10),
    ("m", "x", "y", 10), ("m", "y", "y", 80),
)  # fmt: skip
# Women and men do x about as often; women are always predicted to, men never.
EVEN = people(("f", "x", "x", 50), ("f", "y", "x", 50), ("m", "x", "y", 51), ("m", "y", "y", 49))
# Women do x more often, and z about as often as men.
MIXED = people(
    ("f", "x", "x", 60), ("f", "y", "y", 20), ("f", "z", "z", 20), ("m", "x", "x", 20),
    ("m", "x", "y", 10), ("m", "y", "y", 50), ("m", "z", "z", 22),
)  # fmt: skip


def test_the_value_is_the_mean_over_pairs_by_hand() -> None:
    result = measured(CLEAR)
    row = result.row("A->T")
    # Women lean to x: 0.95 - 0.9; men away from x: 0.2 - 0.1; y is the rest of x.
    np.testing.assert_allclose(row.by_pair, [[0.05, 0.05], [0.1, 0.1]])
    assert row.value == pytest.approx(0.075)
    assert row.absolute == pytest.approx(0.075)
    assert result.row("T->A").value == 0
    assert (row.base, row.undefined_pairs, row.over_runs) == ("labels", 0, None)
    assert row.estimate.corrected is None
    assert row.estimate.interval.method == "bootstrap"
    assert notes(result) == {
        "assumption": "the interval assumes that the rows are independent, and takes the lean of "
        "these rows as known"
    }
    clustered = measured(CLEAR.assign(person=range(200)), cluster="person")
    assert "the clusters (person) are independent" in notes(clustered)["assumption"]


def test_runs_are_averaged_pair_by_pair() -> None:
    result = measured(CLEAR, OTHER)
    row = result.row("A->T")
    np.testing.assert_allclose(row.by_pair, [[0.025, 0.025], [0.1, 0.1]])
    assert row.over_runs is not None
    assert row.over_runs.value == row.value == pytest.approx((0.075 + 0.05) / 2)
    assert [run.run for run in row.runs] == ["run 1", "run 2"]
    assert "both other rows and other training runs than these 2" in notes(result)["runs"]


def test_a_lean_that_chance_may_decide_is_corrected() -> None:
    result = measured(MIXED)
    row, said = result.row("A->T"), notes(result)
    assert row.estimate.corrected is not None
    assert row.estimate.corrected == row.runs[0].corrected == row.runs[0].estimate.claimed
    assert row.estimate.base_bias == pytest.approx(row.value - row.estimate.corrected)
    assert (row.estimate.interval.method, row.estimate.obstacle) == ("cross-fitted", None)
    assert said["tie"].startswith("2 of 6 pairs lie within two standard errors of a tie")
    assert "uses a lean that is cross-fitted on other rows" in said["assumption"]
    # Without an interval nothing is said, and a train table has a lean of its own.
    plain = measured(MIXED, interval=None)
    assert (plain.rows[0].estimate.corrected, notes(plain)) == (None, {})
    assert not plain.rows[0].estimate.interval.bounded
    trained = measured(MIXED, train=CLEAR)
    assert trained.rows[0].estimate.corrected is None
    assert "takes the lean of the train table as known" in notes(trained)["assumption"]


def test_of_two_runs_only_the_one_with_a_close_pair_is_corrected() -> None:
    row = measured(CLEAR, MIXED).row("A->T")
    first, second = row.runs
    assert first.corrected is None
    assert second.corrected is not None
    mean = (first.value + second.corrected) / 2
    assert row.estimate.corrected == pytest.approx(mean)


def test_labels_without_a_link_have_no_direction_and_predictions_may_be_uneven() -> None:
    result = measured(EVEN)
    row = result.row("A->T")
    assert (row.estimate.obstacle, row.strength) == (Obstacle.NO_LEAN, None)
    assert row.unevenness is not None
    assert row.unevenness.value == pytest.approx(0.5)
    assert row.unevenness.interval.low > 0.3
    assert row.unevenness.p_value < 1e-6
    assert row.estimate.verdict is Verdict.UNEVEN
    said = result.page().headline[1].text
    assert "nothing that the predictions could exaggerate; “x” is predicted for" in said
    assert "for 100% of f and 0% of m, a difference that chance hardly explains" in said
    assert lmprobe.check(result, max=0.9).exit_code == 4
    # The groups are predicted as they are: that does not depend on the task.
    other = result.row("T->A")
    assert other.estimate.verdict is Verdict.UNDECIDED
    assert other.unevenness is not None
    assert other.unevenness.p_value > 0.9
    # A train table says which way the labels lean.
    assert measured(EVEN, train=CLEAR).row("A->T").unevenness is None


def test_predictions_that_equal_the_labels_are_as_strong() -> None:
    row = measured(MIXED.assign(said=MIXED["job"])).row("A->T")
    assert row.strength is not None
    assert (row.strength.value, row.strength.interval.status) == (1.0, "undefined")
    # One task has no links, and without an interval none are estimated.
    assert measured(MIXED, interval=None).row("A->T").strength is None
    single = MIXED.assign(job=(MIXED["job"] == "x") * 1, said=(MIXED["said"] == "x") * 1)
    assert measured(single).row("A->T").strength is None
    twice = measured(MIXED, MIXED.assign(said=MIXED["job"])).row("A->T").strength
    alone = measured(MIXED).row("A->T").strength
    assert twice is not None
    assert alone is not None
    assert twice.value == pytest.approx((alone.value + 1) / 2, abs=0.1)


def test_a_train_table_decides_the_lean() -> None:
    turned = people(
        ("f", "x", "x", 10), ("f", "y", "y", 90), ("m", "x", "x", 90), ("m", "y", "y", 10)
    )
    assert measured(CLEAR, train=turned).row("A->T").value == pytest.approx(-0.075)


def test_labels_that_never_occur_are_named() -> None:
    alone = people(("f", "x", "y", 60), ("f", "x", "x", 50), ("m", "y", "y", 1))
    assert notes(measured(alone, interval=None)) == {}
    stray = people(("f", "x", "z", 60), ("f", "x", "x", 50), ("m", "y", "y", 1))
    assert notes(measured(stray, interval=None)) == {
        "left_out": "no row is labelled z: their pairs are left out of the mean"
    }
    never = people(("f", "x", "y", 60), ("m", "x", "x", 1))
    trained = measured(alone, train=never, interval=None, keep_unseen=True)
    assert notes(trained)["left_out"] == (
        "the train table has no row with y: their pairs have no lean and count 0"
    )
    # With two runs a label must be missing in both; one of them has no lean.
    assert set(notes(measured(alone, never, interval=None))) == {"tie"}


@pytest.mark.parametrize(("women", "few"), [(49, True), (50, False)])
def test_fewer_than_a_hundred_rows_are_few(women: int, few: bool) -> None:
    table = people(("f", "x", "x", women), ("m", "y", "y", 50))
    for runs in ([table], [CLEAR, table]):
        said = notes(measured(*runs))
        assert ("few_units" in said) is few
        assert not few or said["few_units"].startswith("only 99 rows: the interval may cover")


@pytest.mark.parametrize(("rare", "few"), [(1, True), (19, True), (20, False)])
def test_a_label_of_fewer_than_twenty_rows_is_named(rare: int, few: bool) -> None:
    by_group = people(("f", "x", "x", 100), ("f", "y", "y", 40), ("m", "y", "y", rare))
    by_task = people(("f", "x", "x", 100), ("m", "x", "x", 40), ("m", "y", "y", rare))
    for tables, direction, name in (
        ([by_group], "A->T", "m"),
        ([CLEAR, by_group], "A->T", "m"),
        ([by_task], "T->A", "y"),
    ):
        result = measured(*tables)
        other = "T->A" if direction == "A->T" else "A->T"
        said, others = (
            [note.text.partition(":")[0] for note in result.row(way).notes if note.kind != "tie"]
            for way in (direction, other)
        )
        assert said == [f"fewer than 20 rows have {name}"] * few
        assert others == []


def test_the_seed_decides_the_draws() -> None:
    first, second, third = (measured(CLEAR, seed=seed).row("A->T") for seed in (0, 0, 1))
    assert first.estimate.interval == second.estimate.interval != third.estimate.interval


def test_nothing_is_drawn_for_an_interval_that_nobody_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a link in the labels, only the unevenness of each direction is resampled."""
    drawn, draws = [], RowSums.drawn

    def counted(self: RowSums, replicates: int, rng: np.random.Generator) -> np.ndarray:
        drawn.append(replicates)
        return draws(self, replicates, rng)

    monkeypatch.setattr(RowSums, "drawn", counted)
    assert measured(EVEN).row("A->T").unevenness is not None
    assert sum(drawn) == 2 * 1000


@pytest.mark.parametrize("same", [{"sex": "f"}, {"job": "x"}, {}])
def test_a_table_in_which_nothing_leans_says_so(same: Any) -> None:
    flat = people(
        ("f", "x", "x", 50), ("f", "y", "x", 50), ("m", "x", "x", 50), ("m", "y", "y", 50)
    )
    result = measured(flat.assign(**same))
    assert result.row("A->T").value == 0
    assert result.row("A->T").estimate.obstacle is Obstacle.NO_LEAN
    plain = measured(flat.assign(**same), interval=None)
    assert notes(plain)["tie"].startswith("no pair leans either way")


def test_no_group_is_named_where_the_predictions_are_alike_too() -> None:
    alike = people(*((sex, job, "x", 50) for sex in "fm" for job in "xy"))
    said = measured(alike).page().headline[0].text
    assert said.endswith("could exaggerate; the predictions show none.")


def test_cross_fitting_of_rows_of_which_some_are_alike() -> None:
    """Scores cut off at 0 and 1 are many rows of one kind among thousands of kinds."""
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b"], 20_000)
    # One link is certain, the other is not.
    shares = np.where(group[:, None] == "a", [0.30, 0.30], [0.50, 0.305])
    task = (rng.random(shares.shape) < shares).astype(int)
    score = np.clip(0.3 + 0.5 * task + rng.normal(0, 0.3, task.shape), 0, 1).round(5)
    columns = {"group": group, "t0": task[:, 0], "t1": task[:, 1]}
    frame = pd.DataFrame({**columns, "p0": score[:, 0], "p1": score[:, 1]})
    alike = frame.groupby([*frame]).size()
    assert len(alike) > 5_000
    assert alike.max() > 16
    tasks, predictions = ["t0", "t1"], ["p0", "p1"]
    result = lmprobe.amplify(
        frame, attribute="group", task=tasks, task_prediction=predictions, seed=1
    )
    (row,) = result.rows
    assert row.interval.low < row.value < row.interval.high
