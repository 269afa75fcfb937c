"""What was counted in a table, read by hand: labels, amounts, units, runs, sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.direction import Direction
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.table_source import TableSource
from lmprobe.tabular.columns import Columns, Layout
from lmprobe.tabular.counting import Counted, counted, holds_unit_numbers, plain_labels
from lmprobe.tabular.engine import Lines

A_TO_T, T_TO_A = Direction.ATTRIBUTE_TO_TASK, Direction.TASK_TO_ATTRIBUTE


def kinds(**changes: Any) -> Counted:
    """Three kinds of rows: 2 + 1 + 4 of them, of weights 0.5, 2 and 1."""
    given: dict[str, Any] = {
        "groups": np.array(["f", "m", "m"], dtype=object),
        "group_guesses": np.array(["m", "m", "f"], dtype=object),
        "tasks": np.array(["x", "x", "y"], dtype=object),
        "task_guesses": np.array(["y", "x", "y"], dtype=object),
        "weight": np.array([0.5, 2.0, 1.0]),
        "times": np.array([2, 1, 4]),
        "unit": None,
        "added": False,
    }
    return Counted(**{**given, **changes})


def test_a_kind_of_row_is_a_line_of_the_sums() -> None:
    table = kinds()
    sums = table.row_sums(("f", "m"), ("x", "y"))
    # Total; f, m; x, y; fx, fy, mx, my; guessed group with x, y; group with guessed x, y.
    expected = [
        [0.5, 0.5, 0, 0.5, 0, 0.5, 0, 0, 0, 0, 0, 0.5, 0, 0, 0.5, 0, 0],
        [2, 0, 2, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0],
        [1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1],
    ]
    assert sums.features.toarray().tolist() == expected
    assert sums.times.tolist() == [2, 1, 4]
    assert sums.directions == (T_TO_A, A_TO_T)
    assert table.rows == 7
    alone = kinds(group_guesses=None).row_sums(("f", "m"), ("x", "y"))
    assert alone.directions == (A_TO_T,)
    assert kinds(task_guesses=None).row_sums(("f", "m"), ("x", "y")).directions == (T_TO_A,)


def test_about_how_many_rows_have_a_label_whatever_the_weights() -> None:
    """The weights add up to 1 + 2 + 4 = 7 as the rows do; and to a tenth of that."""
    for scale in (1.0, 0.1):
        table = kinds(weight=np.array([0.5, 2.0, 1.0]) * scale)
        sums = table.row_sums(("f", "m"), ("x", "y"))
        assert table.rows_with(sums, A_TO_T).tolist() == pytest.approx([1, 6])
        assert table.rows_with(sums, T_TO_A).tolist() == pytest.approx([3, 4])
    heavy = kinds(weight=np.array([1.0, 4.0, 2.0]), times=np.array([2, 1, 1]))
    # Four rows of weight 8 in all: f has 2 of it, and x 6.
    sums = heavy.row_sums(("f", "m"), ("x", "y"))
    assert heavy.rows_with(sums, A_TO_T).tolist() == pytest.approx([1, 3])
    assert heavy.rows_with(sums, T_TO_A).tolist() == pytest.approx([3, 1])


def test_the_share_of_a_task_counts_every_row_of_a_kind() -> None:
    """Weights of 2 x 0.5, 1 x 2 and 4 x 1; as sums, the lines weigh 0.5, 2 and 1."""
    amounts = np.array([[0.5, 0.0], [2.0, 1.0], [0.0, 1.0]])
    by_kind, by_sum = (kinds(tasks=amounts, added=added).task_shares() for added in (False, True))
    assert by_kind.tolist() == pytest.approx([(2 * 0.5 + 2) / 7, (1 + 4) / 7])
    assert by_sum.tolist() == pytest.approx([2.5 / 3.5, 2 / 3.5])
    with pytest.raises(InputError, match="needs at least one labelled row with a positive weight"):
        kinds(tasks=amounts, weight=np.zeros(3)).task_shares()


def test_lines_of_a_unit_are_added_up() -> None:
    amounts = np.array([[0.5, 0.0], [2.0, 1.0], [0.0, 1.0]])
    table = kinds(tasks=amounts, task_guesses=None, group_guesses=None, added=True)
    together = table.row_sums(("f", "m"), ("t", "u"))
    assert together.features.toarray().tolist() == [
        [3.5, 0.5, 3.0, 2.5, 2.0, 0.5, 0, 2.0, 2.0],
    ]
    assert together.times.tolist() == [1]
    by_unit = kinds(
        tasks=amounts, task_guesses=None, group_guesses=None, added=True, unit=np.array([1, 0, 1])
    ).row_sums(("f", "m"), ("t", "u"))
    assert by_unit.features.toarray()[:, 0].tolist() == [2.0, 1.5]
    assert by_unit.times.tolist() == [1, 1]


def test_the_lines_of_a_run_have_units_of_their_own() -> None:
    table = kinds(
        runs=np.array(["1", "2", "2"], dtype=object), unit=np.array([0, 2, 1]), added=True
    )
    second = table.of_run("2")
    assert second.groups.tolist() == ["m", "m"]
    assert second.unit is not None
    assert second.unit.tolist() == [1, 0]
    assert second.weight.tolist() == [2.0, 1.0]
    assert second.times.tolist() == [1, 4]
    assert second.added
    first = kinds(runs=np.array(["1", "2", "2"], dtype=object), group_guesses=None).of_run("1")
    assert first.unit is None
    assert first.group_guesses is None
    assert first.task_guesses is not None
    assert first.task_guesses.tolist() == ["y"]
    assert not first.added


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"a0": ["f", "m"], "t0": [1.0, 0.5], "p0": [0.0, 1.0], **columns})


PLAIN = Columns(("sex",), ("t",), (), ("p",))


def test_amounts_are_multiplied_by_the_weight_once() -> None:
    made = frame(weight=[2.0, 3.0], n=[1, 1])
    layout = Layout(PLAIN, binary=True)
    one, added = (counted(Lines(made, added=way), layout, "x") for way in (False, True))
    assert np.asarray(one.tasks).tolist() == [[2.0], [1.5]]
    assert np.asarray(one.task_guesses).tolist() == [[0.0], [3.0]]
    assert np.asarray(added.tasks).tolist() == [[1.0], [0.5]]
    assert one.unit is None
    assert one.runs is None
    assert one.group_guesses is None


def test_scores_are_predictions_and_units_and_runs_are_read() -> None:
    columns = Columns(("sex",), ("t",), ("b",), (), ("s",), run="seed")
    made = frame(b0=["m", "m"], weight=1.0, n=[4, 5], unit=["b", "a"], run=[1.0, 2.0])
    found = counted(Lines(made, added=True), Layout(columns, binary=True, thresholds=(0.5,)), "x")
    assert np.asarray(found.task_guesses).tolist() == [[0.0], [1.0]]
    assert found.group_guesses is not None
    assert found.group_guesses.tolist() == ["m", "m"]
    assert found.unit is not None
    assert found.unit.tolist() == [1, 0]
    assert found.runs is not None
    assert found.runs.tolist() == ["1", "2"]
    assert found.rows == 9
    without = Columns(("sex",), ("t",), ("b",))
    alone = counted(Lines(made, added=True), Layout(without, binary=True), "x")
    assert alone.task_guesses is None


def test_crossed_groups_and_classes_are_labels() -> None:
    made = frame(a1=["b", "w"], weight=1.0, n=[1, 1])
    columns = Columns(("sex", "race"), ("t",), (), ("p",))
    found = counted(Lines(made, added=False), Layout(columns, binary=False), "x")
    assert found.groups.tolist() == ["f & b", "m & w"]
    assert found.tasks.tolist() == ["1", "0.5"]
    assert found.task_guesses is not None
    assert found.task_guesses.tolist() == ["0", "1"]


@pytest.mark.parametrize("count", [10_000, 10_001])
def test_a_column_with_more_than_ten_thousand_values_is_no_group(count: int) -> None:
    many = pd.DataFrame({"a0": range(count), "t0": 1.0, "p0": 1.0, "weight": 1.0, "n": 1})
    lines, layout = Lines(many, added=False), Layout(PLAIN, binary=True)
    if count == 10_000:
        assert counted(lines, layout, "x").rows == count
    else:
        with pytest.raises(DataFileError, match='x: "sex" has more than 10,000 different values'):
            counted(lines, layout, "x")


def test_whole_numbers_of_a_float_column_are_written_without_the_point() -> None:
    column = pd.Series(["1.0", "-2.00", "1.50", "a1.0", "3", "x.0"])
    assert plain_labels(column).tolist() == ["1", "-2", "1.50", "a1.0", "3", "x.0"]


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([0, 1, 1], True),
        ([0.0, 0.25, 1.0], True),
        (["true", "False", None], True),
        (["0", "1", "x"], False),
        ([0, 1, 2], False),
        ([0.0, -0.5, 1.0], False),
        (["0", "01", "1"], False),
    ],
)
def test_a_task_is_a_number_between_0_and_1_or_a_class(values: list[Any], numbers: bool) -> None:
    with TableSource(pd.DataFrame({"sex": "f", "t": values})) as source:
        assert holds_unit_numbers(source, PLAIN, head=True) is numbers
        assert holds_unit_numbers(source, PLAIN, head=False) is numbers


def test_the_first_rows_decide_unless_all_are_asked_for() -> None:
    late = pd.DataFrame({"sex": "f", "t": [1] * 20_480 + [2]})
    with TableSource(late) as source:
        assert holds_unit_numbers(source, PLAIN, head=True)
        assert not holds_unit_numbers(source, PLAIN, head=False)
    with TableSource(late[1:]) as source:
        assert not holds_unit_numbers(source, PLAIN, head=True)
