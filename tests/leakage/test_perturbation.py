from __future__ import annotations

import numpy as np
import pytest
from leaking_data import many_labels, one_label

from lmprobe.errors import InputError
from lmprobe.leakage.f1 import f1_score
from lmprobe.leakage.inputs import read_labels
from lmprobe.leakage.perturbation import perturb


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("target", [0.95, 0.7, 0.55])
@pytest.mark.parametrize("kind", ["one", "many"])
def test_reaches_the_f1(kind: str, target: float, average: str) -> None:
    rng = np.random.default_rng(1)
    make = one_label if kind == "one" else many_labels
    labels = read_labels(make(rng, 4000, 0.5)[0] if kind == "one" else make(rng, 4000)[0])
    wrong = perturb(labels, target, rng=rng, average=average)
    assert wrong.f1 == pytest.approx(target, abs=0.001)
    assert f1_score(labels.values, wrong.labels.values, average) == wrong.f1
    assert wrong.labels.single == labels.single


def test_flips_fall_on_every_label_alike() -> None:
    rng = np.random.default_rng(2)
    labels = read_labels(many_labels(rng, 20_000)[0])
    wrong = perturb(labels, 0.8, rng=rng)
    flipped = (wrong.labels.values != labels.values).mean(axis=0)
    error = np.sqrt(wrong.rate * (1 - wrong.rate) / 20_000)
    assert np.abs(flipped - wrong.rate).max() < 4 * error


def test_a_replaced_label_is_any_label_with_the_same_probability() -> None:
    rng = np.random.default_rng(4)
    # Labels that differ in frequency, so that an even draw differs from a draw from the data.
    codes = rng.choice(4, 20_000, p=[0.7, 0.1, 0.1, 0.1])
    labels = read_labels(np.eye(4, dtype=int)[codes])
    wrong = perturb(labels, 0.5, rng=rng)
    found = wrong.labels.values.argmax(axis=1)
    for code in range(4):
        own = found[codes == code]
        others = np.bincount(own[own != code], minlength=4) / len(own)
        error = 4 * np.sqrt(wrong.rate / 4 / len(own))
        assert np.abs(np.delete(others, code) - wrong.rate / 4).max() < error


def test_only_the_chosen_rows_decide_the_f1() -> None:
    rng = np.random.default_rng(3)
    labels = read_labels(one_label(rng, 4000, 0.5)[0])
    rows = np.arange(500)
    wrong = perturb(labels, 0.6, rng=rng, rows=rows)
    assert f1_score(labels.values[rows], wrong.labels.values[rows]) == pytest.approx(0.6, abs=0.004)


def test_perfect_labels_are_left_alone() -> None:
    labels = read_labels(["a", "b", "a"])
    assert perturb(labels, 1.0, rng=np.random.default_rng(0)).labels is labels


@pytest.mark.parametrize("labels", [[0, 1] * 50, [[1, 0, 1], [0, 1, 0]] * 50, ["a", "b"] * 50])
@pytest.mark.parametrize("target", [0.05, 0.0])
def test_a_target_below_chance_is_refused(labels: list[object], target: float) -> None:
    with pytest.raises(InputError, match="below what labels drawn at random reach"):
        perturb(read_labels(labels), target, rng=np.random.default_rng(0))


@pytest.mark.parametrize("target", [-1.0, 1.5, float("nan")])
def test_a_target_that_is_no_f1(target: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        perturb(read_labels(["a", "b"]), target, rng=np.random.default_rng(0))
