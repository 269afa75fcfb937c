"""`exact` against enumeration of every outcome, scipy's Barnard test and a naive p-value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from lmprobe.intervals.exact_test import FAILURE, ScoreTest
from lmprobe.intervals.method import interval
from lmprobe.intervals.methods import exact, score
from lmprobe.intervals.score_test import score_statistic
from lmprobe.intervals.two_groups import groups_sample

GRID = np.unique([*np.linspace(0, 1, 101), 0.001, 0.003, 0.997, 0.999])


def every_interval(n_a: int, n_b: int, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    ends = np.array(
        [
            [exact.of_counts(x, n_a, y, n_b, confidence=confidence) for y in range(n_b + 1)]
            for x in range(n_a + 1)
        ]
    )
    return ends[..., 0], ends[..., 1]


def least_coverage(n_a: int, n_b: int, confidence: float = 0.95) -> float:
    """Return the smallest chance over the grid of rates that the interval covers."""
    low, high = every_interval(n_a, n_b, confidence)
    first, second = (stats.binom.pmf(np.arange(n + 1), n, GRID[:, None]) for n in (n_a, n_b))
    least = 1.0
    for p_a, chances in zip(GRID, first, strict=True):
        d = p_a - GRID
        covers = (low[..., None] <= d + 1e-12) & (d - 1e-12 <= high[..., None])
        least = min(least, float(np.einsum("x,xyp,py->p", chances, covers, second).min()))
    return least


# The pairs up to (60, 60) take minutes: benchmarks/coverage/exact.py has them.
SIZES = [(5, 5), (5, 10), (10, 10), (5, 20)]


@pytest.mark.parametrize(("n_a", "n_b"), SIZES)
def test_never_below_its_confidence(n_a: int, n_b: int) -> None:
    assert 0.95 <= least_coverage(n_a, n_b) < 0.96


def test_other_confidences() -> None:
    assert 0.8 <= least_coverage(5, 8, 0.8) < 0.84
    assert 0.99 <= least_coverage(5, 8, 0.99) < 0.993


def naive_p_value(d: float, test: ScoreTest) -> float:
    """Return the largest chance of as far a score, on a fine grid of rates within the limits."""
    n_a, n_b = test.n_a, test.n_b
    x, y = np.meshgrid(np.arange(n_a + 1.0), np.arange(n_b + 1.0), indexing="ij")
    scores = np.abs(score_statistic(np.array(d), x, float(n_a), y, float(n_b)))
    extreme = scores >= scores[test.x_a, test.x_b] * (1 - 1e-9)
    tail = test.alpha * FAILURE / 4
    limits = [
        (
            stats.beta.ppf(tail, k, n - k + 1) if k else 0.0,
            stats.beta.isf(tail, k + 1, n - k) if k < n else 1.0,
        )
        for k, n in ((test.x_a, n_a), (test.x_b, n_b))
    ]
    p_b = np.linspace(max(limits[1][0], limits[0][0] - d), min(limits[1][1], limits[0][1] - d), 200)
    if p_b[0] > p_b[-1]:
        return test.alpha * FAILURE
    first = stats.binom.pmf(np.arange(n_a + 1), n_a, np.clip(p_b + d, 0, 1)[:, None])
    second = stats.binom.pmf(np.arange(n_b + 1), n_b, p_b[:, None])
    found = np.einsum("px,xy,py->p", first, extreme, second).max()
    return float(found) + test.alpha * FAILURE


@pytest.mark.parametrize("counts", [(0, 5, 0, 9), (2, 6, 7, 9), (1, 12, 4, 7), (9, 10, 3, 11)])
def test_the_hull_of_the_differences_that_a_naive_test_accepts(
    counts: tuple[int, int, int, int],
) -> None:
    low, high = exact.of_counts(*counts, confidence=0.95)
    test = ScoreTest(*counts, 0.05)
    tried = np.linspace(-1, 1, 801)
    accepted = tried[[naive_p_value(d, test) > 0.05 for d in tried]]
    assert low <= accepted[0]
    assert accepted[-1] <= high
    # Not wider than the grid of this test and the precision of the search explain.
    assert low > accepted[0] - 0.01
    assert high < accepted[-1] + 0.01


def test_reaches_over_a_gap_that_a_bisection_would_stop_at() -> None:
    low, high = exact.of_counts(2, 2, 5, 30, confidence=0.95)
    test = ScoreTest(2, 2, 5, 30, 0.05)
    assert naive_p_value(0.0548, test) > 0.05
    assert naive_p_value(0.0738, test) < 0.05
    assert low < 0.0548 < 0.0738 < test.difference < high


@pytest.mark.parametrize("seed", range(15))
def test_agrees_with_barnards_test_about_no_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_a, n_b = rng.integers(4, 30, 2)
    x_a, x_b = rng.binomial(n_a, rng.random()), rng.binomial(n_b, rng.random())
    # Without limits on the rates its p-value is at least as large.
    table = [[x_a, x_b], [n_a - x_a, n_b - x_b]]
    p_value = stats.barnard_exact(table, pooled=True).pvalue if 0 < x_a + x_b < n_a + n_b else 1.0
    for alpha in (0.05, 0.2, 0.5):
        test = ScoreTest(int(x_a), int(n_a), int(x_b), int(n_b), alpha)
        rejected = bool(test.rejects(np.zeros(1), np.zeros(1))[0])
        naive = naive_p_value(0.0, test)
        if p_value < alpha * (1 - FAILURE) * 0.995:
            assert rejected
        if naive > alpha:
            assert not rejected


@pytest.mark.parametrize("counts", [(2, 9, 7, 15), (0, 20, 3, 8), (30, 60, 20, 60)])
def test_the_bound_between_grid_points_is_one(counts: tuple[int, int, int, int]) -> None:
    test = ScoreTest(*counts, 0.05)
    first, last = np.array([-0.31, 0.02]), np.array([-0.27, 0.09])
    reach = np.array([1.5, 1.8])
    accepted = test._accepted(first, last, reach)
    rates = test._rates(first, last, 7)
    chance = np.stack([test._extreme(rates[end], *accepted) for end in (0, 1)])
    corners = np.maximum(chance[..., 1:], chance[..., :-1]).max(axis=0)
    bound = test._largest(corners, rates)
    share = np.linspace(0, 1, 9)
    for cell, (across, along) in itertools.product(range(7), itertools.product(share, share)):
        ends = (1 - across) * rates[0] + across * rates[1]
        inner = (1 - along) * ends[..., cell] + along * ends[..., cell + 1]
        found = test._extreme(inner[..., None], *accepted)[:, 0]
        assert (found <= bound[:, cell] + 1e-12).all()
    # The corners alone would not do.
    assert (bound > corners).all()


def test_the_score_is_monotone_in_everything() -> None:
    d = np.linspace(-0.97, 0.97, 41)
    for n_a, n_b in ((3, 7), (8, 8), (5, 12)):
        x, y = np.meshgrid(np.arange(n_a + 1.0), np.arange(n_b + 1.0), indexing="ij")
        scores = score_statistic(d[:, None, None], x, float(n_a), y, float(n_b))
        assert (np.diff(scores, axis=0) <= 1e-9).all()
        assert (np.diff(scores, axis=1) >= -1e-9).all()
        assert (np.diff(scores, axis=2) <= 1e-9).all()


def test_as_narrow_as_the_approximate_interval() -> None:
    low, high = exact.of_counts(45, 160, 38, 240, confidence=0.95)
    assert high - low < 0.1685  # score: 0.1675, bernstein: 0.281, stratified: 0.277
    for counts in ((2500, 5000, 2400, 5000), (10, 5000, 20, 5000), (100, 1000, 1500, 9000)):
        ends = exact.of_counts(*counts, confidence=0.95)
        near = score.of_counts(*counts, confidence=0.95)
        assert ends[1] - ends[0] < 1.02 * float(near[1] - near[0])


def test_turned_over_with_the_groups_and_with_the_costs() -> None:
    low, high = exact.of_counts(3, 12, 9, 17, confidence=0.9)
    assert exact.of_counts(9, 17, 3, 12, confidence=0.9) == (-high, -low)
    assert exact.of_counts(9, 12, 8, 17, confidence=0.9) == (-high, -low)


def test_of_a_sample_whose_costs_are_not_one() -> None:
    costs = 3.0 * np.array([0, 0, 1, 0, 1, 1.0]), 3.0 * np.array([1, 1, 0, 1.0])
    sample = groups_sample(*costs, cost_bound=3.0, group_share=0.4)
    found = interval(sample, method="exact", rng=np.random.default_rng(0))
    ends = exact.of_counts(3, 6, 3, 4, confidence=0.95)
    assert (found.low / 3, found.high / 3) == pytest.approx(ends)
    assert sample.value in found
