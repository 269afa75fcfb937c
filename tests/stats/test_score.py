"""The score statistic against the likelihood's own root; its interval against a published table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from lmprobe.errors import InputError
from lmprobe.stats.method import groups_sample, interval
from lmprobe.stats.methods.proportions import exact_interval, score_interval, score_statistic

Counts = tuple[int, int, int, int]
COUNTS = [(2, 9, 7, 15), (5, 6, 1, 20), (40, 90, 3, 8), (1, 3, 1, 3)]
# Newcombe 1998 (Statistics in Medicine 17, 873-890), Table II, method 6: the interval of
# Miettinen & Nurminen for x_a/n_a - x_b/n_b.
NEWCOMBE = [
    ((56, 70, 48, 80), (0.0528, 0.3382)),
    ((9, 10, 3, 10), (0.1700, 0.8406)),
    ((6, 7, 2, 7), (0.0342, 0.8534)),
    ((5, 56, 0, 29), (-0.0326, 0.1933)),
    ((0, 10, 0, 20), (-0.1658, 0.2844)),
    ((0, 10, 0, 10), (-0.2879, 0.2879)),
    ((10, 10, 0, 20), (0.7156, 1.0)),
    ((10, 10, 0, 10), (0.6636, 1.0)),
]


@pytest.mark.parametrize(("counts", "expected"), NEWCOMBE)
def test_newcombes_table(counts: Counts, expected: tuple[float, float]) -> None:
    low, high = score_interval(*counts, confidence=0.95)
    assert (float(low), float(high)) == pytest.approx(expected, abs=5.1e-5)
    mirrored = score_interval(*counts[2:], *counts[:2], confidence=0.95)
    assert (low, high) == pytest.approx((-mirrored[1], -mirrored[0]), abs=1e-9)


def most_likely(d: float, x_a: int, a: int, x_b: int, b: int) -> float:
    """Return p_b where the likelihood of p_a = p_b + d no longer rises."""

    def slope(p: float) -> float:
        return x_a / (p + d) - (a - x_a) / (1 - p - d) + x_b / p - (b - x_b) / (1 - p)

    low, high = max(0.0, -d) + 1e-13, min(1.0, 1 - d) - 1e-13
    # Nothing but zeros or ones: the likelihood rises towards an end.
    if slope(low) <= 0 or slope(high) >= 0:
        return max(0.0, -d) if slope(low) <= 0 else min(1.0, 1 - d)
    return float(optimize.brentq(slope, low, high, xtol=1e-15))


@pytest.mark.parametrize("counts", [*COUNTS, (0, 4, 0, 7), (4, 4, 7, 7)])
@pytest.mark.parametrize("d", [-0.9, -0.35, -0.01, 0.2, 0.71])
def test_the_statistic_is_the_distance_in_deviations_at_the_most_likely_rates(
    counts: Counts, d: float
) -> None:
    x_a, a, x_b, b = counts
    p_b = most_likely(d, *counts)
    p_a = p_b + d
    # The factor n / (n - 1) is Miettinen & Nurminen's.
    variance = (p_a * (1 - p_a) / a + p_b * (1 - p_b) / b) * (a + b) / (a + b - 1)
    expected = (x_a / a - x_b / b - d) / math.sqrt(variance)
    assert float(score_statistic(np.array(d), *counts)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("counts", [*COUNTS, (0, 5, 0, 9), (5, 5, 9, 9), (5, 5, 0, 9)])
def test_the_score_of_the_observed_difference_is_zero(counts: Counts) -> None:
    x_a, a, x_b, b = counts
    assert float(score_statistic(np.array(x_a / a - x_b / b), *counts)) == 0.0


def test_an_impossible_difference_is_infinitely_far() -> None:
    assert float(score_statistic(np.array(1.0), 3, 5, 1, 5)) == -math.inf
    assert float(score_statistic(np.array(-1.0), 3, 5, 1, 5)) == math.inf


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 7), (8, 8), (5, 12)])
def test_the_score_is_monotone_in_everything_and_defined_everywhere(a: int, b: int) -> None:
    d = np.linspace(-1, 1, 81)[:, None, None]
    x, y = np.meshgrid(np.arange(a + 1.0), np.arange(b + 1.0), indexing="ij")
    scores = score_statistic(d, x, float(a), y, float(b))
    assert not np.isnan(scores).any()
    inside = scores[1:-1]
    for axis, sign in ((0, -1), (1, 1), (2, -1)):
        assert (sign * np.diff(inside, axis=axis) >= -1e-9).all()


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_an_end_is_where_the_score_is_just_significant(counts: Counts, confidence: float) -> None:
    reach = stats.norm.isf((1 - confidence) / 2)
    estimate = counts[0] / counts[1] - counts[2] / counts[3]

    def excess(d: float) -> float:
        return abs(float(score_statistic(np.array(d), *counts))) - reach

    ends = [optimize.brentq(excess, estimate, end, xtol=1e-14) for end in (-1 + 1e-12, 1 - 1e-12)]
    low, high = score_interval(*counts, confidence=confidence)
    assert (float(low), float(high)) == pytest.approx(tuple(ends), abs=1e-12)
    # One rounding too wide rather than too narrow.
    assert min(excess(float(low)), excess(float(high))) > 0


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    low, high = score_interval(*np.array([counts for counts, _ in NEWCOMBE]).T, confidence=0.95)
    for number, (counts, _) in enumerate(NEWCOMBE):
        assert (low[number], high[number]) == tuple(score_interval(*counts, confidence=0.95))


@pytest.mark.parametrize("method", ["exact", "score"])
def test_the_interval_of_a_sample_is_that_of_its_counts_times_the_bound(method: str) -> None:
    costs = 2.5 * np.repeat([0, 1.0], [4, 3]), 2.5 * np.repeat([0, 1.0], [2, 6])
    sample = groups_sample(*costs, cost_bound=2.5, group_share=0.4)
    result = interval(sample, method=method, confidence=0.9, rng=np.random.default_rng(0))
    ends = (exact_interval if method == "exact" else score_interval)(3, 7, 6, 8, confidence=0.9)
    assert (result.low / 2.5, result.high / 2.5) == pytest.approx(tuple(map(float, ends)))


@pytest.mark.parametrize("method", ["exact", "score"])
@pytest.mark.parametrize("place", [0, 1])
def test_a_cost_between_none_and_all_is_refused_in_either_group(method: str, place: int) -> None:
    groups = [np.array([0.0, 2.0]), np.array([0.0, 2.0])]
    groups[place] = np.array([0.0, 0.5, 2.0])
    sample = groups_sample(groups[0], groups[1], cost_bound=2.0, group_share=0.4)
    with pytest.raises(InputError, match=rf'"{method}" is for costs .* found 0\.25'):
        interval(sample, method=method, rng=np.random.default_rng(0))
