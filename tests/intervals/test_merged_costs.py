"""Many different costs are resampled as fewer cells, and nothing of their spread is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.intervals.two_groups import cells_of, resampled


@pytest.mark.parametrize("law", ["uniform", "beta", "mixture", "narrow"])
def test_many_different_costs_are_merged_without_losing_their_spread(law: str) -> None:
    source = np.random.default_rng(3)
    drawn = {
        "uniform": lambda: source.random(50_000),
        "beta": lambda: source.beta(0.3, 4, 50_000),
        "mixture": lambda: np.where(source.random(50_000) < 0.7, 0, source.random(50_000)),
        "narrow": lambda: 0.5 + 1e-5 * source.random(50_000),
    }
    costs = drawn[law]()
    values, counts = cells_of(costs)
    assert len(values) <= 256
    assert counts.sum() == len(costs)
    mean = counts @ values / len(costs)
    assert mean == pytest.approx(costs.mean(), rel=1e-12)
    spread = counts @ (values - mean) ** 2 / len(costs)
    assert spread == pytest.approx(costs.var(), rel=1e-4)
    other = source.random(50_000)
    found = resampled(costs, other, 4000, np.random.default_rng(0))
    expected = math.sqrt(costs.var() / len(costs) + other.var() / len(other))
    assert found.std() == pytest.approx(expected, rel=0.05)


def test_costs_that_would_lose_their_spread_are_not_merged() -> None:
    costs = np.concatenate([1e-9 * np.random.default_rng(0).random(5000), [0.5, 1.0]])
    merged, _ = cells_of(costs)
    assert len(merged) <= 256, "all the spread lies in the two large costs"
    tail = np.random.default_rng(0).pareto(2, 5000)
    values, counts = cells_of(tail)
    np.testing.assert_array_equal(values, np.unique(tail))
    assert set(counts.tolist()) == {1}
