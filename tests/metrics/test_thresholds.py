"""Calibrated thresholds, and curves against counting anew at each threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.thresholds import (
    AmplificationCurve,
    Threshold,
    amplification_curves,
    calibrated_threshold,
    curve_of_sums,
)

GROUP = ["f", "f", "f", "m", "m", "m", "m"]
TASK = [[1, 0], [1, 1], [0, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
SCORES = np.array([[5, 1], [4, 2], [4, 0], [5, 1], [1, 2], [0, 2], [0, 1]]) / 4

# Few distinct scores, so that ties happen.
ROW = st.tuples(
    st.integers(0, 1), st.integers(0, 1), st.integers(0, 5).map(lambda k: k / 4), st.integers(1, 3)
)


class TestCurve:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(ROW, min_size=2, max_size=15))
    def test_it_is_the_metric_at_each_threshold(
        self, rows: list[tuple[int, int, float, int]]
    ) -> None:
        group, task, score, weight = (np.array(column) for column in zip(*rows, strict=True))
        options = {"sample_weight": weight, "keep_unseen": True}
        (curve,) = amplification_curves(group, task, task_scores=score, **options)
        assert curve.thresholds.tolist() == [np.inf, *sorted(set(score), reverse=True)]
        for threshold in [*curve.thresholds[1:], 9.0, 0.3]:
            positive = score >= threshold
            measured = directional_amplification(
                group, task, task_predictions=positive.astype(int), **options
            ).attribute_to_task
            assert measured is not None
            assert curve.at(threshold) == pytest.approx(measured.value, abs=1e-12)
            if threshold in curve.thresholds:
                share = curve.share[curve.thresholds == threshold][0]
                assert share == pytest.approx(weight[positive].sum() / weight.sum())
        assert (curve.share[0], curve.share[-1]) == (0, 1)
        assert -1 <= curve.integral <= 1

    @pytest.mark.parametrize("weight", [None, [1, 2, 1, 0.5, 1, 3, 1]])
    def test_every_column_of_scores_has_its_curve(self, weight: Any) -> None:
        curves = amplification_curves(GROUP, TASK, task_scores=SCORES, sample_weight=weight)
        assert [(curve.label, curve.given) for curve in curves] == [
            ("0", ("f", "m")),
            ("1", ("f", "m")),
        ]
        assert {curve.direction for curve in curves} == {Direction.ATTRIBUTE_TO_TASK}
        for place, curve in enumerate(curves):
            for number, cut in enumerate(curve.thresholds[1:], 1):
                measured = directional_amplification(
                    GROUP, TASK, task_predictions=(cut <= SCORES).astype(int), sample_weight=weight
                ).attribute_to_task
                assert measured is not None
                expected = measured.by_pair[:, place]
                np.testing.assert_allclose(curve.by_given[number], expected, atol=1e-12)

    def test_scores_of_attributes(self) -> None:
        curves = amplification_curves(GROUP, TASK, attribute_scores=SCORES)
        assert [(curve.label, curve.given) for curve in curves] == [
            ("f", ("0", "1")),
            ("m", ("0", "1")),
        ]
        guess = (SCORES >= 0.4).astype(int)
        measured = directional_amplification(GROUP, TASK, attribute_predictions=guess)
        assert measured.task_to_attribute is not None
        for curve, value in zip(curves, measured.task_to_attribute.by_attribute, strict=True):
            assert curve.at(0.4) == pytest.approx(value)
            assert curve.direction is Direction.TASK_TO_ATTRIBUTE

    def test_the_curve_of_sums_is_that_of_the_rows(self) -> None:
        expected = amplification_curves(GROUP, TASK, task_scores=SCORES)[1]
        result = curve_of_sums(
            Direction.ATTRIBUTE_TO_TASK,
            "1",
            ("f", "m"),
            np.array([0.5, 0.25, 0.0]),
            # At each of these scores: everybody, of f and of m.
            np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [1.0, 1.0, 0.0]]),
            Association.from_labels(GROUP, TASK).task_given_attribute[:, 1],
            np.array([-1.0, 1.0]),
        )
        for name in ("thresholds", "share", "by_given", "value"):
            np.testing.assert_allclose(getattr(result, name), getattr(expected, name), atol=1e-12)
        assert result.integral == pytest.approx(expected.integral)

    def test_a_value_is_that_of_the_cut_at_or_above_the_threshold(self) -> None:
        curve = AmplificationCurve(
            Direction.ATTRIBUTE_TO_TASK, "x", ("f", "m"),
            thresholds=np.array([np.inf, 0.8, 0.3]),
            share=np.array([0.0, 0.25, 1.0]),
            by_given=np.array([[0.0, 0.0], [1.0, 3.0], [5.0, np.nan]]),
        )  # fmt: skip
        assert curve.value.tolist() == [0, 2, 5]
        thresholds = [np.inf, 0.9, 0.8, 0.5, 0.3, -1.0]
        assert [curve.at(threshold) for threshold in thresholds] == [0, 0, 2, 2, 5, 5]
        # Two trapezoids: 1/4 wide with the mean 1, 3/4 wide with the mean 3.5.
        assert curve.integral == pytest.approx(0.25 * 1 + 0.75 * 3.5)

    def test_the_integral_is_the_mean_over_random_choices_among_ties(self) -> None:
        # All scores tied: k people are chosen at random, so both groups get the same rate k/n
        # and the mean rate over k is 1/2.
        group, task = ["a", "a", "b", "b"], [1, 1, 1, 0]
        (curve,) = amplification_curves(group, task, task_scores=[0.5] * 4)
        assert curve.integral == pytest.approx(((0.5 - 1.0) - (0.5 - 0.5)) / 2)
        # Zero is not neutral: even a perfect ranking has an integral.
        (perfect,) = amplification_curves(group, task, task_scores=task)
        assert perfect.at(1.0) == 0
        assert perfect.integral < 0

    def test_the_lean_may_come_from_a_train_set(self) -> None:
        rows: tuple[Any, ...] = (["a", "a", "b", "b"], [1, 1, 0, 0])
        scores: dict[str, Any] = {"task_scores": [0.9, 0.8, 0.1, 0.2]}
        (own,) = amplification_curves(*rows, **scores)
        train: dict[str, Any] = {"train_attribute_labels": ["a", "b"], "train_task_labels": [0, 1]}
        (other,) = amplification_curves(*rows, **scores, **train)
        assert other.value == pytest.approx(-own.value)
        # Labels that the train set lacks are left out unless kept.
        train = {"train_attribute_labels": ["a", "a"], "train_task_labels": [1, 0]}
        (unseen,) = amplification_curves(*rows, **scores, **train)
        assert np.isnan(unseen.by_given[:, 1]).all()
        (retained,) = amplification_curves(*rows, **scores, **train, keep_unseen=True)
        assert not retained.by_given[:, 1].any()

    def test_scores_of_one_kind_with_one_column_per_label(self) -> None:
        for scores in ({}, {"task_scores": SCORES, "attribute_scores": SCORES}):
            with pytest.raises(InputError, match="give either `task_scores` or `attribute_scores`"):
                amplification_curves(GROUP, TASK, **scores)  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"must have shape \(7, 2\), found \(7, 1\)"):
            amplification_curves(GROUP, TASK, task_scores=SCORES[:, 0])


class TestCalibration:
    @settings(max_examples=60, deadline=None)
    @given(st.sets(st.floats(-5, 5), min_size=1, max_size=20), st.floats(0, 1))
    def test_without_ties_np_rows_are_positive(self, scores: set[float], share: float) -> None:
        values = np.array(sorted(scores))
        threshold = calibrated_threshold(values, share)
        positive = int((values >= threshold.value).sum())
        assert abs(positive - len(values) * share) <= 0.5 + 1e-9
        assert threshold.share == pytest.approx(positive / len(values))
        assert (threshold.wanted, threshold.row) == (share, 1 / len(values))
        assert not threshold.tied

    @pytest.mark.parametrize(
        ("scores", "share", "weight", "value", "reached", "tied"),
        [
            ([0.9, 0.2, 0.6, 0.4], 1.0, None, 0.2, 1.0, False),
            ([0.9, 0.2, 0.6, 0.4], 0.0, None, float(np.nextafter(0.9, 1)), 0.0, False),
            # Midway between two shares the higher threshold is taken.
            ([0.9, 0.2, 0.6, 0.4], 0.125, None, float(np.nextafter(0.9, 1)), 0.0, False),
            # Tied rows go to the nearer side.
            ([0.9, 0.5, 0.5, 0.5, 0.1], 0.4, None, 0.9, 0.2, True),
            ([0.9, 0.5, 0.5, 0.5, 0.1], 0.6, None, 0.5, 0.8, True),
            ([0.1, 0.5, 0.9], 0.5, [1, 6, 3], 0.9, 0.3, False),
            ([0.1, 0.5, 0.9], 0.7, [1, 6, 3], 0.5, 0.9, False),
            ([0.1, 0.5], 0.2, [1, 3], float(np.nextafter(0.5, 1)), 0.0, False),
        ],
    )
    def test_by_hand(
        self, scores: Any, share: float, weight: Any, value: float, reached: float, tied: bool
    ) -> None:
        threshold = calibrated_threshold(scores, share, sample_weight=weight)
        assert (threshold.value, threshold.share) == pytest.approx((value, reached), abs=0)
        assert threshold.tied == tied
        assert threshold.row == (1 / len(scores) if weight is None else max(weight) / sum(weight))

    def test_half_a_row_more_or_less_is_no_tie(self) -> None:
        assert not Threshold(0.5, wanted=0.5, share=0.75 + 1e-9, row=0.5).tied
        assert Threshold(0.5, wanted=0.5, share=0.75 + 1e-8, row=0.5).tied
        assert Threshold(0.5, wanted=0.5, share=0.25 - 1e-8, row=0.5).tied
        fixed = Threshold.fixed(0.25)
        assert (fixed.value, fixed.tied) == (0.25, False)
        assert np.isnan([fixed.wanted, fixed.share, fixed.row]).all()

    @pytest.mark.parametrize(
        ("scores", "share", "message"),
        [
            ([], 0.5, r"one column with at least one row: \(0,\)"),
            ([[1.0, 2.0]], 0.5, r"one column with at least one row: \(1, 2\)"),
            ([1, np.inf, np.nan], 0.5, "NaN or infinity, first in row 1"),
            (["x"], 0.5, "`scores` must be one column of numbers"),
            ([0.1], 1 + 1e-9, "`share` must lie between 0 and 1, found 1.0"),
            ([0.1], -1e-9, "`share` must lie between 0 and 1, found -1e-09"),
            ([0.1], np.nan, "`share` must lie between 0 and 1, found nan"),
        ],
    )
    def test_mistakes(self, scores: Any, share: float, message: str) -> None:
        with pytest.raises(InputError, match=message):
            calibrated_threshold(scores, share)
