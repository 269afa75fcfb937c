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
