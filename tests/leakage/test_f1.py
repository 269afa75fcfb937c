from __future__ import annotations

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn import metrics

from lmprobe.errors import InputError
from lmprobe.leakage.f1 import decisions, f1_score, model_f1
from lmprobe.leakage.inputs import read_labels, read_predictions

tables = arrays.arrays(np.uint8, (12, 3), elements=st.integers(0, 1))


@given(tables, tables)
def test_equals_scikit_learn_where_every_label_occurs(
    truth: NDArray[np.uint8], decided: NDArray[np.uint8]
) -> None:
    truth[0] = 1
    for average in ("macro", "micro"):
        expected = metrics.f1_score(truth, decided, average=average, zero_division=0.0)
        assert f1_score(truth, decided, average) == pytest.approx(expected)


def test_a_label_that_nobody_uses_has_no_say() -> None:
    truth = np.array([[1, 0], [0, 0]])
    assert f1_score(truth, truth) == 1.0
    assert f1_score(truth, np.array([[1, 1], [0, 0]])) == 0.5


def test_decisions() -> None:
    several = read_labels([[1, 1], [0, 1]])
    logits = read_predictions([[-0.2, 0.3], [2.0, -1.0]])
    assert decisions(logits, several).tolist() == [[0, 1], [1, 0]]
    shares = read_predictions([[0.2, 0.6], [0.9, 0.4]])
    assert decisions(shares, several).tolist() == [[0, 1], [1, 0]]
    above = read_predictions([[0.2, 1.5], [0.0, 0.4]])
    assert decisions(above, several).tolist() == [[1, 1], [0, 1]]
    assert decisions(shares, several, 0.7).tolist() == [[0, 0], [1, 0]]
    single = read_labels([[1, 0], [0, 1]])
    assert decisions(shares, single).tolist() == [[0, 1], [1, 0]]
    yes = read_labels([1, 0])
    assert decisions(read_predictions([1, 0], ("1",)), yes).tolist() == [[1], [0]]


def test_a_category_that_is_only_predicted_is_wrong() -> None:
    labels = read_labels(["a", "b", "a", "b"])
    said = read_predictions(["a", "b", "a", "z"], labels.names)
    rows = np.arange(4)
    expected = metrics.f1_score(["a", "b", "a", "b"], ["a", "b", "a", "z"], average="macro")
    assert model_f1(labels, said, rows=rows) == pytest.approx(expected)
    assert model_f1(labels, said, rows=rows[:3]) == 1.0


def test_unknown_average() -> None:
    labels = read_labels([[1, 1], [0, 1]])
    with pytest.raises(InputError, match='did you mean "macro"'):
        f1_score(labels.values, labels.values, "marco")  # type: ignore[arg-type]


def test_scores_from_exactly_zero_to_exactly_one_are_probabilities() -> None:
    several = read_labels([[1, 1], [0, 1]])
    for scores, expected in (
        # Nothing outside [0, 1], with both ends: a label is decided above one half.
        ([[0.0, 1.0], [0.5, 0.51]], [[0, 1], [0, 1]]),
        ([[0.3, 0.4], [0.5, 0.6]], [[0, 0], [0, 1]]),
        # A score above one or below zero is a logit: decided above zero.
        ([[0.0, 1.001], [0.05, 0.4]], [[0, 1], [1, 1]]),
        ([[-0.001, 0.3], [0.05, 0.0]], [[0, 1], [1, 0]]),
        ([[1.5, 2.5], [3.0, 1.2]], [[1, 1], [1, 1]]),
    ):
        assert decisions(read_predictions(scores), several).tolist() == expected


def test_a_score_at_the_threshold_decides_nothing() -> None:
    several, scores = read_labels([[1, 1], [0, 1]]), read_predictions([[0.5, 2.0], [0.25, -1.0]])
    assert decisions(scores, several, 0.25).tolist() == [[1, 1], [0, 0]]
    assert decisions(scores, several, 0.0).tolist() == [[1, 1], [1, 0]]


def test_categories_become_columns() -> None:
    two = read_labels(["a", "b", "a"])
    said = read_predictions(["b", "b", "a"], two.names)
    assert decisions(said, two).tolist() == [[0, 1], [0, 1], [1, 0]]
    # The highest score wins, and the first of equal ones.
    three = read_labels(["a", "b", "c"])
    scores = read_predictions([[0.2, 0.7, 0.1], [-5.0, -9.0, -4.0], [0.5, 0.5, 0.1]])
    assert decisions(scores, three).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_the_f1_by_hand() -> None:
    truth = np.array([[1, 0, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]])
    decided = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]])
    # Hits 2, 1, 0 of 3 + 3, 1 + 2, 1 + 0 labels.
    assert f1_score(truth, decided) == pytest.approx((4 / 6 + 2 / 3 + 0) / 3)
    assert f1_score(truth, decided, "micro") == pytest.approx(2 * 3 / 10)
    labels, said = read_labels(truth), read_predictions(decided)
    every = np.arange(4)
    assert model_f1(labels, said, rows=every) == f1_score(truth, decided)
    assert model_f1(labels, said, rows=every, average="micro") == pytest.approx(0.6)
    assert model_f1(labels, said, rows=every[:2]) == pytest.approx((1 + 1 + 0) / 3)
    scores = read_predictions(np.where(decided, 0.9, 0.6))
    assert model_f1(labels, scores, rows=every, threshold=0.8) == f1_score(truth, decided)
