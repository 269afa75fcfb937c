"""Labels, groups and predictions in every form, and why some are refused; F1 by scikit-learn."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import (
    AttackerInput,
    TrueLabels,
    decisions,
    f1_score,
    model_f1,
    perturb,
    read_groups,
    read_labels,
    read_predictions,
)
from tests.leakage.leaking_data import many_labels, one_label

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


@given(arrays.arrays(np.float32, (20, 3), elements=st.sampled_from([0, 0.5, 1, 7])))
def test_equal_rows_are_one_combination(values: NDArray[np.float32]) -> None:
    inputs, index = AttackerInput(values, 3), np.arange(3, 20)
    different, which = np.unique(values, axis=0, return_inverse=True)
    pairs = set(zip(inputs.combinations.tolist(), which.ravel().tolist(), strict=True))
    # One to one, and numbered from 0.
    assert len(pairs) == len(different) == inputs.combinations.max() + 1
    rows, which = inputs.distinct(index)
    assert rows[which].tolist() == values[index].tolist()
    assert len(rows) == len(np.unique(values[index], axis=0))


def test_one_label_per_row_is_a_combination_by_itself() -> None:
    inputs = AttackerInput(np.array([3, 0, 3, 1]), 4)
    assert inputs.combinations.tolist() == [3, 0, 3, 1]
    rows, which = inputs.distinct(np.array([0, 2, 3]))
    assert rows[which].tolist() == [[0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]]
    assert len(rows) == 2


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


tables = arrays.arrays(np.uint8, (12, 3), elements=st.integers(0, 1))
SEVERAL = read_labels([[1, 1], [0, 1]])


@given(tables, tables)
def test_equals_scikit_learn_where_every_label_occurs(
    truth: NDArray[np.uint8], decided: NDArray[np.uint8]
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth[0] = 1
    for average in ("macro", "micro"):
        expected = metrics.f1_score(truth, decided, average=average, zero_division=0.0)
        assert f1_score(truth, decided, average) == pytest.approx(expected)


def test_a_label_that_nobody_uses_has_no_say() -> None:
    truth = np.array([[1, 0], [0, 0]])
    assert f1_score(truth, truth) == 1.0
    assert f1_score(truth, np.array([[1, 1], [0, 0]])) == 0.5


@pytest.mark.parametrize(
    ("scores", "threshold", "expected"),
    [
        # Nothing outside [0, 1], with both ends: probabilities, decided above one half.
        ([[0.0, 1.0], [0.5, 0.51]], None, [[0, 1], [0, 1]]),
        # A score above one or below zero is a logit: decided above zero.
        ([[0.0, 1.001], [0.05, 0.4]], None, [[0, 1], [1, 1]]),
        # A score at the threshold decides nothing.
        ([[0.5, 2.0], [0.25, -1.0]], 0.25, [[1, 1], [0, 0]]),
    ],
)
def test_a_label_is_decided_above_the_threshold(
    scores: list[list[float]], threshold: float | None, expected: list[list[int]]
) -> None:
    assert decisions(read_predictions(scores), SEVERAL, threshold).tolist() == expected


def test_with_one_label_per_row_the_highest_score_decides() -> None:
    three = read_labels(["a", "b", "c"])
    scores = read_predictions([[0.2, 0.7, 0.1], [-5.0, -9.0, -4.0], [0.5, 0.5, 0.1]])
    assert decisions(scores, three).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    said = read_predictions(["b", "b", "a"], three.names)
    assert decisions(said, three).tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 0]]
    yes = read_labels([1, 0])
    assert decisions(read_predictions([1, 0], ("1",)), yes).tolist() == [[1], [0]]


def test_a_category_that_is_only_predicted_is_wrong() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels = read_labels(["a", "b", "a", "b"])
    said = read_predictions(["a", "b", "a", "z"], labels.names)
    for average in ("macro", "micro"):
        expected = metrics.f1_score(list("abab"), list("abaz"), average=average)
        found = model_f1(labels, said, rows=np.arange(4), average=average)
        assert found == pytest.approx(expected)
    assert model_f1(labels, said, rows=np.arange(3)) == 1.0


def labels_of(kind: str, rng: np.random.Generator, rows: int) -> TrueLabels:
    return read_labels(one_label(rng, rows, 0.5)[0] if kind == "one" else many_labels(rng, rows)[0])


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("target", [0.95, 0.7, 0.55])
@pytest.mark.parametrize("kind", ["one", "many"])
def test_perturbed_labels_reach_the_f1(kind: str, target: float, average: str) -> None:
    rng = np.random.default_rng(1)
    labels, rows = labels_of(kind, rng, 4000), np.arange(0, 4000, 2)
    wrong, f1 = perturb(labels, target, rng=rng, average=average, rows=rows)
    assert f1 == pytest.approx(target, abs=0.002)
    assert f1_score(labels.values[rows], wrong.values[rows], average) == f1
    assert wrong.single == labels.single


def test_flips_fall_on_every_label_alike() -> None:
    rng = np.random.default_rng(2)
    labels = labels_of("many", rng, 20_000)
    flipped = (perturb(labels, 0.8, rng=rng)[0].values != labels.values).mean(axis=0)
    rate = flipped.mean()
    assert np.abs(flipped - rate).max() < 4 * np.sqrt(rate * (1 - rate) / 20_000)


def test_a_replaced_label_is_any_label_with_the_same_probability() -> None:
    rng = np.random.default_rng(4)
    # Labels that differ in frequency, so that an even draw differs from a draw from the data.
    codes = rng.choice(4, 20_000, p=[0.7, 0.1, 0.1, 0.1])
    wrong, _ = perturb(read_labels(np.eye(4, dtype=int)[codes]), 0.5, rng=rng)
    found = wrong.values.argmax(axis=1)
    rate = np.mean(found != codes) / 3  # of one of the three other labels
    for code in range(4):
        own = found[codes == code]
        others = np.delete(np.bincount(own, minlength=4), code) / len(own)
        assert np.abs(others - rate).max() < 4 * np.sqrt(rate / len(own))


@pytest.mark.parametrize("labels", [[0, 1] * 50, [[1, 0, 1], [0, 1, 0]] * 50, ["a", "b"] * 50])
def test_a_target_below_chance_or_no_f1_is_refused(labels: list[object]) -> None:
    read, rng = read_labels(labels), np.random.default_rng(0)
    for target in (0.05, 0.0):
        with pytest.raises(InputError, match="below what labels drawn at random reach"):
            perturb(read, target, rng=rng)
    for target in (-1.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1"):
            perturb(read, target, rng=rng)
    assert perturb(read, 1.0, rng=rng) == (read, 1.0)
