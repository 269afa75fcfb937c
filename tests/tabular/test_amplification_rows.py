"""One row per direction: mean over runs, corrected value, and when each note is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.results import Note
from lmprobe.tabular.counting import Counted
from lmprobe.tabular.rows import AmplificationRow, Measurement, measured_rows
from lmprobe.tabular.settings import AmplifySettings

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE
TASKS = ("x", "y")


def counted(*kinds: tuple[str, str, str, int]) -> Counted:
    """Count kinds of rows: group, task, predicted task, how many; groups are predicted as such."""
    groups, tasks, said, times = (np.array(part, dtype=object) for part in zip(*kinds, strict=True))
    return Counted(
        groups, groups, tasks, said, np.ones(len(kinds)), times.astype(np.int64), None, added=False
    )


def run(table: Counted, name: str = "one", groups: tuple[str, ...] = ("f", "m")) -> Measurement:
    return Measurement(name, table, table.row_sums(groups, TASKS))


def rows(
    *runs: Measurement, train: Counted | None = None, **choices: Any
) -> tuple[dict[Direction, AmplificationRow], list[str], tuple[Note, ...]]:
    settings = AmplifySettings(train=None if train is None else "train.csv", **choices)
    sums = None if train is None else train.row_sums(runs[0].sums.attributes, TASKS)
    found, notes = measured_rows(runs, sums, settings)
    return {row.direction: row for row in found}, [note.kind.value for note in notes], notes


# Of 100 women 90 do x, of 100 men 20; 95 and 10 are predicted to.
CLEAR = counted(
    ("f", "x", "x", 90), ("f", "y", "x", 5), ("f", "y", "y", 5), ("m", "x", "x", 10),
    ("m", "x", "y", 10), ("m", "y", "y", 80),
)  # fmt: skip
# The same with all that were predicted x among women predicted y.
OTHER = counted(
    ("f", "x", "x", 90), ("f", "y", "y", 10), ("m", "x", "x", 10),
    ("m", "x", "y", 10), ("m", "y", "y", 80),
)  # fmt: skip


def test_the_value_is_the_mean_over_pairs_by_hand() -> None:
    found, notes, (note,) = rows(run(CLEAR))
    row = found[A_TO_T]
    # Women lean to x: 0.95 - 0.9; men away from x: 0.2 - 0.1; y is the rest of x.
    np.testing.assert_allclose(row.by_pair, [[0.05, 0.05], [0.1, 0.1]])
    assert row.value == pytest.approx(0.075)
    assert row.absolute == pytest.approx(0.075)
    assert found[T_TO_A].value == 0
    assert row.base == "labels"
    assert row.undefined_pairs == 0
    assert row.over_runs is None
    assert row.estimate.corrected is None
    assert row.estimate.base_bias is None
    assert row.runs[0].claimed == row.value
    assert row.runs[0].interval.method == "bootstrap"
    assert notes == ["assumption"]
    assert note.text.endswith("and takes the lean of these rows as known")


def test_runs_are_averaged_pair_by_pair() -> None:
    found, notes, every = rows(run(CLEAR, "one"), run(OTHER, "two"))
    row = found[A_TO_T]
    np.testing.assert_allclose(row.by_pair, [[0.025, 0.025], [0.1, 0.1]])
    assert row.value == pytest.approx((0.075 + 0.05) / 2)
    assert row.over_runs is not None
    assert row.over_runs.value == row.value
    assert [one.run for one in row.runs] == ["one", "two"]
    assert notes == ["assumption", "runs"]
    assert "these 2 trained models" in every[1].text
    assert (row.attributes, row.tasks) == (("f", "m"), TASKS)


def test_a_lean_that_chance_may_decide_is_corrected() -> None:
    """Women and men do x about as often."""
    even = counted(
        ("f", "x", "x", 50), ("f", "y", "x", 50), ("m", "x", "x", 51), ("m", "y", "y", 49)
    )
    found, notes, every = rows(run(even))
    row = found[A_TO_T]
    estimate = row.estimate
    assert notes == ["assumption", "tie"]
    assert estimate.corrected is not None
    assert estimate.corrected == row.runs[0].corrected == row.runs[0].claimed
    assert estimate.base_bias == pytest.approx(estimate.value - estimate.corrected)
    assert row.runs[0].interval.method == "cross-fitted"
    assert every[1].text.startswith("4 of 4 pairs are within two standard errors of a tie")
    assert "`corrected` uses the lean of other rows" in every[1].text
    assert "uses a lean that is cross-fitted on other rows" in every[0].text
    # The percentile interval takes the lean as it is.
    found, notes, every = rows(run(even), interval="bootstrap-percentile")
    assert found[A_TO_T].estimate.corrected is None
    assert notes == ["assumption", "tie"]
    assert "the interval ignores this" in every[1].text
    assert "takes the lean of these rows as known" in every[0].text
    # Without an interval nothing is said, and a train table has a lean of its own.
    found, notes, _ = rows(run(even), interval="none")
    assert (found[A_TO_T].estimate.corrected, notes) == (None, [])
    assert not found[A_TO_T].runs[0].interval.bounded
    found, notes, every = rows(run(even), train=CLEAR)
    assert (found[A_TO_T].estimate.corrected, notes) == (None, ["assumption"])
    assert "takes the lean of the train table as known" in every[0].text
    assert found[A_TO_T].base == "train.csv"


def test_one_close_pair_is_enough_and_the_run_with_most_is_told() -> None:
    def three(middle: int) -> Measurement:
        kinds = []
        for group, often in (("f", 90), ("m", 10), ("o", middle)):
            kinds += [(group, "x", "x", often), (group, "y", "y", 100 - often)]
        table = counted(*kinds)
        only = Counted(
            table.groups, None, (table.tasks == "x")[:, None] * 1.0,
            (table.tasks == "x")[:, None] * 1.0, table.weight, table.times, None, added=False,
        )  # fmt: skip
        return Measurement("one", only, only.row_sums(("f", "m", "o"), ("x",)))

    found, kinds = measured_rows([three(50)], None, AmplifySettings())
    assert kinds[1].text.startswith("1 of 3 pairs are")
    assert found[0].estimate.corrected is not None
    # Of two runs one has a close pair: its note stands for both.
    found, kinds = measured_rows([three(90), three(50)], None, AmplifySettings())
    assert kinds[1].text.startswith("1 of 3 pairs are")
    assert [one.corrected is None for one in found[0].runs] == [True, False]
    first, second = found[0].runs
    assert second.corrected is not None
    mean = (first.pairs.value + second.corrected) / 2
    assert found[0].estimate.corrected == pytest.approx(mean)


def test_a_train_table_decides_the_lean() -> None:
    turned = counted(
        ("f", "x", "x", 10), ("f", "y", "y", 90), ("m", "x", "x", 90), ("m", "y", "y", 10)
    )
    found, _, _ = rows(run(CLEAR), train=turned)
    assert found[A_TO_T].value == pytest.approx(-0.075)


def test_labels_that_never_occur_are_named() -> None:
    """Also where one row alone has a label: it does occur."""
    alone = counted(("f", "x", "y", 60), ("f", "x", "x", 50), ("m", "y", "y", 1))
    _, kinds, _ = rows(run(alone, groups=("f", "m")), interval="none")
    assert kinds == []
    _, kinds, notes = rows(run(alone, groups=("f", "m", "z")), interval="none")
    assert kinds == ["left_out"]
    assert notes[0].text == "no row is labelled z: their pairs are left out of the mean"
    never = counted(("f", "x", "y", 60), ("m", "x", "x", 1))
    _, _, notes = rows(run(alone), train=never, interval="none", keep_unseen=True)
    assert notes[0].text == (
        "the train table has no row with y: their pairs have no lean and count 0"
    )
    # With two runs a label must be missing in both.
    both = [run(alone, groups=("f", "m")), run(never, groups=("f", "m"))]
    assert rows(*both, interval="none")[1] == []


@pytest.mark.parametrize(("women", "few"), [(49, True), (50, False)])
def test_fewer_than_a_hundred_rows_are_few(women: int, few: bool) -> None:
    table = counted(("f", "x", "x", women), ("m", "y", "y", 50))
    large = counted(("f", "x", "x", 100), ("m", "y", "y", 100))
    for runs in ([run(table)], [run(large), run(table)]):
        _, kinds, notes = rows(*runs)
        assert ("few_units" in kinds) is few
        if few:
            text = next(note.text for note in notes if note.kind.value == "few_units")
            assert text.startswith("only 99 rows: the interval may cover")
    assert "few_units" not in rows(run(table), interval="none")[1]


def few_labels(direction: Direction, *runs: Measurement, **choices: Any) -> list[str]:
    found, _, _ = rows(*runs, **choices)
    return [note.text.partition(":")[0] for note in found[direction].notes]


@pytest.mark.parametrize(("rare", "few"), [(1, True), (19, True), (20, False)])
def test_a_label_of_fewer_than_twenty_rows_is_named(rare: int, few: bool) -> None:
    by_group = counted(("f", "x", "x", 100), ("f", "y", "y", 40), ("m", "y", "y", rare))
    by_task = counted(("f", "x", "x", 100), ("m", "x", "x", 40), ("m", "y", "y", rare))
    said = [f"fewer than 20 rows have {name}" for name in ("m", "y")]
    assert few_labels(A_TO_T, run(by_group)) == said[:1] * few
    assert few_labels(T_TO_A, run(by_group)) == []
    assert few_labels(T_TO_A, run(by_task)) == said[1:] * few
    assert few_labels(A_TO_T, run(by_task)) == []
    # The run with fewest rows counts, wherever it stands.
    plenty = counted(("f", "x", "x", 100), ("m", "y", "y", 100))
    assert few_labels(A_TO_T, run(plenty), run(by_group)) == said[:1] * few
    assert few_labels(A_TO_T, run(by_group), run(plenty)) == said[:1] * few
    assert few_labels(A_TO_T, run(by_group), interval="none") == []


def test_rare_labels_of_a_small_table_or_without_a_row_are_not_named() -> None:
    small = counted(("f", "x", "x", 80), ("m", "y", "y", 19))
    assert few_labels(A_TO_T, run(small)) == []
    just = counted(("f", "x", "x", 81), ("m", "y", "y", 19))
    assert few_labels(A_TO_T, run(just)) == ["fewer than 20 rows have m"]
    large = counted(("f", "x", "x", 100), ("m", "y", "y", 100))
    assert few_labels(A_TO_T, run(large, groups=("f", "m", "z"))) == []


def test_clusters_are_the_units_that_are_spoken_of() -> None:
    _, _, notes = rows(run(CLEAR), cluster="person")
    assert "assumes that the clusters (person) are independent" in notes[0].text
    assert "assumes that the rows are independent" in rows(run(CLEAR))[2][0].text


def test_the_seed_decides_the_draws() -> None:
    first, second, third = (rows(run(CLEAR), seed=seed)[0][A_TO_T] for seed in (0, 0, 1))
    assert first.estimate.interval == second.estimate.interval != third.estimate.interval


def test_nothing_that_leans_is_said_in_place_of_an_interval_note() -> None:
    flat = counted(
        ("f", "x", "x", 50), ("f", "y", "x", 50), ("m", "x", "x", 50), ("m", "y", "y", 50)
    )
    found, kinds, notes = rows(run(flat))
    assert kinds == ["tie"]
    assert notes[0].text.startswith("no pair leans either way")
    assert found[A_TO_T].value == 0
