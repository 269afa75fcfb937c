"""Which blocks of differences the exact score test rejects, and how it comes to know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.tally import Floats
from lmprobe.intervals.exact_test import ScoreTest
from lmprobe.intervals.score_test import score_statistic

COUNTS = [(2, 9, 7, 15), (0, 20, 3, 8), (8, 8, 5, 12), (30, 60, 20, 61), (6, 10, 3, 10)]


def naive_block(test: ScoreTest, first: float, last: float) -> float:
    """Return the largest chance, along both ends of a block, of an outcome as far somewhere."""
    n_a, n_b = test.n_a, test.n_b
    x, y = np.meshgrid(np.arange(n_a + 1.0), np.arange(n_b + 1.0), indexing="ij")
    at_first, at_last = (
        score_statistic(np.array(d), x, float(n_a), y, float(n_b)) for d in (first, last)
    )
    seen = (at_first[test.x_a, test.x_b], at_last[test.x_a, test.x_b])
    reach = min(abs(seen[0]), abs(seen[1])) * (1 - 1e-9)
    extreme = (at_first >= reach) | (at_last <= -reach)
    (low_a, high_a), (low_b, high_b) = test.limits
    largest = 0.0
    for d in (first, last):
        low, high = max(low_b, low_a - d), min(high_b, high_a - d)
        if low > high:
            continue
        p_b = np.linspace(low, high, 201)
        chances = (
            stats.binom.pmf(np.arange(n_a + 1), n_a, np.clip(p_b + d, 0, 1)[:, None]),
            stats.binom.pmf(np.arange(n_b + 1), n_b, p_b[:, None]),
        )
        largest = max(largest, float((chances[0] @ extreme * chances[1]).sum(axis=1).max()))
    return largest


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("width", [0.0, 0.004])
def test_a_block_is_rejected_if_no_rates_make_it_likely(
    counts: tuple[int, int, int, int], width: float
) -> None:
    alpha = 0.2
    test = ScoreTest(*counts, alpha)
    d = test.difference
    starts = np.concatenate([np.linspace(-0.99, d - 0.01, 20), np.linspace(d + 0.01, 0.985, 20)])
    corners = [one - other for one in test.limits[0] for other in test.limits[1]]
    starts = starts[[not any(d <= c <= d + width for c in corners) for d in starts]]
    chances = np.array([naive_block(test, d, d + width) for d in starts])
    rejected = test.rejects(starts, starts + width)
    level = alpha * (1 - 1 / 500)
    assert not rejected[chances > level].any()
    # What is rejected by less than the bound between the points of the grid may be kept.
    assert rejected[chances < level * (0.99 if width == 0 else 0.97)].all()
    assert rejected.any()
    assert not rejected.all()


@pytest.mark.parametrize("alpha", [0.05, 0.999])
def test_a_block_with_the_estimate_is_never_rejected(alpha: float) -> None:
    test = ScoreTest(300, 600, 200, 600, alpha)
    d = test.difference
    first, last = np.array([d - 0.06, d, d]), np.array([d, d + 0.06, d])
    assert test.rejects(first, last).tolist() == [False, False, False]
    assert test.rejects(np.array([d - 0.08]), np.array([d - 0.075])).tolist() == [True]


class Watched:
    """Replaces the chances of a test and what bounds them, and counts the points of its grids."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cells: list[tuple[int, int]] = []
        rates = ScoreTest._rates

        def watched(test: ScoreTest, first: Floats, last: Floats, cells: int) -> Floats:
            self.cells.append((cells, len(first)))
            return rates(test, first, last, cells)

        monkeypatch.setattr(ScoreTest, "_rates", watched)
        self.patch = monkeypatch

    def chance(self, *, corners: float, bound: list[float]) -> None:
        bounds = iter(bound)

        def extreme(_: Any, rates: Floats, *accepted: Any) -> Floats:
            return np.full(rates.shape[1:], corners)

        def largest(_: Any, corners: Floats, rates: Floats) -> Floats:
            return np.full(corners.shape, next(bounds))

        self.patch.setattr(ScoreTest, "_extreme", extreme)
        self.patch.setattr(ScoreTest, "_largest", largest)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


TEST = ScoreTest(6, 12, 3, 10, 0.05)
BLOCK = np.array([-0.3]), np.array([-0.29])
# The level less what is spent on the limits, and less a margin for rounding.
LEVEL = 0.05 * (1 - 0.002) - 1e-10


def test_most_blocks_are_decided_on_a_coarse_grid(watched: Watched) -> None:
    d = TEST.difference
    assert TEST.rejects(np.array([-0.69]), np.array([-0.68])).tolist() == [True]
    assert TEST.rejects(np.array([d - 0.02]), np.array([d - 0.01])).tolist() == [False]
    assert watched.cells == [(24, 1), (24, 1)]


@pytest.mark.parametrize(
    ("bound", "rejected", "cells"),
    [
        ([LEVEL], True, [24]),
        ([math.nextafter(LEVEL, 1), LEVEL], True, [24, 128]),
        ([0.06, 0.05 * 0.998], False, [24, 128]),
        ([0.06, 0.06], False, [24, 128]),
    ],
)
def test_a_fine_grid_decides_about_the_rest(
    watched: Watched, bound: list[float], rejected: bool, cells: list[int]
) -> None:
    watched.chance(corners=LEVEL, bound=bound)
    assert TEST.rejects(*BLOCK).tolist() == [rejected]
    assert watched.cells == [(one, 1) for one in cells]


def test_a_chance_above_the_level_on_the_grid_needs_no_finer_one(watched: Watched) -> None:
    watched.chance(corners=math.nextafter(LEVEL, 1), bound=[0.06])
    assert TEST.rejects(*BLOCK).tolist() == [False]
    assert watched.cells == [(24, 1)]


def test_differences_that_no_rates_within_the_limits_have_are_rejected_unseen(
    watched: Watched,
) -> None:
    watched.chance(corners=1.0, bound=[1.0])
    (low_a, high_a), (low_b, high_b) = TEST.limits
    least, most = low_a - high_b, high_a - low_b
    assert TEST.rejects(np.array([-1.0]), np.array([math.nextafter(least, -1)])).tolist() == [True]
    assert TEST.rejects(np.array([math.nextafter(most, 1)]), np.array([1.0])).tolist() == [True]
    assert watched.cells == []
    # The corner of the rectangle itself is a pair of rates.
    first, last = np.array([least - 0.01, most]), np.array([least, most + 0.01])
    assert TEST.rejects(first, last).tolist() == [False, False]
    assert watched.cells == [(24, 2)]


def test_the_chance_counts_at_both_ends_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    for end in (0, 1):
        ends = iter([(0.01, 0.9)[end == 0], (0.01, 0.9)[end == 1]])

        def extreme(_: Any, rates: Floats, *accepted: Any, ends: Any = ends) -> Floats:
            return np.full(rates.shape[1:], next(ends))

        monkeypatch.setattr(ScoreTest, "_extreme", extreme)
        assert TEST.rejects(*BLOCK).tolist() == [False]
