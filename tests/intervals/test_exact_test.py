"""The parts of the exact score test, each against a slow form or scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.tally import Floats
from lmprobe.intervals import exact_test
from lmprobe.intervals.exact_test import FAILURE, ScoreTest
from lmprobe.intervals.score_test import score_statistic

COUNTS = [(2, 9, 7, 15), (0, 20, 3, 8), (8, 8, 5, 12), (30, 60, 20, 61)]


def scores_of(d: float, test: ScoreTest) -> Floats:
    """Return the scores of all outcomes within the limits, (x_a, x_b)."""
    x, y = (one.astype(float) for one in np.meshgrid(*test.outcomes, indexing="ij"))
    return score_statistic(np.array(d), x, float(test.n_a), y, float(test.n_b))


def test_a_five_hundredth_of_the_level_is_spent_on_the_limits() -> None:
    assert FAILURE == 0.002
    for alpha, (x, n) in itertools.product((0.05, 0.3), ((0, 7), (3, 7), (7, 7), (41, 160))):
        first, second = ScoreTest(x, n, 1, 9, alpha).limits
        for (low, high), (k, m) in ((first, (x, n)), (second, (1, 9))):
            # Clopper & Pearson: at a limit, counts this far are just so likely.
            assert stats.binom.sf(k - 1, m, low) == pytest.approx(alpha / 2000 if k else 1)
            assert stats.binom.cdf(k, m, high) == pytest.approx(alpha / 2000 if k < m else 1)
        assert (first[0] == 0) is (x == 0)
        assert (first[1] == 1) is (x == n)


def test_the_observed_difference() -> None:
    assert ScoreTest(3, 4, 1, 5, 0.05).difference == pytest.approx(0.55)


@pytest.mark.parametrize("counts", [*COUNTS, (90, 400, 399, 401)])
def test_outcomes_are_left_out_if_their_tail_is_below_a_billionth(
    counts: tuple[int, int, int, int],
) -> None:
    test = ScoreTest(*counts, 0.05)
    for found, n, (low, high) in zip(test.outcomes, counts[1::2], test.limits, strict=True):
        tails = (
            (stats.binom.cdf(np.arange(n + 1), n, low) >= 1e-9)
            & (stats.binom.sf(np.arange(n + 1) - 1, n, high) > 1e-9)
        )  # fmt: skip
        np.testing.assert_array_equal(found, np.flatnonzero(tails))
    if counts[1] == 400:
        assert test.outcomes[0][0] > 0
        assert test.outcomes[0][-1] < 400
        assert test.outcomes[1][-1] == 401


def test_the_chance_of_each_count() -> None:
    rates = np.array([[0.0, 1e-4, 0.03], [0.5, 0.999, 1.0]])
    x = np.arange(2, 8)
    found = exact_test._chances(x, 7, rates)
    np.testing.assert_allclose(
        found, stats.binom.pmf(x, 7, rates[..., None]), rtol=1e-11, atol=1e-290
    )
    all_of_them = exact_test._chances(np.arange(4), 3, np.array([0.0, 1.0]))
    np.testing.assert_allclose(all_of_them, [[1, 0, 0, 0], [0, 0, 0, 1]], atol=1e-290)


@pytest.mark.parametrize("length", range(1, 10))
def test_the_smallest_count_is_found_wherever_it_is(length: int) -> None:
    x = np.arange(5, 5 + length)
    starts = np.arange(5, 5 + length + 1)  # the last of them: no count at all
    tried: list[int] = []

    def found(chosen: np.ndarray) -> np.ndarray:
        tried.extend(chosen.tolist())
        return np.asarray(chosen >= starts)

    np.testing.assert_array_equal(exact_test._smallest(found, x, starts.shape), starts)
    assert set(tried) <= set(x.tolist())


@pytest.mark.parametrize("counts", COUNTS)
def test_accepted_are_the_outcomes_that_are_nowhere_as_far(
    counts: tuple[int, int, int, int],
) -> None:
    test = ScoreTest(*counts, 0.05)
    first, last = np.array([-0.31, 0.02, 0.4, 0.0]), np.array([-0.27, 0.09, 0.4, 0.0])
    reach = np.array([1.5, 0.3, 2.5, 0.0])
    start, stop = test._accepted(first, last, reach)
    for block in range(4):
        # The score falls in the difference: it is largest at the first, smallest at the last.
        near = (scores_of(first[block], test) < reach[block]) & (
            scores_of(last[block], test) > -reach[block]
        )
        x_b = test.outcomes[1]
        ranges = (x_b >= start[block][:, None]) & (x_b < stop[block][:, None])
        np.testing.assert_array_equal(ranges, near)
    assert (start <= stop).all()


def test_a_score_just_as_far_is_not_accepted() -> None:
    test = ScoreTest(3, 10, 6, 10, 0.05)
    zero = np.zeros(1)
    scores = scores_of(0.0, test)
    # At no difference and equal sizes, 6 of 10 against 3 of 10 scores as far the other way.
    assert scores[3, 6] == pytest.approx(-scores[6, 3])
    for reach, inside in ((abs(scores[3, 6]), False), (abs(scores[3, 6]) * (1 + 1e-9), True)):
        start, stop = test._accepted(zero, zero, np.array([reach]))
        assert bool(start[0, 3] <= 6 < stop[0, 3]) is inside
    for reach, inside in ((scores[6, 3], False), (scores[6, 3] * (1 + 1e-9), True)):
        start, stop = test._accepted(zero, zero, np.array([reach]))
        assert bool(start[0, 6] <= 3 < stop[0, 6]) is inside


@pytest.mark.parametrize("counts", COUNTS)
def test_rates_run_from_edge_to_edge_of_the_limits(counts: tuple[int, int, int, int]) -> None:
    test = ScoreTest(*counts, 0.05)
    (low_a, high_a), (low_b, high_b) = test.limits
    first = np.array([test.difference - 0.05, test.difference])
    last = first + 0.03
    rates = test._rates(first, last, 6)
    assert rates.shape == (2, 2, 2, 7)
    for end, block in itertools.product((0, 1), (0, 1)):
        d = (first, last)[end][block]
        p_a, p_b = rates[end, :, block]
        assert p_a - p_b == pytest.approx(np.full(7, d))
        assert np.diff(p_b) == pytest.approx(np.full(6, (p_b[-1] - p_b[0]) / 6))
        # As far as either limit lets the pair go.
        assert min(p_a[0] - low_a, p_b[0] - low_b) == pytest.approx(0, abs=1e-12)
        assert max(p_a[-1] - high_a, p_b[-1] - high_b) == pytest.approx(0, abs=1e-12)
        assert p_a[0] >= low_a and p_a[-1] <= high_a  # noqa: PT018
        assert p_b[0] >= low_b - 1e-15 and p_b[-1] <= high_b + 1e-15  # noqa: PT018


def test_rates_of_a_difference_outside_the_limits_stay_inside_them() -> None:
    test = ScoreTest(1, 30, 25, 30, 0.05)
    (low_a, high_a), (low_b, _) = test.limits
    beyond = np.array([high_a - low_b + 0.1])
    rates = test._rates(beyond, beyond, 3)
    np.testing.assert_array_equal(rates[:, 0], np.full((2, 1, 4), high_a))
    np.testing.assert_array_equal(rates[:, 1], np.full((2, 1, 4), low_b))
    assert low_a < high_a


@pytest.mark.parametrize("counts", [*COUNTS, (200, 400, 150, 300)])
def test_the_chance_of_an_outcome_that_is_not_accepted(counts: tuple[int, int, int, int]) -> None:
    test = ScoreTest(*counts, 0.05)
    first, last = np.array([-0.2, 0.02]), np.array([-0.15, 0.02])
    accepted = test._accepted(first, last, np.array([1.2, 0.5]))
    rates = test._rates(first, last, 3)
    x_a, x_b = test.outcomes
    chances = [
        stats.binom.pmf(x, n, rates[:, group, ..., None])
        for group, (x, n) in enumerate(((x_a, test.n_a), (x_b, test.n_b)))
    ]
    for end, block in itertools.product((0, 1), (0, 1)):
        inside = (x_b >= accepted[0][block][:, None]) & (x_b < accepted[1][block][:, None])
        assert inside.any()
        expected = 1 - np.einsum(
            "px,xy,py->p", chances[0][end, block], inside, chances[1][end, block]
        )
        found = test._extreme(rates[end], *accepted)[block]
        np.testing.assert_allclose(found, expected, atol=1e-11)


def curvature(move: tuple[float, float], counts: ScoreTest, pq: Floats) -> tuple[float, float]:
    """Return the two bounds of docs/statistics.md on the second derivative along a move."""
    n = (counts.n_a, counts.n_b)
    smooth = [0.0 if u == 0 else (m * u**2 / v if v else math.inf)
              for u, m, v in zip(move, n, pq, strict=True)]  # fmt: skip
    capped = [min(m / v if v else math.inf, 4 * m**2) * u**2
              for u, m, v in zip(move, n, pq, strict=True)]  # fmt: skip
    rough = sum(capped) / math.sqrt(2) + math.sqrt(capped[0] * capped[1])
    return math.sqrt(2) * sum(smooth), rough


@pytest.mark.parametrize("counts", COUNTS)
def test_the_bound_of_a_cell_is_the_one_of_the_documentation(
    counts: tuple[int, int, int, int],
) -> None:
    test = ScoreTest(*counts, 0.05)
    first, last = np.array([-0.31, 0.02, 0.1]), np.array([-0.27, 0.09, 0.1])
    rates = test._rates(first, last, 5)
    corners = np.random.default_rng(0).random((3, 5)) * np.array([[1e-6], [0.05], [0.5]])
    found = test._largest(corners, rates)
    for block, cell in itertools.product(range(3), range(5)):
        four = rates[:, :, block, cell : cell + 2]  # (ends, groups, points)
        pq = (four * (1 - four)).min(axis=(0, 2))
        along = np.abs(four[..., 1] - four[..., 0]).max(axis=0)
        across = np.abs(four[1] - four[0]).max(axis=1)
        bounds = [curvature(tuple(move), test, pq) for move in (along, across)]
        smooth, rough = ((bounds[0][kind] + bounds[1][kind]) / 8 for kind in (0, 1))
        corner = corners[block, cell]
        if math.isfinite(smooth):
            # The larger root of f = corner + smooth sqrt(f).
            root = max(np.roots([1, -smooth, -corner]).real)
            assert root**2 == pytest.approx(corner + smooth * root)
        else:
            root = math.inf
        assert found[block, cell] == pytest.approx(min(root**2, corner + rough), rel=1e-9)


def test_a_rate_that_does_not_move_adds_nothing_even_at_an_end() -> None:
    sizes = np.array([4.0, 6.0])
    smooth, rough = exact_test._curvature(
        np.array([np.inf, 30.0]), sizes, np.array([0.0, 0.1])
    )  # fmt: skip
    assert smooth == pytest.approx(math.sqrt(2) * 0.3)
    assert rough == pytest.approx(0.3 / math.sqrt(2))
    smooth, rough = exact_test._curvature(np.array([np.inf, 30.0]), sizes, np.array([0.2, 0.1]))
    assert smooth == math.inf
    assert rough == pytest.approx((64 * 0.04 + 0.3) / math.sqrt(2) + math.sqrt(64 * 0.04 * 0.3))
