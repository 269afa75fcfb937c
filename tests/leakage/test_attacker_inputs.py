from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import read_groups, read_labels, read_predictions


def test_one_label_per_row_is_read_the_same_in_every_form() -> None:
    column = ["b", "a", "c", "b"]
    onehot = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    forms = [
        column,
        np.array(column),
        pd.Series(column),
        pd.Series(column, dtype="category"),
        onehot,
        onehot.tolist(),
        onehot.astype(float),
        pd.DataFrame(onehot, columns=["a", "b", "c"]),
    ]
    for form in forms:
        evidence = read_labels(form).as_input()
        assert evidence.coded
        assert evidence.size == 3
        assert evidence.values.tolist() == [1, 0, 2, 1]


def test_several_labels_stay_columns_and_a_yes_or_no_label_is_two_codes() -> None:
    several = read_labels([[1, 1], [0, 1], [0, 0]])
    assert not several.single
    assert several.as_input().values.tolist() == [[1, 1], [0, 1], [0, 0]]
    yes = read_labels([1, 0, 1])
    assert not yes.single
    assert yes.as_input().values.tolist() == [1, 0, 1]
    assert yes.as_input().size == 2


def test_rows_of_codes_are_zeros_and_a_one() -> None:
    evidence = read_labels(["b", "a", "b"]).as_input()
    assert evidence.rows(np.array([2, 1])).tolist() == [[0, 1], [1, 0]]


def test_predictions_of_every_kind() -> None:
    logits = read_predictions([[1.5, -2.0], [0.5, 3.0]])
    assert logits.values.dtype == np.float32
    assert read_predictions([0.25, -1.5, 3.0]).values.shape == (3, 1)
    assert read_predictions(["x", "y", "x"]).values.tolist() == [0, 1, 0]
    assert read_predictions([1, 0, 1], ("1",)).values.tolist() == [1, 0, 1]


def test_predicted_categories_follow_the_order_of_the_labels() -> None:
    found = read_predictions(["z", "b", "a"], ("a", "b", "c"))
    assert found.size == 4
    assert found.values.tolist() == [3, 1, 0]
    frame = pd.DataFrame({"b": [1.0, 2.0], "a": [3.0, 4.0]})
    assert read_predictions(frame, ("a", "b")).values.tolist() == [[3, 1], [4, 2]]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0.5, 1], [1, 0]], "0 or 1"),
        (["a", "a", "a"], "the same in every row"),
        ([[1, 0], [1, 0]], "the same in every row"),
        ([], "empty"),
        ([[1, 0], [1]], "`labels` must all have the same length"),
    ],
)
def test_labels_that_cannot_be_used(labels: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(labels)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (["w", "w"], "only the group 'w'"),
        (["w", "m", "w"], "3 rows where the other data have 2"),
        ([[1, 1], [0, 1]], "exactly one group"),
        (pd.Series(["w", "m"], dtype=pd.CategoricalDtype(["m", "n", "w"])), "no row of .* 'n'"),
    ],
)
def test_groups_that_cannot_be_used(attribute: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_groups(attribute, 2)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([[1.0, np.nan], [1.0, 2.0]], "first in row 0"),
        ([[1.0, 2.0], [1.0, 2.0]], "leak nothing"),
        (["a", "a"], "leak nothing"),
        ([["a", "b"], ["c", "d"]], "must hold numbers"),
        (np.zeros((2, 2, 2)), "shape"),
        ([[1.0, 2.0], [1.0]], "`predictions` must all have the same length"),
        ([[1e300, 2.0], [1.0, 2.0]], "infinity, first in row 0"),
    ],
)
def test_predictions_that_cannot_be_used(predictions: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_predictions(predictions)


def test_predicted_decisions_are_read_as_labels_are() -> None:
    onehot = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    for form in (onehot, np.array(onehot, dtype=float), pd.DataFrame(onehot)):
        found = read_predictions(form)
        assert (found.values.tolist(), found.size) == ([1, 0, 2], 3)
    assert read_predictions([[1], [0], [1]]).values.tolist() == [1, 0, 1]
    several = read_predictions([[1, 1], [0, 1]])
    assert several.values.tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (["x", "y"], "x, y, none of which is among the labels a, b"),
        (pd.DataFrame({"a_logit": [1.5, 2.0], "b_logit": [3.0, 4.0]}), "the same names"),
        ([[1.0, 2, 3], [4, 5, 6]], r"each of the 2 labels \(a, b\), found 3"),
        ([[1, 0, 0], [0, 1, 0]], r"each of the 2 labels \(a, b\), found 3"),
    ],
)
def test_predictions_that_do_not_fit_the_labels(predictions: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_predictions(predictions, ("a", "b"))


def test_columns_without_names_go_by_position() -> None:
    frame = pd.DataFrame({"b": [1.5, 2.0], "a": [3.0, 4.0]})
    assert read_predictions(frame, ("0", "1")).values.tolist() == [[1.5, 3], [2, 4]]
