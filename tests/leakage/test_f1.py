"""F1 against scikit-learn, and labels made wrong by chance until they have one."""

from __future__ import annotations

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import (
    TrueLabels,
    decisions,
    f1_score,
    model_f1,
    perturb,
    read_labels,
    read_predictions,
)
from tests.leakage.leaking_data import many_labels, one_label

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
