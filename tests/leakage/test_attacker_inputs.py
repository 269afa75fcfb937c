from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import TrueLabels, read_groups, read_labels, read_predictions


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


@pytest.mark.parametrize("labels", [["a"], [1], [[1, 0]], [[1, 1, 0]]])
def test_a_single_row_is_nothing_to_guess_from(labels: object) -> None:
    with pytest.raises(InputError, match="the same in every row"):
        read_labels(labels)


@pytest.mark.parametrize("predictions", [["a"], [1], [0.3], [[0.3]], [[0.3, 1.2]], [[1, 0]]])
def test_a_single_prediction_leaks_nothing(predictions: object) -> None:
    with pytest.raises(InputError, match="the same in every row: they leak nothing"):
        read_predictions(predictions)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (2, 2, 2), ()])
def test_predictions_without_rows_or_columns_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"\(n, L\) or one column, found shape"):
        read_predictions(np.full(shape, 0.5))


def test_the_first_wrong_row_is_named() -> None:
    with pytest.raises(InputError, match=r"see row 1$"):
        read_labels([[1, 0], [0.5, 1], [0, 0.25], [0, 1]])
    with pytest.raises(InputError, match=r"first in row 1$"):
        read_predictions([[1.5, 0.0], [np.nan, 1.0], [0.0, np.inf]])


@pytest.mark.parametrize(
    "attribute",
    [[[0.5, 0.5], [1, 0]], [[1, 1], [1, 0]], [[0, 0], [1, 0]], [[1, 0.5], [0, 0.5]]],
)
def test_an_attribute_that_is_no_single_group_is_refused(attribute: object) -> None:
    with pytest.raises(InputError, match="every row in exactly one group"):
        read_groups(attribute)


def test_groups_are_read_from_columns_or_categories() -> None:
    for form in (["w", "m", "w"], pd.DataFrame({"m": [0, 1, 0], "w": [1, 0, 1]})):
        found = read_groups(form, 3)
        assert (found.codes.tolist(), found.names) == ([1, 0, 1], ("m", "w"))
    # A group of one row is a group, and there may be more than two.
    three = read_groups(["b", "a", "c", "c"])
    assert (three.codes.tolist(), three.names) == ([1, 0, 2, 2], ("a", "b", "c"))
    with pytest.raises(InputError, match="no row of the group '1'"):
        read_groups([[1, 0, 0], [0, 0, 1]])
    with pytest.raises(InputError, match="only the group '1'"):
        read_groups([[0, 1, 0], [0, 1, 0]])


def test_one_label_per_row_needs_several_labels_and_one_each() -> None:
    def single(*rows: list[int]) -> bool:
        values = np.array(rows, dtype=np.uint8)
        return TrueLabels(values, tuple("abcd"[: values.shape[1]])).single

    assert single([1, 0], [0, 1])
    assert single([0, 0, 1], [0, 1, 0])
    assert not single([1, 0], [1, 1])
    assert not single([0, 0], [0, 1])
    assert not single([1], [0])
    assert not single([1], [1])
    # Two labels in every row are not one.
    assert not single([1, 1, 0], [0, 1, 1])


def test_a_yes_or_no_label_is_a_column_of_numbers() -> None:
    for form in ([1, 0, 1], [True, False, True], [1.0, 0.0, 1.0], np.uint8([1, 0, 1])):
        found = read_labels(form)
        assert (found.names, found.values.tolist()) == (("1",), [[1], [0], [1]])
    for form, names in (([1, 2, 1], ("1", "2")), (["0", "1", "0"], ("0", "1"))):
        found = read_labels(form)
        assert (found.names, found.single) == (names, True)
    # A table of one column is that label too.
    assert read_labels([[1], [0]]).as_input().values.tolist() == [1, 0]
    assert read_labels([[1], [0]]).as_input().size == 2


def test_whole_numbers_in_one_column_are_categories_and_fractions_are_scores() -> None:
    whole = read_predictions([2.0, 7.0, 2.0])
    assert (whole.values.tolist(), whole.size) == ([0, 1, 0], 2)
    scores = read_predictions([2.0, 7.5, 2.0])
    assert (scores.values.tolist(), scores.size) == ([[2.0], [7.5], [2.0]], 1)
    assert read_predictions([3, 5, 9]).size == 3


def test_predicted_categories_of_two_labels_and_of_one() -> None:
    two = read_predictions(["b", "a", "b"], ("a", "b"))
    assert (two.values.tolist(), two.size) == ([1, 0, 1], 2)
    one = read_predictions([1, 0, 0], ("smiles",))
    assert (one.values.tolist(), one.size) == ([1, 0, 0], 2)
    with pytest.raises(InputError, match="leak nothing"):
        read_predictions(["b", "b"], ("a", "b"))


def test_a_frame_of_one_column_needs_no_name_and_others_go_by_theirs() -> None:
    score = pd.DataFrame({"logit": [0.5, -1.5]})
    assert read_predictions(score, ("smiles",)).values.tolist() == [[0.5], [-1.5]]
    with pytest.raises(InputError, match="one column for each of the 3 labels"):
        read_predictions(pd.DataFrame({"a": [0.5, 1.5], "b": [2.5, 0.5]}), ("a", "b", "c"))
    three = pd.DataFrame({"c": [1.5, 4], "a": [2, 5], "b": [3, 6]})
    found = read_predictions(three, ("a", "b", "c"))
    assert found.values.tolist() == [[2, 3, 1.5], [5, 6, 4]]


def test_long_lists_of_names_are_cut_after_five() -> None:
    six = tuple("abcdef")
    for names, shown in ((six, "a, b, c, d, e, ..."), (six[:5], "a, b, c, d, e")):
        message = f"each of the {len(names)} labels ({shown}), found 2"
        with pytest.raises(InputError) as problem:
            read_predictions([[1.5, 2.0], [0.5, 1.0]], names)
        assert message in str(problem.value)
