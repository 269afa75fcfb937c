"""The labels of both axes: of all runs, predictions and the train table; strangers are refused."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.tabular.columns import Columns
from lmprobe.tabular.counting import Counted
from lmprobe.tabular.labels import Labels, common_labels

COLUMNS = Columns(("sex",), ("job",), ("sex_said",), ("said",))


def table(groups: str, tasks: str = "xy", guesses: str = "", said: str = "") -> Counted:
    """A table with these labels, one letter each."""
    rows = max(map(len, (groups, tasks, guesses, said)))

    def column(letters: str) -> np.ndarray:
        return np.array([letters[number % len(letters)] for number in range(rows)], dtype=object)

    return Counted(
        column(groups),
        column(guesses) if guesses else None,
        column(tasks),
        column(said) if said else None,
        np.ones(rows),
        np.ones(rows, dtype=np.int64),
        None,
        added=False,
    )


def labels(
    *tables: Counted, train: Counted | None = None, binary: bool = False, columns: Columns = COLUMNS
) -> Labels:
    return common_labels(columns, tables, train, binary=binary, train_name="train.csv")


def test_they_are_sorted_and_come_from_every_column() -> None:
    found = labels(table("mf", "y", "mx", "yz"), table("fg", "x"), train=table("mt", "yw"))
    assert found == Labels(("f", "g", "m", "t", "x"), ("w", "x", "y", "z"))


def test_tasks_of_numbers_are_the_columns_as_given() -> None:
    assert labels(table("mf"), binary=True) == Labels(("f", "m"), ("job",))


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        (table("fm", guesses="pq"), r"no predicted group \(p, q\) is one of those labelled"),
        (table("fm", said="pq"), r'no value of "said" \(p, q\) is one of those labelled \(x, y\)'),
    ],
)
def test_predictions_of_which_none_is_known_are_refused(one: Counted, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        labels(one)


@pytest.mark.parametrize(
    "one",
    [
        table("fm", guesses="p"),
        table("f", guesses="pq"),
        table("fm", guesses="mq"),
        table("fm", said="p"),
        table("fm", said="px"),
    ],
)
def test_a_single_stranger_may_be_a_model_with_one_answer(one: Counted) -> None:
    assert set(labels(one).attributes) >= {"f"}
    assert set(labels(one).tasks) >= {"x", "y"}


@pytest.mark.parametrize("train", [table("p"), table("pq"), table("f", "p"), table("f", "pq")])
def test_a_train_table_of_strangers_is_refused(train: Counted) -> None:
    with pytest.raises(InputError, match=r"no (group|task) of train.csv \(p"):
        labels(table("fm"), train=train)


def test_a_task_of_the_train_table_is_known_to_predictions() -> None:
    assert labels(table("fm", said="pq"), train=table("f", "xp")).tasks == ("p", "q", "x", "y")


def test_scores_need_tasks_of_0_and_1() -> None:
    scored = Columns(("sex",), ("job",), score=("s",))
    with pytest.raises(InputError, match='the column "job" holds w, x, y'):
        labels(table("fm"), train=table("f", "xw"), columns=scored)
