"""The parts of a pilot's variance against a loop, and the smallest plan against a count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.inference.pilot import Components, templates_needed, variance_components

REACH = {level: float(stats.norm.isf((1 - level) / 2)) for level in (0.8, 0.95)}


def cells_of(table: np.ndarray) -> np.ndarray:
    """Return cells (K, 2, T) whose mean over both attributes is the table (K, T)."""
    return np.stack([table - 0.1, table + 0.1], axis=1)


def halfwidth(parts: Components, k: int, t: int, confidence: float, tasks: float) -> float:
    variance = parts.templates / k + tasks / t + parts.rest / (k * t)
    return REACH[confidence] * math.sqrt(variance)


PILOT = (
    0.3 * np.random.default_rng(1).normal(size=(7, 1))
    + 0.2 * np.random.default_rng(2).normal(size=(1, 5))
    + 0.4 * np.random.default_rng(3).normal(size=(7, 5))
)


class TestComponents:
    def test_they_are_those_of_a_two_way_analysis_of_variance(self) -> None:
        k, t = PILOT.shape
        mean = sum(PILOT.flat) / (k * t)
        rows = [sum(PILOT[i]) / t for i in range(k)]
        columns = [sum(PILOT[:, j]) / k for j in range(t)]
        of_rows = t * sum((one - mean) ** 2 for one in rows) / (k - 1)
        of_columns = k * sum((one - mean) ** 2 for one in columns) / (t - 1)
        left = [
            (PILOT[i, j] - rows[i] - columns[j] + mean) ** 2 for i in range(k) for j in range(t)
        ]
        rest = sum(left) / ((k - 1) * (t - 1))
        found = variance_components(cells_of(PILOT))
        assert found.templates == pytest.approx((of_rows - rest) / t)
        assert found.tasks == pytest.approx((of_columns - rest) / k)
        assert found.rest == pytest.approx(rest)
        assert found.templates > 0.01
        assert found.tasks > 0.01
        assert (found.n_templates, found.n_tasks) == (7, 5)

    def test_a_part_that_the_pilot_cannot_tell_is_none(self) -> None:
        # All rows and all columns have the same mean: there is nothing but the rest.
        found = variance_components(cells_of(np.array([[1.0, -1.0], [-1.0, 1.0]])))
        assert (found.templates, found.tasks, found.rest) == (0.0, 0.0, 4.0)

    def test_a_task_that_is_undefined_in_a_template_is_left_out(self) -> None:
        cells = cells_of(PILOT)
        cells[2, :, 1] = math.nan
        found = variance_components(cells)
        assert found == variance_components(np.delete(cells_of(PILOT), 1, axis=2))
        assert found.n_tasks == 4

    def test_two_templates_and_two_tasks_are_the_fewest(self) -> None:
        assert variance_components(cells_of(PILOT[:2, :2])).n_templates == 2
        assert variance_components(cells_of(PILOT[:2, :])).n_tasks == 5
        assert variance_components(cells_of(PILOT[:, :2])).n_tasks == 2
        with pytest.raises(InputError, match="found 1 and 5"):
            variance_components(cells_of(PILOT[:1]))
        with pytest.raises(InputError, match="found 7 and 1"):
            variance_components(cells_of(PILOT[:, :1]))

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_the_half_width_adds_the_parts_by_the_normal_law(self, confidence: float) -> None:
        parts = Components(0.02, 0.05, 0.7, n_templates=3, n_tasks=4)
        found = parts.halfwidth(6, 9, confidence)
        assert found == pytest.approx(halfwidth(parts, 6, 9, confidence, 0.05))
        # With any number of templates, the tasks are what is left.
        reach = REACH[confidence]
        assert parts.halfwidth(math.inf, 9, confidence) == pytest.approx(
            reach * math.sqrt(0.05 / 9)
        )


class TestPlan:
    @pytest.mark.parametrize(("effect", "confidence"), [(0.35, 0.95), (0.25, 0.8)])
    def test_it_counts_up_to_the_first_that_is_enough(
        self, effect: float, confidence: float
    ) -> None:
        plan = templates_needed(cells_of(PILOT), effect, confidence=confidence)
        parts = plan.components

        def first(of: list[float]) -> int:
            return 2 + [one < effect for one in of].index(True)

        numbers = range(2, 100)
        tasks = parts.tasks
        assert plan.templates == first([halfwidth(parts, n, 5, confidence, tasks) for n in numbers])
        assert plan.tasks == first([halfwidth(parts, 7, n, confidence, tasks) for n in numbers])
        assert plan.fixed_tasks == first([halfwidth(parts, n, 5, confidence, 0) for n in numbers])
        assert plan.fixed_tasks < plan.templates
        assert plan.halfwidth == pytest.approx(halfwidth(parts, 7, 5, confidence, tasks))
        assert (plan.effect, plan.confidence) == (effect, confidence)

    def test_the_confidence_is_95_percent_if_not_given(self) -> None:
        cells = cells_of(PILOT)
        assert templates_needed(cells, 0.3) == templates_needed(cells, 0.3, confidence=0.95)

    def test_an_effect_as_large_as_the_half_width_needs_one_more(self) -> None:
        cells = cells_of(PILOT)
        parts = variance_components(cells)
        fixed = Components(parts.templates, 0.0, parts.rest, 7, 5)
        by_templates = parts.halfwidth(30, 5, 0.95)
        by_tasks = parts.halfwidth(7, 30, 0.95)
        alone = fixed.halfwidth(30, 5, 0.95)
        assert templates_needed(cells, by_templates).templates == 31
        assert templates_needed(cells, by_tasks).tasks == 31
        assert templates_needed(cells, alone).fixed_tasks == 31

    def test_two_are_the_fewest(self) -> None:
        plan = templates_needed(cells_of(PILOT), 50.0)
        assert (plan.templates, plan.tasks, plan.fixed_tasks) == (2, 2, 2)

    @pytest.mark.parametrize("effect", [0.0, -1.0, math.nan])
    def test_an_effect_is_positive(self, effect: float) -> None:
        with pytest.raises(InputError, match="`effect` must be positive"):
            templates_needed(cells_of(PILOT), effect)

    def test_an_effect_that_is_out_of_reach_is_said(self) -> None:
        # Without variance of tasks, templates alone are enough, but far too many of them.
        with pytest.raises(InputError, match="plan for a larger effect"):
            templates_needed(cells_of(np.array([[1.0, -1.0], [-1.0, 1.0]])), 1e-12)

    def test_the_confidence_is_named(self) -> None:
        with pytest.raises(InputError, match="`confidence`"):
            templates_needed(cells_of(PILOT), 0.1, confidence=1.0)
