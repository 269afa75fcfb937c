"""The older metric: the formula as a loop, the paper's failure cases, undefined tasks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association, lean
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.metrics.mals import mals_amplification
from lmprobe.metrics.metric import PredictedTables, table_metric

COLUMN = st.lists(st.integers(0, 2), min_size=6, max_size=6)


@settings(max_examples=60, deadline=None)
@given(COLUMN, COLUMN, COLUMN, COLUMN)
def test_agrees_with_a_loop(
    group: list[int], task: list[int], group_guess: list[int], task_guess: list[int]
) -> None:
    names = [str(number) for number in range(3)]
    eye = np.eye(3, dtype=int)
    totals = []
    for t in range(3):
        truth = [g for g, d in zip(group, task, strict=True) if d == t]
        guess = [g for g, d in zip(group_guess, task_guess, strict=True) if d == t]
        if truth and guess:
            share = {a: truth.count(a) / len(truth) for a in range(3)}
            totals.append(
                sum(
                    guess.count(a) / len(guess) - share[a]
                    for a in range(3)
                    if share[a] > 1 / 3 + 1e-12
                )
            )
    inputs = {"attribute_predictions": eye[group_guess], "task_predictions": eye[task_guess]}
    if not totals:
        with pytest.raises(InputError, match="no task is both labelled and predicted"):
            mals_amplification(eye[group], eye[task], **inputs)
        return
    result = mals_amplification(eye[group], eye[task], **inputs)
    assert result.attributes == tuple(names)
    assert result.value == pytest.approx(sum(totals) / len(totals), abs=1e-12)
    assert result.undefined_pairs == 9 - 3 * len(totals)
    for a, t in product(range(3), range(3)):
        defined = t in task and t in task_guess
        assert np.isnan(result.by_pair[a, t]) != defined


def test_an_even_share_is_no_correlation() -> None:
    # P(a|t) is 2/3 and 1/3 of the first task, 1/2 of the second; three groups, even is 1/3.
    result = mals_amplification(
        ["a", "a", "b", "c", "b"],
        ["s", "s", "s", "t", "t"],
        attribute_predictions=["a", "a", "a", "c", "c"],
        task_predictions=["s", "s", "s", "t", "t"],
    )
    assert result.correlated.tolist() == [[1, 0], [0, 1], [0, 1]]
    # Task s: a goes from 2/3 to 1. Task t: b from 1/2 to 0, c from 1/2 to 1.
    assert result.by_pair == pytest.approx(np.array([[1 / 3, 0], [0, -1 / 2], [0, 1 / 2]]))
    assert result.value == pytest.approx(1 / 6)
    assert result.values == {"undirected": result.value}


def test_rows_are_weighted_in_the_labels_and_the_predictions() -> None:
    result = mals_amplification(
        ["a", "b", "b"],
        [1, 1, 1],
        attribute_predictions=["a", "b", "a"],
        task_predictions=[1, 1, 1],
        sample_weight=[2, 1, 1],
        train_attribute_labels=["a", "b"],
        train_task_labels=[1, 1],
        train_sample_weight=[3, 1],
    )
    assert result.base_rate[:, 0].tolist() == [0.75, 0.25]
    assert result.predicted[:, 0].tolist() == [0.75, 0.25]
    assert result.value == 0
    for missing in ({"attribute_predictions": None}, {"task_predictions": None}):
        both = {"attribute_predictions": [0, 1], "task_predictions": [0, 1]}
        with pytest.raises(InputError, match="needs both `attribute_predictions` and"):
            mals_amplification([0, 1], [0, 1], **both | missing)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_of_tables_agrees_with_a_loop_over_the_joint_table(direction: Direction) -> None:
    rng = np.random.default_rng(5)
    groups, tasks = "abc", "wxyz"
    base = Association.from_counts(rng.integers(1, 50, (3, 4)), list(groups), list(tasks))
    guesses = rng.random((2, 3, 4))
    guesses /= guesses.sum(axis=direction.axis, keepdims=True)
    values = []
    for guess in guesses:
        # The joint probability of what is given, as in the base, and what the model predicts.
        joint = np.zeros((3, 4))
        for a, t in product(range(3), range(4)):
            task_is_given = direction is Direction.TASK_TO_ATTRIBUTE
            joint[a, t] = guess[a, t] * (base.p_task[t] if task_is_given else base.p_attribute[a])
        total = 0.0
        for a, t in product(range(3), range(4)):
            share = base.joint[a, t] / sum(base.joint[b, t] for b in range(3))
            if share > 1 / 3:
                total += joint[a, t] / sum(joint[b, t] for b in range(3)) - share
        values.append(total / 4)
    tables = PredictedTables(direction, guesses, base, lean(base, direction))
    assert table_metric("mals")(tables) == pytest.approx(values, abs=1e-12)
