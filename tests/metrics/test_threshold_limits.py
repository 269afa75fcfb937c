"""Thresholds at their limits: shares of 0 and 1, half a row, one row, weights, sums of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.thresholds import (
    Curve,
    Threshold,
    amplification_curves,
    calibrated_threshold,
    checked_scores,
    curve_of_sums,
)


@pytest.mark.parametrize(
    ("share", "tied"),
    [
        (0.5, False),
        (0.75 + 1e-9, False),  # half a row and what rounding may add to it
        (float(np.nextafter(0.75 + 1e-9, 1)), True),
        (0.25 - 1e-8, True),
        (0.25, False),
        (0.8, True),
    ],
)
def test_half_a_row_more_or_less_is_no_tie(share: float, tied: bool) -> None:
    assert Threshold(0.5, wanted=0.5, share=share, row=0.5).tied == tied
    exactly = Threshold(0.5, wanted=0.0, share=0.25 + 1e-9, row=0.5)
    assert not exactly.tied


def test_a_threshold_that_was_given_has_no_share_and_is_not_tied() -> None:
    fixed = Threshold.fixed(0.25)
    assert fixed.value == 0.25
    assert np.isnan([fixed.wanted, fixed.share, fixed.row]).all()
    assert not fixed.tied


def test_everybody_nobody_and_in_between() -> None:
    scores = [0.9, 0.2, 0.6, 0.4]
    everybody, nobody = calibrated_threshold(scores, 1.0), calibrated_threshold(scores, 0)
    assert (everybody.value, everybody.share) == (0.2, 1.0)
    assert (nobody.value, nobody.share) == (np.nextafter(0.9, 1), 0.0)
    found = [calibrated_threshold(scores, share) for share in (0.25, 0.5, 0.75)]
    assert [(one.value, one.share) for one in found] == [(0.9, 0.25), (0.6, 0.5), (0.4, 0.75)]
    # Midway between two shares the higher threshold is taken.
    assert calibrated_threshold(scores, 0.125).share == 0
    assert {one.row for one in found} == {0.25}


def test_the_share_of_the_heaviest_row() -> None:
    found = calibrated_threshold([0.1, 0.5, 0.9], 0.5, sample_weight=[1, 6, 3])
    assert (found.value, found.share, found.row) == (0.9, 0.3, 0.6)
    assert calibrated_threshold([0.1, 0.5, 0.9], 0.7, sample_weight=[1, 6, 3]).share == 0.9


@pytest.mark.parametrize("share", [-1e-9, 1 + 1e-9, 2, np.nan])
def test_a_share_lies_between_none_and_all(share: float) -> None:
    with pytest.raises(InputError, match="`share` must lie between 0 and 1, found"):
        calibrated_threshold([0.5], share)


def test_one_score_is_enough_and_any_finite_number_will_do() -> None:
    assert checked_scores([-3]).tolist() == [-3.0]
    assert calibrated_threshold([7], 1).value == 7
    for wrong, message in (
        ([], r"one column with a row at least, found \(0,\)"),
        ([[1.0, 2.0]], r"one column with a row at least, found \(1, 2\)"),
        (0.5, r"one column with a row at least, found \(\)"),
        ([1, np.inf, np.nan], "NaN or infinity, first in row 1"),
        (["a"], "scores must be numbers"),
    ):
        with pytest.raises(InputError, match=message):
            checked_scores(wrong)


GROUP = ["f", "f", "f", "m", "m", "m", "m"]
TASK = [[1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
SCORES = np.array([[5, 1], [4, 2], [4, 0], [5, 1], [1, 2], [0, 2], [0, 1]]) / 4


@pytest.mark.parametrize("weight", [None, [1, 2, 1, 0.5, 1, 3, 1]])
def test_every_column_of_scores_has_its_curve(weight: Any) -> None:
    curves = amplification_curves(GROUP, TASK, task_scores=SCORES, sample_weight=weight)
    assert [(curve.label, curve.given) for curve in curves] == [
        ("0", ("f", "m")),
        ("1", ("f", "m")),
    ]
    assert {curve.direction for curve in curves} == {Direction.ATTRIBUTE_TO_TASK}
    each = np.ones(7) if weight is None else np.array(weight)
    for place, curve in enumerate(curves):
        cuts = sorted(set(SCORES[:, place]), reverse=True)
        assert curve.thresholds.tolist() == [np.inf, *cuts]
        reached = [each[SCORES[:, place] >= cut].sum() / each.sum() for cut in curve.thresholds]
        np.testing.assert_allclose(curve.share, reached)
        assert curve.by_given.shape == (1 + len(cuts), 2)
        for cut in curve.thresholds[1:]:
            one = directional_amplification(
                GROUP, TASK, task_predictions=(cut <= SCORES).astype(int), sample_weight=weight
            ).attribute_to_task
            assert one is not None
            number = int(np.flatnonzero(curve.thresholds == cut)[0])
            np.testing.assert_allclose(curve.by_given[number], one.by_pair[:, place], atol=1e-12)


def test_the_curve_of_sums_is_that_of_the_rows() -> None:
    world = Association.from_labels(GROUP, TASK)
    expected = amplification_curves(GROUP, TASK, task_scores=SCORES)[1]
    # At the scores 2/4, 1/4 and 0: everybody, of f and of m.
    amounts = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    found = curve_of_sums(
        Direction.ATTRIBUTE_TO_TASK,
        "1",
        ("f", "m"),
        np.array([0.5, 0.25, 0.0]),
        amounts,
        world.task_given_attribute[:, 1],
        np.array([-1.0, 1.0]),
    )
    for name in ("thresholds", "share", "by_given", "value"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)
    assert found.integral == pytest.approx(expected.integral)


def test_a_value_is_that_of_the_cut_at_or_above_the_threshold() -> None:
    curve = Curve(
        Direction.ATTRIBUTE_TO_TASK, "x", ("f", "m"),
        thresholds=np.array([np.inf, 0.8, 0.3]),
        share=np.array([0.0, 0.25, 1.0]),
        by_given=np.array([[0.0, 0.0], [1.0, 3.0], [5.0, np.nan]]),
    )  # fmt: skip
    assert curve.value.tolist() == [0, 2, 5]
    asked = [np.inf, 0.9, 0.8, 0.5, 0.3, -1.0]
    assert [curve.at(threshold) for threshold in asked] == [0, 0, 2, 2, 5, 5]
    # Two trapezoids: 1/4 wide with the mean 1, 3/4 wide with the mean 3.5.
    assert curve.integral == pytest.approx(0.25 * 1 + 0.75 * 3.5)


def test_labels_that_the_train_set_lacks_are_left_out_unless_kept() -> None:
    train: dict[str, Any] = {
        "train_attribute_labels": ["f", "f"],
        "train_task_labels": [[1, 0], [0, 1]],
    }
    left_out = amplification_curves(GROUP, TASK, task_scores=SCORES, **train)
    assert all(np.isnan(curve.by_given[:, 1]).all() for curve in left_out)  # of m
    kept = amplification_curves(GROUP, TASK, task_scores=SCORES, **train, keep_unseen=True)
    assert all(not curve.by_given[:, 1].any() for curve in kept)


def test_scores_of_one_kind_with_one_column_per_label() -> None:
    scores: dict[str, Any] = {"task_scores": SCORES, "attribute_scores": SCORES}
    with pytest.raises(InputError, match="give either `task_scores` or `attribute_scores`"):
        amplification_curves(GROUP, TASK, **scores)
    with pytest.raises(InputError, match=r"must have shape \(7, 2\), found \(7, 1\)"):
        amplification_curves(GROUP, TASK, task_scores=SCORES[:, 0])
    backward = amplification_curves(GROUP, TASK, attribute_scores=SCORES)
    assert [(curve.label, curve.given) for curve in backward] == [
        ("f", ("0", "1")),
        ("m", ("0", "1")),
    ]
    assert {curve.direction for curve in backward} == {Direction.TASK_TO_ATTRIBUTE}
    # A list of one column each is a table of one column.
    one = [row[0] for row in TASK]
    flat = amplification_curves(GROUP, one, task_scores=SCORES[:, 0].tolist())
    table = amplification_curves(GROUP, one, task_scores=SCORES[:, :1])
    assert flat[0].value.tolist() == table[0].value.tolist()
