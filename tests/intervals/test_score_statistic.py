"""The score statistic against the likelihood's own root, and the interval against brentq."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from lmprobe.intervals.methods.score import of_counts
from lmprobe.intervals.score_test import _likeliest, score_statistic

COUNTS = [(2, 9, 7, 15), (5, 6, 1, 20), (40, 90, 3, 8), (1, 3, 1, 3)]


def most_likely(d: float, x_a: int, a: int, x_b: int, b: int) -> float:
    """Return p_b where the likelihood of p_a = p_b + d no longer rises."""

    def slope(p: float) -> float:
        return x_a / (p + d) - (a - x_a) / (1 - p - d) + x_b / p - (b - x_b) / (1 - p)

    low, high = max(0.0, -d), min(1.0, 1 - d)
    return float(optimize.brentq(slope, low + 1e-13, high - 1e-13, xtol=1e-15))


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("d", [-0.9, -0.35, -0.01, 0.0, 0.2, 0.71])
def test_the_statistic_is_the_distance_in_deviations_at_the_most_likely_rates(
    counts: tuple[int, int, int, int], d: float
) -> None:
    x_a, a, x_b, b = counts
    p_b = most_likely(d, *counts)
    assert float(_likeliest(np.array(d), *counts)) == pytest.approx(p_b, rel=1e-9)
    p_a = p_b + d
    # The factor n / (n - 1) is Miettinen & Nurminen's.
    variance = (p_a * (1 - p_a) / a + p_b * (1 - p_b) / b) * (a + b) / (a + b - 1)
    expected = (x_a / a - x_b / b - d) / math.sqrt(variance)
    assert float(score_statistic(np.array(d), *counts)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("counts", "d", "expected"),
    [
        # Nothing but zeros: p_b = 0 is likeliest for d > 0, p_a = 0 for d < 0.
        ((0, 4, 0, 7), 0.25, 0.0),
        ((0, 4, 0, 7), -0.25, 0.25),
        ((4, 4, 7, 7), 0.25, 0.75),
        ((4, 4, 7, 7), -0.25, 1.0),
        # All against none: only d = 1 itself has both rates at their ends.
        ((4, 4, 0, 7), 1.0, 0.0),
        ((0, 4, 7, 7), -1.0, 1.0),
    ],
)
def test_the_most_likely_rate_may_be_an_end(
    counts: tuple[int, int, int, int], d: float, expected: float
) -> None:
    assert float(_likeliest(np.array(d), *counts)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 7), (8, 8), (5, 12)])
def test_rounding_takes_no_rate_beyond_its_ends(a: int, b: int) -> None:
    x, y = np.meshgrid(np.arange(a + 1.0), np.arange(b + 1.0), indexing="ij")
    d = np.linspace(-1, 1, 81)[:, None, None]
    p_b = _likeliest(d, x, float(a), y, float(b))
    for rate in (p_b, p_b + d):
        assert rate.min() == 0
        assert rate.max() == 1
    assert not np.isnan(score_statistic(d, x, float(a), y, float(b))).any()


@pytest.mark.parametrize(
    "counts", [*COUNTS, (0, 5, 0, 9), (5, 5, 9, 9), (5, 5, 0, 9), (0, 5, 9, 9), (3, 6, 4, 8)]
)
def test_the_score_of_the_observed_difference_is_zero(counts: tuple[int, int, int, int]) -> None:
    x_a, a, x_b, b = counts
    assert float(score_statistic(np.array(x_a / a - x_b / b), *counts)) == 0.0


def test_an_impossible_difference_is_infinitely_far() -> None:
    assert float(score_statistic(np.array(1.0), 3, 5, 1, 5)) == -math.inf
    assert float(score_statistic(np.array(-1.0), 3, 5, 1, 5)) == math.inf


def test_arrays_broadcast() -> None:
    d = np.array([-0.4, 0.1])
    ones = np.array([[0.0], [3.0], [5.0]])
    found = score_statistic(d, ones, 5.0, 2.0, 7.0)
    assert found.shape == (3, 2)
    for i, j in itertools.product(range(3), range(2)):
        alone = score_statistic(np.array(d[j]), float(ones[i, 0]), 5.0, 2.0, 7.0)
        assert found[i, j] == pytest.approx(float(alone), rel=1e-12)


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_an_end_is_where_the_score_is_just_significant(
    counts: tuple[int, int, int, int], confidence: float
) -> None:
    reach = stats.norm.isf((1 - confidence) / 2)
    found = counts[0] / counts[1] - counts[2] / counts[3]

    def excess(d: float) -> float:
        return abs(float(score_statistic(np.array(d), *counts))) - reach

    expected = [optimize.brentq(excess, found, end, xtol=1e-14) for end in (-1 + 1e-12, 1 - 1e-12)]
    low, high = of_counts(*counts, confidence=confidence)
    assert (float(low), float(high)) == pytest.approx(tuple(expected), abs=1e-12)
    # One rounding too wide rather than too narrow.
    assert excess(float(low)) > 0
    assert excess(float(high)) > 0


@pytest.mark.parametrize("n", [1, 6])
def test_all_against_none_ends_at_a_difference_of_one(n: int) -> None:
    low, high = of_counts(n, n, 0, 5, confidence=0.9)
    assert float(high) == 1.0
    assert float(low) < 1
    low, high = of_counts(0, 5, n, n, confidence=0.9)
    assert float(low) == -1.0
