"""Predictability amplification against the expectation over flips, written out in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.predictability import LOSSES, predictability_amplification

GROUP = [0, 0, 0, 0, 0, 1, 1, 1, 1]
TRUTH = np.array([[0, 1, 1, 1, 0, 1, 1, 0, 1], [1, 0, 0, 0, 0, 1, 0, 0, 1]]).T
GUESS = np.array([[0, 1, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0, 0, 0, 1]]).T
SAID = [0, 1, 0, 0, 1, 1, 1, 0, 1]
WEIGHT = [1, 2, 1, 3, 1, 1, 2, 4, 1]


def loss_of(rate: Fraction, loss: str) -> float:
    """What an attacker that knows the rate pays on average: it says 1 or 0, or the rate."""
    if loss == "error":
        return float(1 - rate if rate > Fraction(1, 2) else rate)
    if loss == "brier":
        return float(rate * (1 - rate) ** 2 + (1 - rate) * rate**2)
    return -sum(float(p) * math.log(p) for p in (rate, 1 - rate) if p)


def by_hand(given: Any, truth: Any, guess: Any, weight: Any, loss: str) -> float:
    """The published formula, with the labels flipped with the chance that a guess is wrong."""
    rows = list(zip(given, truth, guess, map(Fraction, weight), strict=True))
    total = sum(w for *_, w in rows)
    wrong = sum(w for _, t, p, w in rows if t != p) / total
    paid = {"labels": 0.0, "predictions": 0.0}
    for value in set(given):
        mine = [(t, p, w) for g, t, p, w in rows if g == value]
        size = sum(w for *_, w in mine)
        if not size:
            continue
        flipped = sum(w * ((1 - wrong) if t else wrong) for t, _, w in mine) / size
        guessed = sum(w for _, p, w in mine if p) / size
        paid["labels"] += float(size / total) * loss_of(flipped, loss)
        paid["predictions"] += float(size / total) * loss_of(guessed, loss)
    model, data = 1 / paid["predictions"], 1 / paid["labels"]
    return (model - data) / (model + data)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weight", [None, WEIGHT, [0, *WEIGHT[1:]]])
def test_agrees_with_the_expectation_over_flips(loss: Any, weight: list[int] | None) -> None:
    result = predictability_amplification(
        GROUP, TRUTH, attribute_predictions=SAID, task_predictions=GUESS,
        sample_weight=weight, loss=loss,
    )  # fmt: skip
    each = weight or [1] * 9
    forward = [
        by_hand(GROUP, TRUTH[:, t].tolist(), GUESS[:, t].tolist(), each, loss) for t in (0, 1)
    ]
    backward = [by_hand(TRUTH[:, t].tolist(), GROUP, SAID, each, loss) for t in (0, 1)]
    assert result.tasks == ("0", "1")
    np.testing.assert_allclose(result.attribute_to_task, forward, atol=1e-12)
    np.testing.assert_allclose(result.task_to_attribute, backward, atol=1e-12)
    assert result.values == pytest.approx(
        {"attribute->task": np.mean(forward), "task->attribute": np.mean(backward)}
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_the_unit_of_the_weights_changes_nothing(loss: Any) -> None:
    rows: dict[str, Any] = {"task_predictions": GUESS, "loss": loss}
    actual = [
        predictability_amplification(
            GROUP, TRUTH, **rows, sample_weight=np.array(WEIGHT) * unit
        ).values["attribute->task"]
        for unit in (1.0, 1e-3, 1e3)
    ]
    assert actual[1:] == pytest.approx([actual[0]] * 2)


def test_attackers_trained_on_flipped_labels_come_near() -> None:
    """The published procedure with the attacker that counts: random flips, held-out rows."""
    draw = np.random.default_rng(4)
    n = 40_000
    group = draw.integers(0, 2, n)
    truth = (draw.random(n) < 0.3 + 0.2 * group).astype(int)
    guess = (draw.random(n) < 0.2 + 0.4 * group).astype(int)
    flipped = np.where(draw.random(n) < np.mean(truth == guess), truth, 1 - truth)
    fit, test = slice(0, n // 2), slice(n // 2, None)

    def judged(target: np.ndarray) -> float:
        rate = np.array([target[fit][group[fit] == g].mean() for g in (0, 1)])[group[test]]
        return 1 / float(np.mean((rate - target[test]) ** 2))

    model, data = judged(guess), judged(flipped)
    # The squared error is the loss by default.
    result = predictability_amplification(group, truth, task_predictions=guess)
    expected = (model - data) / (model + data)
    assert result.values["attribute->task"] == pytest.approx(expected, abs=0.02)
    assert expected > 0.03


def test_a_prediction_that_is_the_group_itself_or_the_truth() -> None:
    group, truth = np.repeat([0, 1], 50), np.tile([0, 1], 50)
    result = predictability_amplification(group, truth, task_predictions=group)
    assert result.values == {"attribute->task": 1.0}  # always guessed
    neutral = predictability_amplification(group, truth, task_predictions=truth)
    assert neutral.values["attribute->task"] == pytest.approx(0)


def test_only_the_prediction_given_is_measured() -> None:
    result = predictability_amplification(GROUP, TRUTH, attribute_predictions=SAID)
    assert list(result.values) == ["task->attribute"]
    assert result.attribute_to_task is None
    with pytest.raises(InputError, match="give `attribute_predictions`, `task_predictions` or"):
        predictability_amplification(GROUP, TRUTH)


@pytest.mark.parametrize("loss", LOSSES)
def test_where_both_are_certain_the_value_is_undefined_and_left_out(loss: Any) -> None:
    # The first task is the group itself and predicted so; the second is not.
    truth, guess = TRUTH.copy(), GUESS.copy()
    truth[:, 0] = guess[:, 0] = GROUP
    result = predictability_amplification(GROUP, truth, task_predictions=guess, loss=loss)
    assert result.attribute_to_task is not None
    assert np.isnan(result.attribute_to_task[0])
    assert result.values["attribute->task"] == result.attribute_to_task[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_given_label_that_no_row_has_counts_nothing(loss: Any) -> None:
    # Nobody has the task, so the group is guessed from nothing: 3 of 4 are said to be "b".
    group, said = ["a", "b", "a", "b"], ["b", "b", "a", "b"]
    result = predictability_amplification(
        group, [0, 0, 0, 0], attribute_predictions=said, loss=loss
    )
    expected = by_hand([0] * 4, [0, 1, 0, 1], [1, 1, 0, 1], [1] * 4, loss)
    assert result.values["task->attribute"] == pytest.approx(expected)


def test_a_row_without_weight_may_be_predicted_wrong() -> None:
    """The rest is right; however its weights round, the value keeps within its limits."""
    draw = np.random.default_rng(1)
    for n in range(3, 40):
        group, truth = draw.integers(0, 2, (2, n))
        weight = draw.random(n)
        weight[1] = 0.0
        guess = truth.copy()
        guess[1] = 1 - guess[1]
        value = predictability_amplification(
            [*group, 0, 1], [*truth, 0, 1], task_predictions=[*guess, 0, 1],
            sample_weight=[*weight, 0.1, 0.3],
        ).values["attribute->task"]  # fmt: skip
        assert np.isnan(value) or value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("where", ["task_labels", "task_predictions", "attribute_predictions"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_fractions_are_refused_wherever_they_are(where: str, place: int) -> None:
    rows: dict[str, Any] = {"attribute_labels": GROUP, "task_labels": TRUTH}
    rows |= {"attribute_predictions": SAID, "task_predictions": GUESS}
    table = np.array(rows[where], dtype=float)
    table[place] = 0.5
    with pytest.raises(InputError, match="DPA needs labels and predictions of 0 and 1"):
        predictability_amplification(**rows | {where: table})


@pytest.mark.parametrize("groups", [1, 3])
def test_two_groups_exactly(groups: int) -> None:
    names = np.arange(9) % groups
    with pytest.raises(InputError, match=f"DPA needs two groups, found {groups}"):
        predictability_amplification(names.astype(str), TRUTH, task_predictions=GUESS)


def test_an_unknown_loss() -> None:
    with pytest.raises(InputError, match='no loss "brie"; did you mean "brier"'):
        predictability_amplification(GROUP, TRUTH, task_predictions=GUESS, loss="brie")  # type: ignore[arg-type]
