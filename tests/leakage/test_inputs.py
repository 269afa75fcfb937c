"""Labels, groups and predictions in every form, and what is wrong with those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import read_groups, read_labels, read_predictions

ONE_HOT = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    "form",
    [
        ["b", "a", "c", "b"],
        pd.Series(["b", "a", "c", "b"], dtype="category"),
        ONE_HOT,
        ONE_HOT.astype(float),
        pd.DataFrame(ONE_HOT, columns=["a", "b", "c"]),
    ],
)
def test_one_label_per_row_is_a_code_in_every_form(form: Any) -> None:
    for seen in (read_labels(form).as_input(), read_predictions(form)):
        assert seen.coded
        assert (seen.values.tolist(), seen.size) == ([1, 0, 2, 1], 3)
        assert seen.rows(np.array([2, 1])).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_several_labels_stay_columns_and_a_yes_or_no_label_is_two_codes() -> None:
    for rows in ([[1, 1], [0, 1], [0, 0]], [[1, 1, 0], [0, 1, 1], [1, 0, 1]]):
        several = read_labels(rows)
        assert not several.single
        assert several.as_input().values.tolist() == read_predictions(rows).values.tolist() == rows
    for form in ([1, 0, 1], [True, False, True], [1.0, 0.0, 1.0], [[1], [0], [1]]):
        yes = read_labels(form)
        assert not yes.single
        assert (yes.as_input().values.tolist(), yes.as_input().size) == ([1, 0, 1], 2)
    # Other numbers, and words, are categories.
    assert read_labels([1, 2, 1]).names == ("1", "2")
    assert read_labels(["0", "1", "0"]).single


def test_one_column_of_predictions_is_a_score_or_a_category() -> None:
    scores = read_predictions([2.0, 7.5, 2.0])
    assert (scores.values.tolist(), scores.size) == ([[2.0], [7.5], [2.0]], 1)
    for categories in ([2.0, 7.0, 2.0], ["x", "y", "x"]):
        found = read_predictions(categories)
        assert (found.values.tolist(), found.size) == ([0, 1, 0], 2)
    yes = read_predictions([1, 0, 0], ("smiles",))
    assert (yes.values.tolist(), yes.size) == ([1, 0, 0], 2)
    # Categories follow the order of the labels; one that is only predicted comes last.
    extra = read_predictions(["z", "b", "a"], ("a", "b", "c"))
    assert (extra.values.tolist(), extra.size) == ([3, 1, 0], 4)


def test_the_columns_of_a_frame_go_by_name_unless_the_labels_have_none() -> None:
    frame = pd.DataFrame({"c": [1.5, 4], "a": [2, 5], "b": [3, 6]})
    assert read_predictions(frame, ("a", "b", "c")).values.tolist() == [[2, 3, 1.5], [5, 6, 4]]
    assert read_predictions(frame, ("0", "1", "2")).values.tolist() == [[1.5, 2, 3], [4, 5, 6]]
    score = pd.DataFrame({"logit": [0.5, -1.5]})
    assert read_predictions(score, ("smiles",)).values.tolist() == [[0.5], [-1.5]]


def test_groups_are_read_from_columns_or_categories() -> None:
    for form in (["w", "m", "w"], pd.DataFrame({"m": [0, 1, 0], "w": [1, 0, 1]})):
        found = read_groups(form, 3)
        assert (found.codes.tolist(), found.names) == ([1, 0, 1], ("m", "w"))
    three = read_groups(["b", "a", "c", "c"])
    assert (three.codes.tolist(), three.names) == ([1, 0, 2, 2], ("a", "b", "c"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [0.5, 1]], "0 or 1, or one column of categories; see row 1"),
        (["a", "a", "a"], "the same in every row"),
        ([], "empty"),
        ([[1, 0], [1]], "`labels` must all have the same length"),
    ],
)
def test_labels_that_cannot_be_used(labels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(labels)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (["w", "w"], "only the group 'w'"),
        (["w", "m", "w"], "3 rows where the other data have 2"),
        ([[1, 1], [0, 1]], "every row in exactly one group"),
        ([[1, 0, 0], [0, 0, 1]], "no row of the group '1'"),
        (pd.Series(["w", "m"], dtype=pd.CategoricalDtype(["m", "n", "w"])), "no row of .* 'n'"),
    ],
)
def test_groups_that_cannot_be_used(attribute: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_groups(attribute, 2)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([[1.0, 2.0], [1.0, np.nan]], "NaN or infinity, first in row 1"),
        ([[1.0, 2.0], [1.0, 2.0]], "leak nothing"),
        (["a", "a"], "leak nothing"),
        ([["a", "b"], ["c", "d"]], "must hold numbers"),
        (np.full((2, 2, 2), 0.5), r"\(n, L\) or one column, found shape"),
        ([[1.0, 2.0], [1.0]], "`predictions` must all have the same length"),
    ],
)
def test_predictions_that_cannot_be_used(predictions: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_predictions(predictions)


@pytest.mark.parametrize(
    ("predictions", "names", "message"),
    [
        (["x", "y"], "ab", "x, y, none of which is among the labels a, b"),
        (pd.DataFrame({"a_logit": [1.5, 2.0], "b_logit": [3.0, 4.0]}), "ab", "the same names"),
        ([[1.0, 2, 3], [4, 5, 6]], "ab", r"each of the 2 labels \(a, b\), found 3"),
        ([[1.5, 2], [0.5, 1]], "abcdef", r"6 labels \(a, b, c, d, e, ...\), found 2"),
    ],
)
def test_predictions_that_do_not_fit_the_labels(predictions: Any, names: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_predictions(predictions, tuple(names))
