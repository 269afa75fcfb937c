"""Planning, permutation tests and paired comparison."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.inference import exact_planning
from lmprobe.inference.comparison import compare_cells
from lmprobe.inference.multiplicity import adjusted
from lmprobe.inference.permutation import sign_flip_p_value
from lmprobe.inference.pilot import templates_needed, variance_components
from lmprobe.inference.planning import PLANNED, claimable_effect, sample_size
from lmprobe.intervals.methods.exact import of_counts
from lmprobe.probing.compare import compare
from lmprobe.probing.result import ProbeResult


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


class TestSampleSize:
    def test_the_papers_number(self) -> None:
        assert sample_size(0.05) == 11903
        assert claimable_effect(3160) == pytest.approx(0.09742, abs=5e-6)

    def test_no_cost_varies_more_than_one_of_even_odds(self) -> None:
        impossible = claimable_effect(1000, method="exact", variance=0.3)
        assert impossible == claimable_effect(1000, method="exact")

    def test_ours(self) -> None:
        assert sample_size(0.05, method="stratified") == 2952
        assert claimable_effect(3160, method="stratified") < 0.05

    def test_exact(self) -> None:
        assert sample_size(0.05, method="exact") == 1641
        assert sample_size(0.5, cost_bound=10.0, method="exact") == 1641

    def test_from_the_exact_number_on_every_interval_excludes_zero(self) -> None:
        def low(n: int) -> float:
            a, b = n // 2, n - n // 2
            counts = (round(0.65 * a), a, round(0.35 * b), b)
            return of_counts(*counts, confidence=0.95)[0]

        n = sample_size(0.3, method="exact")
        assert all(low(more) > 0 for more in range(n, n + 12))
        assert low(n - 1) <= 0

    @settings(deadline=None)
    @given(
        effect=st.floats(0.01, 0.9),
        share=st.floats(0.02, 0.5),
        bound=st.floats(1, 5),
        confidence=st.floats(0.5, 0.999),
    )
    def test_it_is_equation_4(
        self, effect: float, share: float, bound: float, confidence: float
    ) -> None:
        variance = (bound / share) ** 2
        log = -math.log((1 - confidence) / 2)
        exact = (2 * variance + 2 * bound / (3 * share) * effect) * log / effect**2
        found = sample_size(effect, group_share=share, cost_bound=bound, confidence=confidence)
        assert found == pytest.approx(max(math.floor(exact) + 1, 2), abs=1e-9 * exact + 1e-9)

    @pytest.mark.parametrize("method", PLANNED)
    @pytest.mark.parametrize("share", [0.5, 0.1])
    def test_one_row_fewer_is_not_enough(self, method: str, share: float) -> None:
        n = sample_size(0.1, group_share=share, method=method)
        assert claimable_effect(n, group_share=share, method=method) < 0.1
        assert claimable_effect(n - 1, group_share=share, method=method) >= 0.1

    def test_a_known_variance_saves_rows(self) -> None:
        for method in ("bernstein", "stratified-bernstein", "score", "bootstrap", "betting"):
            assert sample_size(0.05, variance=0.01, method=method) < sample_size(
                0.05, method=method
            )

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            ({"effect": 0}, "effect"),
            ({"effect": 2}, "effect"),
            ({"effect": 0.1, "group_share": 0.7}, "group_share"),
            ({"effect": 0.1, "confidence": 1}, "confidence"),
            ({"effect": 0.1, "variance": -1}, "variance"),
            ({"effect": 0.1, "cost_bound": 0}, "cost_bound"),
            ({"effect": 0.1, "method": "bernstine"}, "bernstein"),
            ({"effect": 0.1, "method": "score", "variance": 0}, "variance"),
        ],
    )
    def test_mistakes(self, arguments: dict[str, float], word: str) -> None:
        with pytest.raises(InputError, match=word):
            sample_size(**arguments)  # type: ignore[arg-type]


class TestPilot:
    def test_components_are_recovered(self) -> None:
        draw = rng(1)
        found = []
        for _ in range(60):
            cells = (
                0.1 * draw.normal(size=(20, 1, 1))
                + 0.2 * draw.normal(size=(1, 1, 40))
                + 0.3 * draw.normal(size=(20, 1, 40))
            )
            parts = variance_components(cells)
            found.append((parts.templates, parts.tasks, parts.rest))
        assert np.mean(found, axis=0) == pytest.approx([0.01, 0.04, 0.09], rel=0.15)

    def test_the_plan_is_the_smallest_that_does(self) -> None:
        cells = rng(2).normal(0.1, 0.2, (10, 2, 20)) + 0.1 * rng(3).normal(size=(10, 1, 1))
        plan = templates_needed(cells, 0.05)
        parts = plan.components
        assert plan.templates is not None
        assert parts.halfwidth(plan.templates, parts.n_tasks, 0.95) < 0.05
        assert parts.halfwidth(plan.templates - 1, parts.n_tasks, 0.95) >= 0.05
        assert plan.fixed_tasks <= plan.templates

    def test_no_number_of_templates_makes_up_for_tasks(self) -> None:
        cells = 0.3 * rng(4).normal(size=(1, 1, 10)) + 0.01 * rng(5).normal(size=(20, 1, 10))
        plan = templates_needed(cells, 0.01)
        assert plan.templates is None
        assert plan.tasks is not None
        assert plan.tasks > 100

    def test_families_are_the_units(self) -> None:
        cells = rng(6).normal(size=(12, 1, 5))
        parts = variance_components(cells, list("aaabbbcccddd"))
        assert parts.n_templates == 4

    def test_too_small_a_pilot(self) -> None:
        with pytest.raises(InputError, match="at least two"):
            templates_needed(np.zeros((1, 2, 5)), 0.1)
        with pytest.raises(InputError, match="effect"):
            templates_needed(np.zeros((3, 2, 5)), 0)


class TestSignFlips:
    @pytest.mark.parametrize("n", [1, 3, 8])
    def test_exact_by_enumeration(self, n: int) -> None:
        values = rng(n).normal(0.3, 1, n)
        means = [abs(np.mean(values * signs)) for signs in itertools.product((1, -1), repeat=n)]
        expected = np.mean([mean >= abs(values.mean()) - 1e-12 for mean in means])
        assert float(sign_flip_p_value(values, rng())) == pytest.approx(expected)

    def test_it_agrees_with_scipy(self) -> None:
        values = rng(1).normal(0.4, 1, 30)
        theirs = stats.permutation_test(
            (values,), np.mean, permutation_type="samples", n_resamples=9999, rng=rng(2)
        )
        assert float(sign_flip_p_value(values, rng())) == pytest.approx(theirs.pvalue, abs=0.01)

    def test_never_zero(self) -> None:
        assert float(sign_flip_p_value(np.ones(40), rng())) == pytest.approx(1e-4)

    def test_many_at_once(self) -> None:
        values = rng(3).normal(size=(8, 5))
        each = [float(sign_flip_p_value(values[:, column], rng())) for column in range(5)]
        assert sign_flip_p_value(values, rng()).tolist() == pytest.approx(each)

    def test_level_under_the_null(self) -> None:
        p = sign_flip_p_value(rng(4).normal(size=(10, 2000)), rng())
        assert stats.binomtest(int((p <= 0.05).sum()), 2000, 0.05).pvalue > 0.001


def holm_by_definition(p: list[float]) -> list[float]:
    """The smallest level at which Holm's steps would reject each hypothesis."""
    order = sorted(range(len(p)), key=lambda number: p[number])
    steps = [min(1.0, p[one] * (len(p) - rank)) for rank, one in enumerate(order)]
    return [max(steps[: order.index(number) + 1]) for number in range(len(p))]


@settings(deadline=None)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_control_agrees_with_the_definitions(p: list[float]) -> None:
    assert adjusted(np.array(p), "holm") == pytest.approx(holm_by_definition(p), abs=1e-12)
    assert adjusted(np.array(p), "benjamini-hochberg") == pytest.approx(
        stats.false_discovery_control(p), abs=1e-12
    )


def test_control_keeps_the_undefined_apart() -> None:
    found = adjusted(np.array([0.01, math.nan, 0.02]), "holm")
    assert found[[0, 2]].tolist() == [0.02, 0.02]
    assert math.isnan(found[1])
    with pytest.raises(InputError, match="holm"):
        adjusted(np.array([0.1]), "hlom")


class TestResults:
    def test_the_order_of_words_does_not_matter(self, result: ProbeResult) -> None:
        """A result whose attributes and tasks are turned round is the same result."""
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
        other = replace(result, rows=tuple(turned))
        for one in compare([result, other]).rows:
            assert one.value == pytest.approx(0, abs=1e-12)
            assert all(abs(task.value) < 1e-12 for task in one.tasks if task.p_value == 1)
            assert not any("not the same for both" in note.text for note in one.notes)

    def test_tasks_of_one_alone_are_left_out(self, result: ProbeResult) -> None:
        row = result.rows[0]
        fewer = replace(
            row,
            tasks=row.tasks[2:],
            predicted=row.predicted[:, :, 2:],
            base_rate=row.base_rate[:, 2:],
            lean=row.lean[:, 2:],
        )
        found = compare([result, replace(result, rows=(fewer,))]).rows
        assert len(found) == 1
        assert len(found[0].tasks) == len(row.tasks) - 2
        assert any(
            row.tasks[0] in note.text and row.tasks[1] in note.text for note in found[0].notes
        )

    def test_another_scorer_is_another_measurement(self, result: ProbeResult) -> None:
        other = replace(result, provenance={**result.provenance, "scorer": "first-piece"})
        with pytest.raises(InputError, match="first-piece"):
            compare([result, other])


class TestComparison:
    def compare(self, first: np.ndarray, second: np.ndarray, **more: object):  # type: ignore[no-untyped-def]
        tasks = [f"task {number}" for number in range(first.shape[2])]
        return compare_cells(first, second, tasks=tasks, rng=rng(), **more)  # type: ignore[arg-type]

    def test_pairing_finds_what_an_unpaired_test_would_not(self) -> None:
        first = 0.3 * rng(1).normal(size=(12, 1, 1)) + 0.02 * rng(2).normal(size=(12, 2, 15))
        second = first + 0.05 + 0.02 * rng(3).normal(size=first.shape)
        found = self.compare(first, second)
        assert found.value == pytest.approx(0.05, abs=0.01)
        assert found.interval.low > 0
        assert found.p_value < 0.01
        means = (first.mean((1, 2)), second.mean((1, 2)))
        assert stats.ttest_ind(*means).pvalue > 0.5

    def test_the_task_that_moved_is_found(self) -> None:
        first = rng(4).normal(0, 0.05, (20, 2, 10))
        second = first + rng(5).normal(0, 0.02, first.shape)
        second[:, :, 3] += 0.2
        found = self.compare(first, second)
        assert found.tasks[0].task == "task 3"
        assert found.tasks[0].p_holm < 0.05
        assert all(one.p_holm >= one.p_benjamini_hochberg >= one.p_value for one in found.tasks)
        assert sum(one.p_holm <= 0.05 for one in found.tasks) == 1
        assert [one.task for one in found.tasks if one.differs(0.05)] == ["task 3"]

    def test_the_interval_of_a_task_is_students_and_bonferronis(self) -> None:
        first = rng(4).normal(0, 0.05, (20, 2, 10))
        second = first + rng(5).normal(0.1, 0.02, first.shape)
        task = next(one for one in self.compare(first, second).tasks if one.task == "task 3")
        by_template = (second - first)[:, :, 3].mean(axis=1)
        for claims, found in ((1, task.interval), (64, task.at_once(64).interval)):
            known = stats.ttest_1samp(by_template, 0.0).confidence_interval(1 - 0.05 / claims)
            assert (found.low, found.high) == pytest.approx((known.low, known.high))

    def test_a_difference_that_no_table_shows_is_not_claimed(self) -> None:
        first = rng(4).normal(0, 0.05, (20, 2, 4))
        second = first + rng(5).normal(0.00004, 0.000001, first.shape)
        for task in self.compare(first, second).tasks:
            assert task.p_holm <= 0.05
            assert 0.0 not in task.interval
            assert not task.differs(0.05)

    def test_the_same_model_twice_shows_nothing(self) -> None:
        cells = rng(6).normal(size=(8, 2, 8))
        found = self.compare(cells, cells)
        assert found.value == 0
        assert math.isnan(found.interval.low)
        assert found.p_value == 1

    def test_undefined_pairs_are_in_neither_value(self) -> None:
        first, second = rng(7).normal(size=(2, 8, 2, 8))
        first[:, 0, 0] = math.nan
        found = self.compare(first, second)
        assert found.value == pytest.approx(found.values[1] - found.values[0])
        masked = np.where(np.isnan(first), math.nan, second)
        assert found.values[1] == pytest.approx(np.nanmean(masked, axis=(1, 2)).mean())

    def test_few_families_are_said(self) -> None:
        first, second = rng(8).normal(size=(2, 8, 2, 12))
        found = self.compare(first, second, families=list("aabbccdd"))
        assert any("cannot go below 0.12" in note.text for note in found.notes)
        assert all(task.p_value >= 2 / 2**4 for task in found.tasks)

    def test_a_claim_must_hold_for_templates_and_for_tasks(self) -> None:
        # One task alone moved, in every template alike: other tasks would not say the same.
        first = np.zeros((20, 2, 10))
        second = 0.001 * rng(9).normal(size=first.shape)
        second[:, :, 0] += 0.5
        found = self.compare(first, second)
        assert float(sign_flip_p_value(second.mean(axis=(1, 2)), rng())) < 0.01
        assert found.p_value > 0.1

    def test_shapes_must_match(self) -> None:
        with pytest.raises(InputError, match="one shape"):
            self.compare(np.zeros((2, 2, 2)), np.zeros((3, 2, 2)))


@pytest.mark.parametrize(("n", "share", "rate"), [(60, 0.5, 0.5), (150, 0.3, 0.2)])
def test_the_smallest_effect_that_rows_can_claim_by_the_exact_test(
    n: int, share: float, rate: float
) -> None:
    effect = exact_planning.exact_claimable_effect(n, share, rate, 0.95)
    step = 2.0**-exact_planning._HALVINGS
    assert 0.1 < effect < 0.5
    assert exact_planning._excludes(n, effect, share, rate, 0.95)
    assert not exact_planning._excludes(n, effect - step, share, rate, 0.95)


def test_betting_plans_with_what_its_limits_leave_of_the_error() -> None:
    n, share, variance = 900.0, 0.3, 0.1
    log = math.log(2 / (0.05 * 0.95))
    expected = math.sqrt(2 * log * variance / (n * share * (1 - share)))
    found = claimable_effect(n, group_share=share, variance=variance, method="betting")
    assert found == pytest.approx(expected, rel=1e-6)
