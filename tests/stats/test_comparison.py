"""Paired comparison: its tests against enumeration, scipy and definitions; claims of tasks."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmprobe import ProbeResult, compare
from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.results import Interval, NoteKind, Verdict
from lmprobe.stats.comparison import (
    SMALLEST,
    CellComparison,
    TaskDifference,
    adjusted,
    compare_cells,
    equivalence_p_value,
    sign_flip_p_value,
    unit_task_means,
)
from lmprobe.stats.crossed import CrossedMean, Spread, crossed_mean

CLEAR = Interval(0.05, 0.2, 0.95, "bonferroni-t")
TASK = TaskDifference("nurse", 0.12, 0.01, 0.02, 0.02, CLEAR, 9)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cells(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return rng(seed).normal(0.1, 0.3, shape)


def compared(first: np.ndarray, second: np.ndarray, **more: Any) -> CellComparison:
    tasks = [f"task {number}" for number in range(first.shape[2])]
    return compare_cells(first, second, tasks=tasks, rng=rng(), **more)


class TestSignFlips:
    @pytest.mark.parametrize("n", [1, 3, 8, 12])
    def test_few_pairs_are_flipped_in_every_way(self, n: int) -> None:
        values = rng(n).normal(0.3, 1, (n, 2, 3))
        p = sign_flip_p_value(values, rng())
        assert p.shape == (2, 3)
        signs = np.array(list(itertools.product((1, -1), repeat=n)))
        for place in np.ndindex(2, 3):
            column = values[:, place[0], place[1]]
            extreme = np.abs(signs @ column) >= abs(column.sum()) - 1e-9
            assert p[place] == pytest.approx(extreme.mean(), abs=1e-12)

    def test_many_pairs_are_flipped_at_random_as_scipy_does(self) -> None:
        for n, seed in ((13, 2), (30, 1)):
            values = rng(seed).normal(0.4, 1, n)
            theirs = stats.permutation_test(
                (values,), np.mean, permutation_type="samples", n_resamples=9999, rng=rng(2)
            ).pvalue
            ours = [float(sign_flip_p_value(values, rng(number))) for number in range(2)]
            assert ours == pytest.approx([theirs] * 2, abs=0.015)
            assert ours[0] != ours[1]
        # What is observed counts among 10,000: never zero.
        assert sign_flip_p_value(np.ones(40), rng()) == 1 / 10_000

    def test_ties_are_those_of_rounding_alone(self) -> None:
        assert sign_flip_p_value(np.array([1.0, -1.0]), rng()) == 1
        assert sign_flip_p_value(np.zeros(3), rng()) == 1
        # Flipping the smaller pair makes 0.96 of 1.04.
        assert sign_flip_p_value(np.array([1.0, 0.04]), rng()) == 0.5
        # 0.1 + 0.2 + 0.3 depends on the order of summation in the last digit.
        for values in ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1]):
            assert sign_flip_p_value(np.array(values), rng()) == 2 / 8

    def test_level_under_the_null(self) -> None:
        p = sign_flip_p_value(rng(4).normal(size=(10, 2000)), rng())
        assert stats.binomtest(int((p <= 0.05).sum()), 2000, 0.05).pvalue > 0.001

    def test_at_least_one_pair(self) -> None:
        with pytest.raises(InputError, match="at least one pair"):
            sign_flip_p_value(np.empty((0, 2)), rng())


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
        difference = CrossedMean(value, Spread(0.03, 11))
        assert equivalence_p_value(difference, 0.1) == pytest.approx(expected)

    def test_without_a_mean_it_is_undefined(self) -> None:
        assert math.isnan(equivalence_p_value(None, 0.1))

    @pytest.mark.parametrize("margin", [0.0, -0.1, math.inf, math.nan])
    def test_the_margin_is_a_positive_number(self, margin: float) -> None:
        with pytest.raises(InputError, match="`margin` must be a positive number"):
            equivalence_p_value(None, margin)

    def test_the_smallest_difference_is_half_of_the_last_digit_that_is_shown(self) -> None:
        assert f"{math.nextafter(SMALLEST, 1):.4f}" == "0.0001"
        assert f"{math.nextafter(SMALLEST, 0):.4f}" == "0.0000"


@pytest.mark.parametrize("families", [None, ["b", "a", "b", "a", "c", "d"]])
def test_means_of_units_and_tasks_are_those_of_a_loop(families: list[str] | None) -> None:
    table = cells((6, 2, 3))
    table[0, 1, 2] = math.nan  # one of several cells of a mean
    table[4, :, 0] = math.nan  # a task of a unit
    table[5] = math.nan  # a whole unit, which is left out
    names = families or list("012345")
    expected = [
        [np.nanmean([table[k, :, t] for k in range(6) if names[k] == name]) for t in range(3)]
        if name != names[4]
        else [math.nan, *table[4, :, 1:].mean(axis=0)]
        for name in sorted(set(names) - {names[5]})
    ]
    np.testing.assert_allclose(unit_task_means(table, families), expected)


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

    @pytest.mark.parametrize(("units", "claims"), [(2, 3), (9, 3), (9, 1), (20, 64)])
    def test_at_once_the_interval_is_widened_by_the_ratio_of_the_quantiles(
        self, units: int, claims: int
    ) -> None:
        alone, together = (stats.t.isf(0.025 / number, units - 1) for number in (1, claims))
        half = (0.2 - 0.05) / 2 * together / alone
        widened = replace(TASK, units=units).at_once(claims).interval
        assert (widened.low, widened.high) == pytest.approx((0.12 - half, 0.12 + half))
        assert (widened.confidence, widened.method) == (0.95, "bonferroni-t")

    def test_one_unit_or_no_interval_stay_as_they_are(self) -> None:
        for task in (
            replace(TASK, units=1),
            replace(TASK, interval=Interval.too_few_units(0.95, "bonferroni-t")),
            replace(TASK, interval=Interval.undefined(0.95, "bonferroni-t")),
        ):
            assert task.at_once(5) is task


class TestCells:
    def test_each_task_has_its_test_and_its_interval(self) -> None:
        first, second = cells((7, 2, 4)), cells((7, 2, 4), 1)
        by_template = (second - first).mean(axis=1)
        # Seven templates: all flips are tried, so that no random number is drawn.
        p = sign_flip_p_value(by_template, rng())
        tasks = compared(first, second, confidence=0.9).tasks
        for task in tasks:
            number = int(task.task.split()[1])
            column = by_template[:, number]
            known = stats.ttest_1samp(column, 0.0).confidence_interval(0.9)
            assert task.value == pytest.approx(column.mean())
            assert task.p_value == pytest.approx(p[number])
            assert task.p_holm == pytest.approx(adjusted(p, "holm")[number])
            false = adjusted(p, "benjamini-hochberg")[number]
            assert task.p_benjamini_hochberg == pytest.approx(false)
            assert (task.interval.low, task.interval.high) == pytest.approx(known)
            assert (task.interval.confidence, task.interval.method) == (0.9, "bonferroni-t")
            assert task.units == 7
        sizes = [abs(task.value) for task in tasks]
        assert sizes == sorted(sizes, reverse=True)

    def test_the_value_is_the_second_minus_the_first(self) -> None:
        first, second = cells((7, 2, 4)), cells((7, 2, 4), 1)
        found = compared(first, second)
        assert found.values == pytest.approx((first.mean(), second.mean()))
        assert found.value == pytest.approx(second.mean() - first.mean())
        assert found.interval.confidence == 0.95
        mean = crossed_mean((second - first).mean(axis=1))
        assert mean is not None
        assert found.p_value == pytest.approx(mean.p_value())
        assert found.p_equivalence is None
        margin = compared(first, second, margin=0.2).p_equivalence
        assert margin == pytest.approx(max(mean.p_below(-0.2), mean.p_above(0.2)))

    def test_pairing_finds_what_an_unpaired_test_would_not(self) -> None:
        first = 0.3 * rng(1).normal(size=(12, 1, 1)) + 0.02 * rng(2).normal(size=(12, 2, 15))
        second = first + 0.05 + 0.02 * rng(3).normal(size=first.shape)
        found = compared(first, second)
        assert found.interval.low > 0
        assert found.p_value < 0.01
        assert stats.ttest_ind(first.mean((1, 2)), second.mean((1, 2))).pvalue > 0.5

    def test_the_task_that_moved_is_found(self) -> None:
        first = rng(4).normal(0, 0.05, (20, 2, 10))
        second = first + rng(5).normal(0, 0.02, first.shape)
        second[:, :, 3] += 0.2
        tasks = compared(first, second).tasks
        assert tasks[0].task == "task 3"
        assert [task.task for task in tasks if task.differs(0.05)] == ["task 3"]
        assert all(task.p_holm >= task.p_benjamini_hochberg >= task.p_value for task in tasks)

    def test_a_claim_must_hold_for_templates_and_for_tasks(self) -> None:
        # One task alone moved, in every template alike: other tasks would not say the same.
        second = 0.001 * rng(9).normal(size=(20, 2, 10))
        second[:, :, 0] += 0.5
        assert float(sign_flip_p_value(second.mean(axis=(1, 2)), rng())) < 0.01
        assert compared(np.zeros_like(second), second).p_value > 0.1

    def test_undefined_tasks_come_last_and_have_no_test(self) -> None:
        first, second = cells((7, 2, 5)), cells((7, 2, 5), 1)
        first[:, :, 0] = math.nan
        second[3, :, 2] = math.nan
        found = compared(first, second)
        # A pair that one model lacks is in neither value.
        assert found.value == pytest.approx(found.values[1] - found.values[0])
        masked = np.where(np.isnan(first - second), math.nan, second)
        assert found.values[1] == pytest.approx(np.nanmean(masked, axis=(1, 2)).mean())
        tasks = {task.task: task for task in found.tasks}
        assert list(tasks)[-1] == "task 0"
        # The mean over six templates is known, but not the test of all seven.
        assert tasks["task 2"].value == pytest.approx(np.nanmean((second - first)[:, :, 2]))
        for name, task in tasks.items():
            undefined = name in ("task 0", "task 2")
            assert math.isnan(task.p_value) == math.isnan(task.interval.low) == undefined

    def test_a_sample_needs_two_templates_and_two_tasks(self) -> None:
        for shape in ((1, 2, 4), (4, 2, 1)):
            found = compared(cells(shape), cells(shape, 1), margin=0.1)
            assert math.isnan(found.p_value)
            assert math.isnan(found.p_equivalence or 0)
        single = compared(cells((1, 2, 4)), cells((1, 2, 4), 1)).tasks[0]
        assert (math.isnan(single.interval.low), single.units) == (True, 1)
        two = compared(cells((2, 2, 4)), cells((2, 2, 4), 1)).tasks[0]
        assert two.at_once(2).interval.width > two.interval.width
        first, second = cells((2, 1, 2)), cells((2, 1, 2), 1)
        first[0, 0, 0] = first[1, 0, 1] = math.nan
        assert all(math.isnan(task.p_value) for task in compared(first, second).tasks)
        same = compared(first, first)
        assert math.isnan(same.interval.low)

    @pytest.mark.parametrize(("units", "said"), [(5, "0.062"), (6, None)])
    def test_six_units_are_the_fewest_that_a_test_of_a_task_needs(
        self, units: int, said: str | None
    ) -> None:
        names = [name for name in "abcdef"[:units] for _ in range(2)]
        shape = (2 * units, 2, 12)
        found = compared(cells(shape), cells(shape, 1), families=names)
        notes = [note for note in found.notes if "permutation test" in note.text]
        assert [note.kind for note in notes] == ([NoteKind.FEW_UNITS] if said else [])
        assert all(f"with {units} templates or families" in note.text for note in notes)
        assert all(str(said) in note.text for note in notes)

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(InputError, match=r"one shape: found \(2, 2, 2\) and \(2, 2, 3\)"):
            compared(cells((2, 2, 2)), cells((2, 2, 3)))
        with pytest.raises(InputError, match="`confidence`"):
            compared(cells((2, 2, 2)), cells((2, 2, 2)), confidence=1.0)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, Verdict.LOWER),
        ({"value": 0.2, "interval": Interval(0.1, 0.3, 0.75, "t")}, Verdict.HIGHER),
        ({"p_value": 0.26}, Verdict.UNDECIDED),
        ({"value": -SMALLEST}, Verdict.LOWER),
        ({"value": -0.99 * SMALLEST}, Verdict.UNDECIDED),
        ({"interval": Interval(-0.3, 0.0, 0.75, "t")}, Verdict.UNDECIDED),
        ({"margin": 0.4, "p_equivalence": 0.25}, Verdict.EQUIVALENT),
    ],
)
def test_the_verdict_of_a_row_and_its_limits(change: dict[str, Any], verdict: Verdict) -> None:
    row = ComparisonRow(
        "one", "two", "labor", Direction.TASK_TO_ATTRIBUTE, (0.2, 0.0), -0.2,
        Interval(-0.3, -0.1, 0.75, "t"), 0.25, 0.25, (),
    )  # fmt: skip
    assert replace(row, **change).verdict is verdict


class TestResults:
    def test_the_order_of_words_does_not_matter(self, result: ProbeResult) -> None:
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

    def test_tasks_of_one_alone_are_left_out(self, result: ProbeResult) -> None:
        row = result.rows[0]
        fewer = replace(
            row,
            tasks=row.tasks[2:],
            predicted=row.predicted[:, :, 2:],
            base_rate=row.base_rate[:, 2:],
            lean=row.lean[:, 2:],
        )
        (found,) = compare([result, replace(result, rows=(fewer,))]).rows
        assert len(found.tasks) == len(row.tasks) - 2
        texts = [note.text for note in found.notes]
        assert any(row.tasks[0] in text and row.tasks[1] in text for text in texts)

    def test_another_scorer_is_another_measurement(self, result: ProbeResult) -> None:
        other = replace(result, provenance={**result.provenance, "scorer": "first-piece"})
        with pytest.raises(InputError, match="first-piece"):
            compare([result, other])
