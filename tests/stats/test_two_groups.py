"""The sample of two groups: what it offers each method, and how its rows are drawn anew."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats
from lmprobe.stats.method import cells_of, groups_sample, resampled

FIRST = np.array([0.0, 0.5, 2.0])
SECOND = np.array([1.0, 0.0, 0.25, 1.5, 0.0])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_what_is_known_of_the_difference() -> None:
    sample = groups_sample(FIRST, SECOND, cost_bound=2.0, group_share=0.25)
    assert sample.value == pytest.approx(2.5 / 3 - 2.75 / 5)
    assert (sample.bounds, sample.units) == ((-8.0, 8.0), 3)
    assert groups_sample(SECOND, FIRST, cost_bound=2.0, group_share=0.25).units == 3
    # Costs divided by the share of their group, whose mean is the value (Definition 2.3).
    expected = [cost / (3 / 8) for cost in FIRST] + [-cost / (5 / 8) for cost in SECOND]
    assert sample.observations == pytest.approx(expected)
    assert np.mean(expected) == pytest.approx(sample.value)
    assert sample.resampled is not None
    np.testing.assert_array_equal(
        sample.resampled(50, rng(3)), resampled(FIRST, SECOND, 50, rng(3))
    )


@pytest.mark.parametrize("sizes", [(0, 2), (2, 0), (0, 0)])
def test_a_group_without_rows_is_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="needs a row in each of them"):
        groups_sample(np.ones(sizes[0]), np.ones(sizes[1]), cost_bound=1, group_share=0.5)


def differences(first: Floats, second: Floats, drawn: np.ndarray) -> list[float]:
    """Return the difference for each row of how often the costs of both groups are drawn."""
    actual = []
    for times in drawn:
        sides = []
        for costs, part in ((first, times[: len(first)]), (second, times[len(first) :])):
            total = sum(cost * number for cost, number in zip(costs, part, strict=True))
            sides.append(total / part.sum() if part.sum() else math.nan)
        actual.append(sides[0] - sides[1])
    return actual


def test_rows_are_drawn_one_by_one() -> None:
    selected = rng().integers(8, size=(61, 8))
    drawn = np.array([np.bincount(row, minlength=8) for row in selected])
    result = resampled(FIRST, SECOND, 61, rng())
    np.testing.assert_allclose(result, differences(FIRST, SECOND, drawn), rtol=1e-12)
    # Of two rows both are drawn half of the time; otherwise a group is empty.
    single = resampled(np.array([1.0]), np.array([0.5]), 400, rng())
    assert np.isnan(single).mean() == pytest.approx(0.5, abs=0.1)
    assert set(single[~np.isnan(single)].tolist()) == {0.5}


def test_sixteen_rows_for_each_cell_are_drawn_cell_by_cell() -> None:
    """Five different costs: 80 rows are drawn as cells, 79 one by one."""
    for last in (9, 8):
        sizes = np.array([1, 40, 20, 10, last])
        first, second = np.repeat(FIRST, sizes[:3]), np.repeat([1, 1.5], sizes[3:])
        result = resampled(first, second, 61, rng())
        if last == 9:
            drawn = rng().multinomial(80, sizes / 80, size=61)
            expected = differences(FIRST, np.array([1, 1.5]), drawn)
        else:
            selected = rng().integers(79, size=(61, 79))
            drawn = np.array([np.bincount(row, minlength=79) for row in selected])
            expected = differences(first, second, drawn)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_a_long_table_of_few_cells_has_the_spread_of_its_rows() -> None:
    costs = np.tile([0.0, 1.0], 10**6)
    result = resampled(costs, costs[1:], 1000, rng())
    assert result.std() == pytest.approx(math.sqrt(0.25 / 1e6), rel=0.1)


@pytest.mark.parametrize("law", ["uniform", "beta", "shifted"])
def test_many_different_costs_are_merged_without_losing_their_spread(law: str) -> None:
    costs = {
        "uniform": lambda draw: draw.random(3000),
        "beta": lambda draw: np.round(draw.beta(0.4, 5, 6000), 4),
        "shifted": lambda draw: 3 + 2 * draw.beta(6, 2, 2000),
    }[law](rng())
    values, counts = cells_of(costs)
    assert len(values) <= 256
    assert counts.sum() == len(costs)
    mean = counts @ values / len(costs)
    assert mean == pytest.approx(costs.mean(), rel=1e-12)
    assert counts @ (values - mean) ** 2 / len(costs) == pytest.approx(costs.var(), rel=1e-4)


def test_few_costs_and_those_that_would_lose_their_spread_are_not_merged() -> None:
    values, counts = cells_of(np.array([0.5, 0.0, 0.5, 1.0]))
    assert (values.tolist(), counts.tolist()) == ([0.0, 0.5, 1.0], [1, 2, 1])
    even = np.linspace(0, 1, 256)
    np.testing.assert_array_equal(cells_of(even)[0], even)
    assert len(cells_of(np.linspace(0, 1, 257))[0]) < 257
    tail = rng().pareto(2, 5000)
    np.testing.assert_array_equal(cells_of(tail)[0], np.unique(tail))
