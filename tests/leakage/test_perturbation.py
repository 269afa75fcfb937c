from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.leakage.f1 import f1_score
from lmprobe.leakage.inputs import read_labels
from lmprobe.leakage.perturbation import _Flip, _Replace, perturb
from tests.leakage.leaking_data import many_labels, one_label


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


def drawing(draws: list[Any], others: list[int] | None = None) -> Any:
    """Return a generator that draws these numbers, and these other labels."""
    return SimpleNamespace(
        random=lambda shape, **kind: np.array(draws, dtype=kind.get("dtype", float)).reshape(shape),
        integers=lambda most, **kind: np.array(others),
    )


def test_perfect_labels_have_a_rate_of_zero() -> None:
    found = perturb(read_labels(["a", "b"]), 1.0, rng=np.random.default_rng(0))
    assert (found.rate, found.f1) == (0.0, 1.0)


def test_a_label_changes_where_its_draw_is_below_the_rate() -> None:
    yes = read_labels([1, 0, 1, 0])
    flip = _Flip(yes, drawing([0.0, 0.25, 0.5, 0.75]))
    assert flip(0.0).ravel().tolist() == [1, 0, 1, 0]
    assert flip(0.5).ravel().tolist() == [0, 1, 1, 0]
    one = read_labels(["a", "b", "c", "a"])
    replace = _Replace(one, drawing([0.0, 0.25, 0.5, 0.75], [1, 2, 0, 0]))
    assert replace(0.0).argmax(axis=1).tolist() == [0, 1, 2, 0]
    assert replace(0.5).argmax(axis=1).tolist() == [1, 2, 2, 0]


@pytest.mark.parametrize("kind", ["one", "many"])
def test_no_other_number_of_errors_is_closer_to_the_f1(kind: str) -> None:
    # By trying every rate: between two draws the labels are the same.
    for seed in range(12):
        rng = np.random.default_rng(seed)
        labels = read_labels(
            one_label(rng, 24, 0.5)[0] if kind == "one" else many_labels(rng, 9, 3)[0]
        )
        make = (_Replace if kind == "one" else _Flip)(labels, np.random.default_rng(seed))
        highest = 1.0 if kind == "one" else 0.5
        rates = [0.0, *(float(draw) + 1e-7 for draw in make.draw.ravel() if draw < highest)]
        every = {rate: f1_score(labels.values, make(rate), "micro") for rate in sorted(rates)}
        chance = f1_score(labels.values, make(highest), "micro")
        target = 0.2 + 0.8 * chance
        found = perturb(labels, target, rng=np.random.default_rng(seed), average="micro")
        # Where more errors always cost F1, the closest is found; else the step that crosses it.
        falling = list(every.values())
        crossing = [
            (one, other) for one, other in itertools.pairwise(falling) if one >= target > other
        ]
        nearest = [min(pair, key=lambda f1: abs(f1 - target)) for pair in crossing]
        assert any(found.f1 == pytest.approx(f1) for f1 in nearest)
        assert f1_score(labels.values, found.labels.values, "micro") == found.f1
        assert (make(found.rate) == found.labels.values).all()


def test_a_target_above_the_first_error_leaves_the_labels_alone() -> None:
    labels = read_labels(["a", "b"] * 5)
    found = perturb(labels, 0.999, rng=np.random.default_rng(0))
    assert found.f1 == 1.0
    assert (found.labels.values == labels.values).all()
    # Here the very first draw is an error, so that no rate above zero is free of errors.
    rng = drawing([0.0, *[0.9] * 9], [1, 0] * 5)
    found = perturb(labels, 0.999, rng=rng)
    assert (found.rate, found.f1) == (0.0, 1.0)


def test_the_f1_of_labels_drawn_at_random_is_the_least_that_can_be_asked_for() -> None:
    labels = read_labels(["a", "b", "c", "a"] * 6)
    others = np.random.default_rng(4).integers(3, size=24)
    draws = np.linspace(0, 0.999, 24)
    chance = f1_score(labels.values, np.eye(3, dtype=np.uint8)[others])
    found = perturb(labels, chance, rng=drawing(draws.tolist(), others.tolist()))
    assert found.f1 == chance
    assert found.labels.values.argmax(axis=1).tolist() == others.tolist()
    assert 0.999 < found.rate <= 1.0
    with pytest.raises(InputError, match="below what labels drawn at random reach"):
        perturb(labels, chance - 1e-9, rng=drawing(draws.tolist(), others.tolist()))


def test_a_draw_that_equals_a_rate_is_not_yet_an_error() -> None:
    # Rates that are tried are 1/2, 3/4, 5/8, 9/16: at 1/2 the second row is still right.
    labels = read_labels(["a", "b", "a", "b"])
    rng = drawing([0.1, 0.5, 0.6, 0.9], [1, 0, 1, 0])
    target = f1_score(labels.values, read_labels(["b", "a", "a", "b"]).values)
    found = perturb(labels, target, rng=rng)
    assert found.labels.values.argmax(axis=1).tolist() == [1, 0, 0, 1]
    assert found.f1 == target


def test_the_rate_is_the_highest_that_has_the_f1() -> None:
    # Rows 1 to 8 are replaced by their own label: their draws do not change anything.
    labels = read_labels(["a", "b"] * 5)
    own = labels.values.argmax(axis=1).tolist()
    others = [1 - own[0], *own[1:9], 1 - own[9]]
    rng = drawing([0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], others)
    wrong = read_labels(["b", *["b", "a"] * 4, "b"])
    target = f1_score(labels.values, wrong.values)
    found = perturb(labels, target, rng=rng)
    assert found.f1 == target
    assert 0.7 < found.rate <= 0.9
