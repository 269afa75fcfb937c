"""Calibrated thresholds, and curves against counting anew at each threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.thresholds import amplification_curves, calibrated_threshold

# Few distinct scores, so that ties happen.
ROW = st.tuples(
    st.integers(0, 1), st.integers(0, 1), st.integers(0, 5).map(lambda k: k / 4), st.integers(1, 3)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=2, max_size=15))
def test_the_curve_is_the_metric_at_each_threshold(rows: list[tuple[int, int, float, int]]) -> None:
    group, task, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    rows_of = {"sample_weight": weight, "keep_unseen": True}
    (curve,) = amplification_curves(group, task, task_scores=score, **rows_of)
    assert curve.thresholds[0] == np.inf
    assert sorted(set(score), reverse=True) == curve.thresholds[1:].tolist()
    for threshold in [*curve.thresholds[1:], 9.0, 0.3]:
        guess = (score >= threshold).astype(int)
        one = directional_amplification(
            group, task, task_predictions=guess, **rows_of
        ).attribute_to_task
        assert one is not None
        assert curve.at(threshold) == pytest.approx(one.value, abs=1e-12)
    assert curve.share[0] == 0
    assert curve.share[-1] == 1
    assert -1 <= curve.integral <= 1


def test_the_curve_of_attribute_scores() -> None:
    rng = np.random.default_rng(1)
    group, task = rng.integers(0, 2, (50, 2)), rng.integers(0, 2, (50, 3))
    scores = rng.random((50, 2))
    curves = amplification_curves(group, task, attribute_scores=scores)
    assert [curve.label for curve in curves] == ["0", "1"]
    guess = (scores >= 0.4).astype(int)
    found = directional_amplification(group, task, attribute_predictions=guess).task_to_attribute
    assert found is not None
    for curve, value in zip(curves, found.by_attribute, strict=True):
        assert curve.at(0.4) == pytest.approx(value)


def test_the_integral_is_the_mean_over_random_choices_among_ties() -> None:
    # All scores tied: k people are chosen at random, so both groups get the same rate k/n
    # and the mean rate over k is 1/2.
    group, task = ["a", "a", "b", "b"], [1, 1, 1, 0]
    (curve,) = amplification_curves(group, task, task_scores=[0.5] * 4)
    assert curve.integral == pytest.approx(((0.5 - 1.0) - (0.5 - 0.5)) / 2)


def test_even_a_perfect_ranking_has_an_integral() -> None:
    # As its docstring says: zero is not neutral, models are compared with each other.
    group, task = ["a", "a", "b", "b"], [1, 1, 1, 0]
    (curve,) = amplification_curves(group, task, task_scores=task)
    assert curve.at(1.0) == 0
    assert curve.integral < 0


def test_the_lean_of_a_curve_may_come_from_a_train_set() -> None:
    inputs = {"task_scores": [0.9, 0.8, 0.1, 0.2]}
    (own,) = amplification_curves(["a", "a", "b", "b"], [1, 1, 0, 0], **inputs)
    (other,) = amplification_curves(
        ["a", "a", "b", "b"],
        [1, 1, 0, 0],
        **inputs,
        train_attribute_labels=["a", "b"],
        train_task_labels=[0, 1],
    )
    assert other.value == pytest.approx(-own.value)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.floats(-5, 5), min_size=1, max_size=20), st.floats(0, 1))
def test_without_ties_np_rows_are_positive(scores: set[float], share: float) -> None:
    values = np.array(sorted(scores))
    chosen = calibrated_threshold(values, share)
    positive = int((values >= chosen.value).sum())
    assert abs(positive - len(values) * share) <= 0.5 + 1e-9
    assert chosen.share == pytest.approx(positive / len(values))


def test_tied_rows_go_to_the_nearer_side() -> None:
    scores = [0.9, 0.5, 0.5, 0.5, 0.1]
    assert calibrated_threshold(scores, 0.4).value == 0.9
    chosen = calibrated_threshold(scores, 0.6)
    assert chosen.value == 0.5
    assert (chosen.wanted, chosen.share) == (0.6, 0.8)
    assert chosen.tied
    # Half a row more or less is rounding.
    assert not calibrated_threshold([0.1, 0.5, 0.9], 0.5).tied
    assert not calibrated_threshold([0.1, 0.5], 0.2, sample_weight=[1, 3]).tied


def test_nobody_and_weights() -> None:
    nobody = calibrated_threshold([1.0, 2.0], 0.0)
    assert nobody.value > 2.0
    assert np.isfinite(nobody.value)
    assert calibrated_threshold([1.0, 2.0, 3.0], 0.5, sample_weight=[1, 1, 2]).value == 3.0


@pytest.mark.parametrize(
    ("scores", "share", "message"),
    [
        ([0.1, np.nan], 0.5, "NaN or infinity, first in row 1"),
        ([], 0.5, "at least"),
        (["x"], 0.5, "must be numbers"),
        ([0.1], 1.5, "between 0 and 1, found 1.5"),
    ],
)
def test_mistakes(scores: list[float], share: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrated_threshold(scores, share)


def test_mistakes_of_curves() -> None:
    with pytest.raises(InputError, match="give either"):
        amplification_curves([0, 1], [0, 1])
    with pytest.raises(InputError, match=r"shape \(2, 1\), found \(3, 1\)"):
        amplification_curves([0, 1], [0, 1], task_scores=[1, 2, 3])
