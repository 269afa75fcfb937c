"""Paired comparison: its tests against enumeration, scipy and definitions; claims of tasks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from lmprobe import compare
from lmprobe.errors import InputError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.results import Interval
from lmprobe.stats.comparison import (
    SMALLEST,
    TableComparison,
    TaskDifference,
    adjusted,
    compare_tables,
    equivalence_p_value,
    task_differences,
)
from lmprobe.stats.resampling import Share, Spread
from lmprobe.stats.verdicts import IntervalSettings
from tests.conftest import Made
from tests.stats.tables import moved_tables, row_tables

CLEAR = Interval(0.05, 0.2, 0.95, "bonferroni-t")
TASK = TaskDifference("nurse", 0.12, 0.01, 0.02, 0.02, CLEAR)
ONE_UNIT = Spread(0.1, {"families": Share(0.0, 1.0, 1)})


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cells(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return rng(seed).normal(0.1, 0.3, shape)


def moves(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    return rng(seed).normal(0.02, 0.05, shape)


def compared(
    first: np.ndarray, second: np.ndarray, margin: float | None = None, **choices: Any
) -> TableComparison:
    tables = moved_tables(first), moved_tables(second)
    return compare_tables(*tables, IntervalSettings(**choices), margin=margin)


class TestControl:
    @settings(deadline=None)
    @given(p=st.lists(st.floats(0, 1), min_size=1, max_size=20))
    def test_it_agrees_with_the_definitions(self, p: list[float]) -> None:
        order = sorted(range(len(p)), key=lambda number: p[number])
        steps = [min(1.0, p[number] * (len(p) - rank)) for rank, number in enumerate(order)]
        holm = [max(steps[: order.index(number) + 1]) for number in range(len(p))]
        assert adjusted(np.array(p), "holm") == pytest.approx(holm, abs=1e-12)
        hochberg = stats.false_discovery_control(p)
        assert adjusted(np.array(p), "benjamini-hochberg") == pytest.approx(hochberg, abs=1e-12)

    def test_what_is_undefined_is_no_test(self) -> None:
        p = np.array([0.03, math.nan, 0.03])
        assert adjusted(p, "holm") == pytest.approx([0.06, math.nan, 0.06], nan_ok=True)
        assert adjusted(p, "benjamini-hochberg") == pytest.approx(
            [0.03, math.nan, 0.03], nan_ok=True
        )
        for control in ("holm", "benjamini-hochberg"):
            assert np.isnan(adjusted(np.array([math.nan]), control)).all()
            assert len(adjusted(np.array([]), control)) == 0
        with pytest.raises(InputError, match=r'no control called "hlom".*holm'):
            adjusted(p, "hlom")


class TestEquivalence:
    @pytest.mark.parametrize("value", [0.02, -0.02, 0.0])
    def test_it_is_the_larger_of_both_p_values(self, value: float) -> None:
        # The distance to the nearer end of the margin decides.
        expected = stats.t.sf((0.1 - abs(value)) / 0.03, 11)
        difference = Spread(value, {"families": Share(0.03**2, 12.0, 12)})
        assert equivalence_p_value(difference, 0.1) == pytest.approx(expected)

    def test_with_one_unit_it_is_undefined(self) -> None:
        assert math.isnan(equivalence_p_value(ONE_UNIT, 0.1))

    @pytest.mark.parametrize("margin", [0.0, -0.1, math.inf, math.nan])
    def test_the_margin_is_a_positive_number(self, margin: float) -> None:
        with pytest.raises(InputError, match="`margin` must be a positive number"):
            equivalence_p_value(ONE_UNIT, margin)

    def test_the_smallest_difference_is_half_of_the_last_digit_that_is_shown(self) -> None:
        assert f"{math.nextafter(SMALLEST, 1):.4f}" == "0.0001"
        assert f"{math.nextafter(SMALLEST, 0):.4f}" == "0.0000"


class TestTask:
    def test_test_size_and_interval_must_all_claim_it(self) -> None:
        assert TASK.differs(0.05)
        # The limits belong to the claim, and both ends to the interval.
        assert replace(TASK, p_holm=0.05).differs(0.05)
        assert replace(TASK, value=-SMALLEST).differs(0.05)
        for change in (
            {"p_holm": 0.06},
            {"p_holm": math.nan},
            {"value": 0.9 * SMALLEST},
            {"interval": replace(CLEAR, low=0.0)},
            {"interval": Interval.undefined(0.95, "t")},
            {"interval": Interval.too_few_units(0.95, "t")},
        ):
            assert not replace(TASK, **change).differs(0.05)
        assert not TaskDifference("nurse", 0.1, 0.01, 0.02, 0.02).differs(0.05)


class TestTables:
    def test_each_task_has_its_test_and_its_interval(self) -> None:
        first, second = moves((7, 4)), moves((7, 4), 1)
        moved = second - first
        p = stats.ttest_1samp(moved, 0.0).pvalue
        (tasks,) = task_differences([compared(first, second).tasks], 0.9)
        for task in tasks:
            number = int(task.task.split()[1])
            # Four tasks cover together: Bonferroni's share of the confidence.
            expected = stats.ttest_1samp(moved[:, number], 0.0).confidence_interval(1 - 0.1 / 4)
            assert task.value == pytest.approx(moved[:, number].mean())
            assert task.p_value == pytest.approx(p[number])
            assert task.p_holm == pytest.approx(adjusted(p, "holm")[number])
            false = adjusted(p, "benjamini-hochberg")[number]
            assert task.p_benjamini_hochberg == pytest.approx(false)
            assert (task.interval.low, task.interval.high) == pytest.approx(expected)
            assert (task.interval.confidence, task.interval.method) == (0.9, "bonferroni-t")
        sizes = [abs(task.value) for task in tasks]
        assert sizes == sorted(sizes, reverse=True)

    def test_the_value_is_the_second_minus_the_first(self) -> None:
        """Its variance is that of the means of templates plus that of the means of tasks."""
        first, second = moves((7, 4)), moves((7, 4), 1)
        result = compared(first, second, margin=0.2)
        assert result.values == pytest.approx((first.mean(), second.mean()))
        assert result.corrected is None
        value, moved = second.mean() - first.mean(), second - first
        parts = [(moved.mean(axis=axis).var(ddof=1) / n, n - 1) for axis, n in ((1, 7), (0, 4))]
        total = sum(variance for variance, _ in parts)
        degrees = total**2 / sum(variance**2 / freedom for variance, freedom in parts)
        errors = [
            (math.sqrt(variance), freedom) for variance, freedom in [(total, degrees), *parts]
        ]

        def tail(distance: float) -> float:
            return max(float(stats.t.cdf(distance / error, freedom)) for error, freedom in errors)

        assert result.p_value == pytest.approx(2 * tail(-abs(value)))
        assert result.p_equivalence == pytest.approx(max(tail(-0.2 - value), tail(value - 0.2)))
        half = max(stats.t.ppf(0.975, freedom) * error for error, freedom in errors)
        assert (result.interval.low, result.interval.high) == pytest.approx(
            (value - half, value + half)
        )
        assert compared(first, second).p_equivalence is None

    def test_pairing_finds_what_an_unpaired_test_would_not(self) -> None:
        first = 0.1 * rng(1).normal(size=(12, 1)) + 0.01 * rng(2).normal(size=(12, 15))
        second = first + 0.02 + 0.01 * rng(3).normal(size=first.shape)
        result = compared(first, second)
        assert result.interval.low > 0
        assert result.p_value < 0.01
        assert stats.ttest_ind(first.mean(axis=1), second.mean(axis=1)).pvalue > 0.3

    def test_the_task_that_moved_is_found(self) -> None:
        first = rng(4).normal(0, 0.05, (20, 10))
        second = first + rng(5).normal(0, 0.02, first.shape)
        second[:, 3] += 0.2
        (tasks,) = task_differences([compared(first, second).tasks], 0.95)
        assert tasks[0].task == "task 003"
        assert [task.task for task in tasks if task.differs(0.05)] == ["task 003"]
        assert all(task.p_holm >= task.p_benjamini_hochberg >= task.p_value for task in tasks)

    def test_a_claim_must_hold_for_templates_and_for_tasks(self) -> None:
        # One task alone moved, in every template alike: other tasks would not say the same.
        second = 0.001 * rng(9).normal(size=(20, 10))
        second[:, 0] += 0.4
        assert stats.ttest_1samp(second.mean(axis=1), 0.0).pvalue < 0.01
        assert compared(np.zeros_like(second), second).p_value > 0.1

    def test_undefined_tasks_come_last_and_have_no_test(self) -> None:
        lean = np.ones((2, 5)) * [[1.0], [-1.0]]
        lean[:, 0] = math.nan
        first, second = moves((7, 5)), moves((7, 5), 1)
        result = compare_tables(
            moved_tables(first, declared=lean),
            moved_tables(second, declared=lean),
            IntervalSettings(),
        )
        assert result.values == pytest.approx((first[:, 1:].mean(), second[:, 1:].mean()))
        (tasks,) = task_differences([result.tasks], 0.95)
        assert tasks[-1].task == "task 000"
        for task in tasks:
            undefined = task.task == "task 000"
            assert math.isnan(task.p_value) == (not task.interval.bounded) == undefined

    def test_a_sample_needs_two_templates_and_two_tasks(self) -> None:
        for shape in ((1, 4), (4, 1)):
            result = compared(moves(shape), moves(shape, 1), margin=0.1)
            assert math.isnan(result.p_value)
            assert math.isnan(result.p_equivalence or 0)
            assert result.interval.status == "too_few_units"
        (tasks,) = task_differences([compared(moves((1, 4)), moves((1, 4), 1)).tasks], 0.95)
        assert not any(task.interval.bounded for task in tasks)
        same = compared(moves((2, 4)), moves((2, 4)))
        assert math.isnan(same.interval.low)

    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_a_truthful_model_and_itself_with_noise_do_not_differ_on_a_counted_base(
        self, direction: Direction
    ) -> None:
        """What is tested are the claimed values, so that the noise of the counts cancels."""
        draw = rng(3)
        truth = draw.dirichlet(np.ones(24)).reshape(2, 12)
        counts = draw.multinomial(400, truth.ravel()).reshape(2, 12) + 1.0
        first, second = (
            row_tables(
                truth * np.exp(draw.normal(0, 0.05, (8, 2, 12))), counts, direction, counted=True
            )
            for _ in range(2)
        )
        result = compare_tables(first, second, IntervalSettings())
        assert result.corrected is not None
        assert 0.0 in result.interval
        assert result.corrected in result.interval


class TestResults:
    def test_the_order_of_words_does_not_matter(self, made: Made) -> None:
        result = made(bases=("labor", "wikipedia"), tasks=("cook", "nurse", "vet", "clerk"))
        turned = [
            replace(
                row,
                attributes=row.attributes[::-1],
                tasks=row.tasks[::-1],
                predicted=row.predicted[:, ::-1, ::-1],
                base_rate=row.base_rate[::-1, ::-1],
                lean=row.lean[::-1, ::-1],
            )
            for row in result.rows
        ]
        for row in compare([result, replace(result, rows=tuple(turned))]).rows:
            assert row.value == pytest.approx(0, abs=1e-12)
            assert not any("not the same for both" in note.text for note in row.notes)
