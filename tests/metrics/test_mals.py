"""The older metric: the formula as a loop, the paper's failure cases, undefined tasks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.mals import mals_amplification

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
