"""`exact` against enumeration of every outcome, scipy's Barnard test and a naive p-value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lmprobe.stats.methods.proportions import (
    FAILURE,
    ScoreTest,
    exact_interval,
    score_interval,
    score_statistic,
)

Counts = tuple[int, int, int, int]
GRID = np.unique([*np.linspace(0, 1, 101), 0.001, 0.003, 0.997, 0.999])


def least_coverage(n_a: int, n_b: int, confidence: float = 0.95) -> float:
    """Return the smallest chance over the grid of rates that the interval covers."""
    ends = np.array(
        [
            [exact_interval(x, n_a, y, n_b, confidence=confidence) for y in range(n_b + 1)]
            for x in range(n_a + 1)
        ]
    )
    first, second = (stats.binom.pmf(np.arange(n + 1), n, GRID[:, None]) for n in (n_a, n_b))
    least = 1.0
    for p_a, chances in zip(GRID, first, strict=True):
        d = p_a - GRID
        covers = (ends[..., :1] <= d + 1e-12) & (d - 1e-12 <= ends[..., 1:])
        least = min(least, float(np.einsum("x,xyp,py->p", chances, covers, second).min()))
    return least


# The pairs up to (60, 60) take minutes: benchmarks/coverage/exact.py has them.
@pytest.mark.parametrize(
    ("n_a", "n_b", "confidence", "slack"),
    [
        (5, 5, 0.95, 0.01),
        (5, 10, 0.95, 0.01),
        (5, 8, 0.8, 0.04),
        (4, 6, 0.99, 0.003),
        pytest.param(10, 10, 0.95, 0.01, marks=pytest.mark.slow),
        pytest.param(5, 20, 0.95, 0.01, marks=pytest.mark.slow),
    ],
)
def test_never_below_its_confidence(n_a: int, n_b: int, confidence: float, slack: float) -> None:
    assert confidence <= least_coverage(n_a, n_b, confidence) < confidence + slack


def naive_p_value(test: ScoreTest, first: float, last: float) -> float:
    """Return the largest chance that a score is as far as the observed one, within the limits.

    Of a block of differences: as far at some difference in it, at rates along both of its ends.
    """
    n_a, n_b = test.n_a, test.n_b
    x, y = np.meshgrid(np.arange(n_a + 1.0), np.arange(n_b + 1.0), indexing="ij")
    at_first, at_last = (
        score_statistic(np.array(d), x, float(n_a), y, float(n_b)) for d in (first, last)
    )
    observed = (at_first[test.x_a, test.x_b], at_last[test.x_a, test.x_b])
    reach = min(abs(observed[0]), abs(observed[1])) * (1 - 1e-9)
    extreme = (at_first >= reach) | (at_last <= -reach)
    (low_a, high_a), (low_b, high_b) = limits_of(test)
    largest = 0.0
    for d in (first, last):
        low, high = max(low_b, low_a - d), min(high_b, high_a - d)
        if low <= high:
            p_b = np.linspace(low, high, 201)
            p_a = np.clip(p_b + d, 0, 1)
            of_a = stats.binom.pmf(np.arange(n_a + 1), n_a, p_a[:, None])
            of_b = stats.binom.pmf(np.arange(n_b + 1), n_b, p_b[:, None])
            largest = max(largest, float((of_a @ extreme * of_b).sum(axis=1).max()))
    return largest + test.alpha / 500


def limits_of(test: ScoreTest) -> list[tuple[float, float]]:
    """Return the limits of Clopper and Pearson that a five hundredth of the level is spent on."""
    tail = test.alpha / 2000
    return [
        (
            float(stats.beta.ppf(tail, k, n - k + 1)) if k else 0.0,
            float(stats.beta.isf(tail, k + 1, n - k)) if k < n else 1.0,
        )
        for k, n in ((test.x_a, test.n_a), (test.x_b, test.n_b))
    ]


@pytest.mark.parametrize("counts", [(2, 9, 7, 15), (0, 20, 3, 8), (8, 8, 5, 12), (90, 400, 9, 9)])
def test_limits_and_the_outcomes_that_are_likely_within_them(counts: Counts) -> None:
    test = ScoreTest(*counts, 0.05)
    assert FAILURE == 0.002
    np.testing.assert_allclose(test.limits, limits_of(test), rtol=1e-9)
    for likely, n, (low, high) in zip(test.outcomes, counts[1::2], test.limits, strict=True):
        below, above = (stats.binom.cdf(np.arange(n + 1), n, rate) for rate in (low, high))
        # Left out are counts whose tail is below a billionth at every rate.
        expected = (below >= 1e-9) & (1 - np.append(0, above[:-1]) > 1e-9)
        np.testing.assert_array_equal(likely, np.flatnonzero(expected))


@pytest.mark.parametrize("counts", [(0, 5, 0, 9), (2, 6, 7, 9), (9, 10, 3, 11)])
def test_the_hull_of_the_differences_that_a_naive_test_accepts(counts: Counts) -> None:
    low, high = exact_interval(*counts, confidence=0.95)
    test = ScoreTest(*counts, 0.05)
    tried = np.linspace(-1, 1, 401)
    accepted = tried[[naive_p_value(test, d, d) > 0.05 for d in tried]]
    # Not wider than the grid of this test and the precision of the search explain.
    assert accepted[0] - 0.01 < low <= accepted[0]
    assert accepted[-1] <= high < accepted[-1] + 0.01


@pytest.mark.parametrize("counts", [(1, 6, 4, 9), (0, 5, 2, 7), (5, 11, 3, 14)])
def test_an_end_is_the_first_difference_that_is_not_rejected(counts: Counts) -> None:
    """To 0.0005 standard errors, looking from outside in."""
    test = ScoreTest(*counts, 0.1)
    for end, sign in zip(exact_interval(*counts, confidence=0.9), (-1, 1), strict=True):
        inside, *outside = end + sign * np.linspace(-0.0003, 0.05, 12)
        assert naive_p_value(test, inside, inside) > 0.099
        assert all(naive_p_value(test, d, d) <= 0.1 for d in outside if abs(d) < 1)


def test_reaches_over_a_gap_that_a_bisection_would_stop_at() -> None:
    low, high = exact_interval(2, 2, 5, 30, confidence=0.95)
    test = ScoreTest(2, 2, 5, 30, 0.05)
    assert naive_p_value(test, 0.0548, 0.0548) > 0.05
    assert naive_p_value(test, 0.0738, 0.0738) < 0.05
    assert low < 0.0548 < 0.0738 < test.difference < high


@pytest.mark.parametrize(
    "counts", [(2, 9, 7, 15), (0, 20, 3, 8), (8, 8, 5, 12), (30, 60, 20, 61), (6, 10, 3, 10)]
)
@pytest.mark.parametrize("width", [0.0, 0.004])
def test_a_block_is_rejected_if_no_rates_make_it_likely(counts: Counts, width: float) -> None:
    test = ScoreTest(*counts, 0.2)
    d = test.difference
    starts = np.concatenate([np.linspace(-0.99, d - 0.01, 20), np.linspace(d + 0.01, 0.985, 20)])
    corners = [p_a - p_b for p_a in test.limits[0] for p_b in test.limits[1]]
    starts = starts[[not any(d <= corner <= d + width for corner in corners) for d in starts]]
    chances = np.array([naive_p_value(test, d, d + width) for d in starts])
    rejected = test.rejects(starts, starts + width)
    assert not rejected[chances > 0.2].any()
    # What is rejected by less than the bound between the points of the grid may be kept.
    assert rejected[chances < 0.2 * (0.99 if width == 0 else 0.97)].all()
    assert 0 < rejected.sum() < len(rejected)


@pytest.mark.parametrize("alpha", [0.05, 0.999])
def test_a_block_with_the_estimate_is_never_rejected(alpha: float) -> None:
    test = ScoreTest(300, 600, 200, 600, alpha)
    d = test.difference
    first, last = np.array([d - 0.06, d, d]), np.array([d, d + 0.06, d])
    assert test.rejects(first, last).tolist() == [False, False, False]
    assert test.rejects(np.array([d - 0.08]), np.array([d - 0.075])).tolist() == [True]


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_barnards_test_about_no_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_a, n_b = rng.integers(4, 30, 2)
    x_a, x_b = rng.binomial(n_a, rng.random()), rng.binomial(n_b, rng.random())
    # Without limits on the rates its p-value is at least as large.
    table = [[x_a, x_b], [n_a - x_a, n_b - x_b]]
    p_value = stats.barnard_exact(table, pooled=True).pvalue if 0 < x_a + x_b < n_a + n_b else 1.0
    for alpha in (0.05, 0.2, 0.5):
        test = ScoreTest(int(x_a), int(n_a), int(x_b), int(n_b), alpha)
        if p_value < alpha * (1 - FAILURE) * 0.995:
            assert test.rejects(np.zeros(1), np.zeros(1)).all()


@pytest.mark.parametrize("counts", [(3, 12, 9, 17), (2, 8, 2, 8), (4, 8, 5, 8), (6, 9, 2, 9)])
def test_turned_over_with_the_groups_and_with_the_costs(counts: Counts) -> None:
    x_a, n_a, x_b, n_b = counts
    low, high = exact_interval(*counts, confidence=0.9)
    assert low < x_a / n_a - x_b / n_b < high
    turned = pytest.approx((-high, -low))
    assert exact_interval(x_b, n_b, x_a, n_a, confidence=0.9) == turned
    assert exact_interval(n_a - x_a, n_a, n_b - x_b, n_b, confidence=0.9) == turned


@pytest.mark.parametrize("counts", [(45, 160, 38, 240), (10, 5000, 20, 5000), (500, 900, 100, 300)])
def test_as_narrow_as_the_approximate_interval(counts: Counts) -> None:
    low, high = exact_interval(*counts, confidence=0.95)
    near = score_interval(*counts, confidence=0.95)
    assert high - low < 1.02 * float(near[1] - near[0])
