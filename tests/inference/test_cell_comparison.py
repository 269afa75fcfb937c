"""The difference of two models' cells: the claim for a task, its interval, what is undefined."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.inference.comparison import CellComparison, TaskDifference, compare_cells
from lmprobe.inference.equivalence import SMALLEST
from lmprobe.inference.multiplicity import adjusted
from lmprobe.inference.permutation import sign_flip_p_value
from lmprobe.intervals.crossed import crossed_mean
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.results import Interval, NoteKind, Verdict

CLEAR = Interval(0.05, 0.2, 0.95, "bonferroni-t")
TASK = TaskDifference("nurse", 0.12, 0.01, 0.02, 0.02, CLEAR, 9)


def cells(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.1, 0.3, shape)


def compared(first: np.ndarray, second: np.ndarray, **more: Any) -> CellComparison:
    tasks = [f"task {number}" for number in range(first.shape[2])]
    return compare_cells(first, second, tasks=tasks, rng=np.random.default_rng(0), **more)


class TestClaimOfATask:
    def test_test_size_and_interval_must_all_say_so(self) -> None:
        assert TASK.differs(0.05)
        assert not replace(TASK, p_holm=0.06).differs(0.05)
        assert not replace(TASK, value=0.9 * SMALLEST).differs(0.05)
        assert not replace(TASK, interval=replace(CLEAR, low=-0.05)).differs(0.05)
        assert not replace(TASK, interval=Interval.undefined(0.95, "t")).differs(0.05)
        assert not replace(TASK, interval=Interval.too_few_units(0.95, "t")).differs(0.05)

    def test_the_limits_belong_to_the_claim(self) -> None:
        assert replace(TASK, p_holm=0.05).differs(0.05)
        assert replace(TASK, value=SMALLEST).differs(0.05)
        assert replace(TASK, value=-SMALLEST).differs(0.05)
        # Both ends belong to the interval: one at zero does not rule it out.
        assert not replace(TASK, interval=replace(CLEAR, low=0.0)).differs(0.05)

    def test_an_undefined_p_value_claims_nothing(self) -> None:
        assert not replace(TASK, p_holm=math.nan).differs(0.05)

    def test_without_an_interval_nothing_is_known(self) -> None:
        bare = TaskDifference("nurse", 0.1, 0.01, 0.02, 0.02)
        assert math.isnan(bare.interval.low)
        assert (bare.interval.confidence, bare.units) == (0.95, 0)
        assert not bare.differs(0.05)


class TestAtOnce:
    @pytest.mark.parametrize(("units", "claims"), [(2, 3), (9, 3), (9, 1), (20, 64)])
    def test_the_interval_is_widened_by_the_ratio_of_the_quantiles(
        self, units: int, claims: int
    ) -> None:
        # An interval need not lie around the value; what is at once does.
        task = replace(TASK, units=units)
        one, all_ = (stats.t.isf(0.025 / number, units - 1) for number in (1, claims))
        half = (0.2 - 0.05) / 2 * all_ / one
        found = task.at_once(claims).interval
        assert (found.low, found.high) == pytest.approx((0.12 - half, 0.12 + half))
        assert (found.confidence, found.method) == (0.95, "bonferroni-t")

    def test_one_unit_or_no_interval_stay_as_they_are(self) -> None:
        for task in (
            replace(TASK, units=1),
            replace(TASK, units=0),
            replace(TASK, interval=Interval.too_few_units(0.95, "bonferroni-t")),
        ):
            assert task.at_once(5) is task
        undefined = replace(TASK, interval=Interval.undefined(0.95, "bonferroni-t"))
        assert undefined.at_once(5) is undefined


class TestCells:
    def test_each_task_has_its_test_and_its_interval(self) -> None:
        first, second = cells((7, 2, 4)), cells((7, 2, 4), 1)
        found = compared(first, second, confidence=0.9)
        by_template = (second - first).mean(axis=1)
        p = sign_flip_p_value(by_template, np.random.default_rng(0))
        # Seven templates: all flips are tried, so that no random number is drawn.
        for task in found.tasks:
            number = int(task.task.split()[1])
            column = by_template[:, number]
            known = stats.ttest_1samp(column, 0.0).confidence_interval(0.9)
            assert task.value == pytest.approx(column.mean())
            assert task.p_value == pytest.approx(p[number])
            assert task.p_holm == pytest.approx(adjusted(p, "holm")[number])
            assert task.p_benjamini_hochberg == pytest.approx(
                adjusted(p, "benjamini-hochberg")[number]
            )
            assert (task.interval.low, task.interval.high) == pytest.approx(known)
            assert (task.interval.confidence, task.interval.method) == (0.9, "bonferroni-t")
            assert task.units == 7
        sizes = [abs(task.value) for task in found.tasks]
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

    def test_undefined_tasks_come_last_and_have_no_test(self) -> None:
        first, second = cells((7, 2, 5)), cells((7, 2, 5), 1)
        first[:, :, 0] = math.nan
        second[3, :, 2] = math.nan
        found = {task.task: task for task in compared(first, second).tasks}
        assert list(found)[-1] == "task 0"
        assert math.isnan(found["task 0"].value)
        # The mean over six templates is known, but not the test of all seven.
        assert found["task 2"].value == pytest.approx(np.nanmean((second - first)[:, :, 2]))
        for name in ("task 0", "task 2"):
            assert math.isnan(found[name].p_value)
            assert math.isnan(found[name].p_holm)
            assert math.isnan(found[name].interval.low)
        assert sum(math.isnan(task.p_value) for task in found.values()) == 2

    def test_no_task_may_be_whole(self) -> None:
        first, second = cells((2, 1, 2)), cells((2, 1, 2), 1)
        first[0, 0, 0] = first[1, 0, 1] = math.nan
        found = compared(first, second)
        assert all(math.isnan(task.p_value) for task in found.tasks)

    def test_one_template_or_one_task_is_no_sample(self) -> None:
        for shape in ((1, 2, 4), (4, 2, 1)):
            found = compared(cells(shape), cells(shape, 1), margin=0.1)
            assert math.isnan(found.p_value)
            assert found.p_equivalence is not None
            assert math.isnan(found.p_equivalence)
        single = compared(cells((1, 2, 4)), cells((1, 2, 4), 1)).tasks[0]
        assert math.isnan(single.interval.low)
        assert single.units == 1

    def test_two_templates_have_an_interval(self) -> None:
        task = compared(cells((2, 2, 4)), cells((2, 2, 4), 1)).tasks[0]
        assert math.isfinite(task.interval.low)
        assert task.at_once(2).interval.width > task.interval.width

    @pytest.mark.parametrize(("units", "said"), [(5, "0.062"), (6, None), (7, None)])
    def test_six_units_are_the_fewest_that_a_test_of_a_task_needs(
        self, units: int, said: str | None
    ) -> None:
        found = compared(cells((units, 2, 12)), cells((units, 2, 12), 1))
        texts = [note.text for note in found.notes if "permutation test" in note.text]
        assert len(texts) == (said is not None)
        if said is not None:
            assert texts[0].startswith(f"with {units} templates or families")
            assert said in texts[0]
            (kind,) = {note.kind for note in found.notes if note.text == texts[0]}
            assert kind is NoteKind.FEW_UNITS

    def test_mistakes_are_named(self) -> None:
        with pytest.raises(InputError, match=r"one shape: found \(2, 2, 2\) and \(2, 2, 3\)"):
            compared(cells((2, 2, 2)), cells((2, 2, 3)))
        with pytest.raises(InputError, match="`confidence`"):
            compared(cells((2, 2, 2)), cells((2, 2, 2)), confidence=1.0)


def row(value: float, interval: Interval, p_value: float, **more: Any) -> ComparisonRow:
    return ComparisonRow(
        "one", "two", "labor", Direction.TASK_TO_ATTRIBUTE, (0.2, 0.2 + value), value, interval,
        p_value, p_value, (), **more,
    )  # fmt: skip


class TestVerdict:
    def test_a_second_model_that_is_smaller_amplifies_less(self) -> None:
        first = cells((12, 2, 15)) * 0.1
        less = compared(first, first - 0.3 + 0.01 * cells((12, 2, 15), 1))
        found = row(less.value, less.interval, less.p_value)
        assert less.value < -0.2
        assert found.verdict is Verdict.AMPLIFIES_LESS
        assert found.verdict.label == "amplifies less"
        more = compared(first - 0.3 + 0.01 * cells((12, 2, 15), 1), first)
        assert row(more.value, more.interval, more.p_value).verdict.label == "amplifies more"

    def test_its_limits(self) -> None:
        below = Interval(-0.3, -0.1, 0.75, "t")
        assert row(-0.2, below, 0.25).verdict is Verdict.AMPLIFIES_LESS
        assert row(-0.2, below, 0.26).verdict is Verdict.UNDECIDED
        assert row(-SMALLEST, below, 0.25).verdict is Verdict.AMPLIFIES_LESS
        assert row(-0.99 * SMALLEST, below, 0.25).verdict is Verdict.UNDECIDED
        assert row(-0.2, replace(below, high=0.0), 0.25).verdict is Verdict.UNDECIDED
        assert row(-0.2, below, 0.25, foreign_lean=True).verdict.label == "follows less"
        assert row(-0.2, below, 0.25, margin=0.4, p_equivalence=0.25).verdict is Verdict.EQUIVALENT
