"""Flips: the shares against a loop from the definition, planted flips, intervals that cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize, stats

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.stats.flips import FLIP_MARGIN, FlipShare, flipped, flips_between
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings
from tests.stats.tables import moved_tables, random_tables, row_tables

FORWARD, BACKWARD = DIRECTIONS


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def of_log_odds(log_odds: np.ndarray, direction: Direction) -> RowTables:
    """Return a model of two groups with these log odds (K, T)."""
    model = np.stack([np.exp(log_odds), np.ones(log_odds.shape)], axis=1)
    return row_tables(model, np.ones(model.shape[1:]), direction)


def by_hand(first: RowTables, second: RowTables, margin: float) -> float:
    """Return the share of cells that flip with more than the margin, cell by cell."""
    flips = []
    for k in range(len(first.predicted)):
        for t in range(len(first.tasks)):
            groups = []
            for table in (first.predicted[k], second.predicted[k]):
                given_each = [float(p) for p in table[:, t]]
                shares = [p / sum(given_each) for p in given_each]
                best = max(range(len(shares)), key=shares.__getitem__)
                rest = max(share for group, share in enumerate(shares) if group != best)
                groups.append((best, (shares[best] - rest) / 2 > margin))
            (before, clear), (after, also) = groups
            flips.append(before != after and clear and also)
    return sum(flips) / len(flips)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("groups", [2, 3])
def test_the_shares_are_those_of_the_definition(direction: Direction, groups: int) -> None:
    first, second = (random_tables(direction, seed=seed, groups=groups) for seed in (1, 2))
    flips = flips_between(first, second, IntervalSettings())
    assert flips.value == pytest.approx(by_hand(first, second, 0.0), abs=1e-12)
    assert flips.clear.value == pytest.approx(by_hand(first, second, flips.margin), abs=1e-12)
    assert 0 < flips.clear.value < flips.value < 1
    turned = flips_between(second, first, IntervalSettings())
    assert (turned.value, turned.clear.value) == (flips.value, flips.clear.value)


def test_a_model_and_itself_never_flip() -> None:
    for direction in DIRECTIONS:
        tables = random_tables(direction, seed=3)
        flips = flips_between(tables, tables, IntervalSettings())
        assert (flips.value, flips.clear.value) == (0, 0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_noise_below_the_margin_flips_cells_near_even_and_none_clearly(
    direction: Direction,
) -> None:
    log_odds = rng(4).normal(0, 0.2, (20, 32))
    noisy = log_odds + rng(5).uniform(-0.15, 0.15, log_odds.shape)
    both = of_log_odds(log_odds, direction), of_log_odds(noisy, direction)
    # A logit moves a probability by at most a quarter of its own change.
    flips = flips_between(*both, IntervalSettings())
    assert flips.value > 0.05
    assert flips.clear.value == 0
    # A clear flip is a flip, so their share is surely no larger.
    assert flips.clear.interval.high <= flips.interval.high


@settings(deadline=None, max_examples=25)
@given(planted=st.sets(st.integers(0, 47)), near=st.sets(st.integers(0, 47)))
def test_planted_flips_are_counted_exactly(planted: set[int], near: set[int]) -> None:
    moves = rng(6).choice([-0.3, -0.1, 0.1, 0.3], 48)
    moves[list(near)] = FLIP_MARGIN / 2
    after = np.array([-move if cell in planted else move for cell, move in enumerate(moves)])
    first, second = (moved_tables(each.reshape(6, 8)) for each in (moves, after))
    flips = flips_between(first, second, IntervalSettings())
    assert flips.value == pytest.approx(len(planted) / 48, abs=1e-12)
    assert flips.clear.value == pytest.approx(len(planted - near) / 48, abs=1e-12)
    for part in (flips, flips.clear):
        assert 0 <= part.interval.low <= part.value + 1e-12
        assert part.value - 1e-12 <= part.interval.high <= 1


def test_a_tie_favours_no_group_and_an_undefined_cell_is_left_out() -> None:
    first, second = moved_tables([[0.0, 0.2], [0.2, 0.2]]), moved_tables([[-0.2, -0.2], [0.2, 0.2]])
    assert flips_between(first, second, IntervalSettings()).value == 1 / 4
    first.predicted[0, :, 0] = np.nan
    # The mean over templates: the first has one cell left, which flips.
    assert flips_between(first, second, IntervalSettings()).value == 1 / 2


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_tasks_that_were_not_drawn_are_no_candidates(direction: Direction) -> None:
    first, second = (random_tables(direction, seed=seed, tasks=7) for seed in (7, 8))
    weight = np.array([[1.0, 0, 1, 1, 0, 1, 1]])
    drawn = [first.tasks[place] for place in np.flatnonzero(weight[0])]
    own, other = (table.chosen(["0", "1"], ["0", "1"], drawn) for table in (first, second))
    assert flipped(first, second, weight) == pytest.approx(flipped(own, other, np.ones((1, 5))))


def flip_tables(cells: np.ndarray) -> tuple[RowTables, RowTables]:
    """Return two models that flip where a cell (K, T) is true, clearly."""
    return moved_tables(np.full(cells.shape, 0.2)), moved_tables(np.where(cells, -0.2, 0.2))


def test_the_interval_is_the_score_interval_with_the_resampled_standard_error() -> None:
    cells = rng(9).random((12, 10)) < 0.1
    flips = flips_between(*flip_tables(cells), IntervalSettings(resample="templates"))
    by_template = cells.mean(axis=1)
    share = float(by_template.mean())
    half = stats.t.ppf(0.975, 11) * stats.sem(by_template)

    def beyond(p: float) -> Any:
        return abs(p - share) - half * math.sqrt(p * (1 - p) / (share * (1 - share)))

    ends = optimize.brentq(beyond, 1e-9, share), optimize.brentq(beyond, share, 1 - 1e-9)
    interval = flips.interval
    assert (interval.low, interval.high) == pytest.approx(ends)


def test_the_interval_of_clear_flips_is_that_of_a_pair_with_no_others() -> None:
    clear = rng(12).random((10, 12)) < 0.2
    moves = np.where(clear, 0.2, 0.0)
    moves[:, :5] = np.where(clear[:, :5], 0.2, FLIP_MARGIN / 2)
    moves[moves == 0] = 0.3
    after = np.where(clear | (moves < FLIP_MARGIN), -moves, moves)
    mixed = flips_between(moved_tables(moves), moved_tables(after), IntervalSettings())
    alone = flips_between(*flip_tables(clear), IntervalSettings())
    assert mixed.value > mixed.clear.value == pytest.approx(alone.value)
    expected = pytest.approx((alone.interval.low, alone.interval.high))
    assert (mixed.clear.interval.low, mixed.clear.interval.high) == expected


def test_without_a_flip_the_upper_end_is_that_of_as_many_units() -> None:
    flips = flips_between(*flip_tables(np.zeros((12, 30), dtype=bool)), IntervalSettings())
    reach = stats.t.ppf(0.975, 11) ** 2
    assert flips.interval.low == 0
    assert flips.interval.high == pytest.approx(reach / (12 + reach))
    every = flips_between(*flip_tables(np.ones((12, 30), dtype=bool)), IntervalSettings())
    assert (every.interval.low, every.interval.high) == pytest.approx((12 / (12 + reach), 1))


@pytest.mark.parametrize("method", ["bootstrap", "t", "bernstein"])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.5, 0.98])
def test_no_interval_leaves_the_range_of_a_share(method: str, rate: float) -> None:
    cells = rng(10).random((8, 9)) < rate
    flips = flips_between(*flip_tables(cells), IntervalSettings(interval=method))
    for part in (flips, flips.clear):
        assert 0 <= part.interval.low <= part.value <= part.interval.high <= 1
    assert flips.clear.interval.high <= flips.interval.high


def test_one_template_has_no_interval() -> None:
    flips = flips_between(*flip_tables(np.array([[True, False]])), IntervalSettings())
    assert flips.value == 1 / 2
    assert not flips.interval.bounded


# What a family, a task and a cell add to how far the second model's log odds are moved.
SPREADS: list[Any] = [(0.0, 0.0, 0.4), (0.2, 0.3, 0.3), (0.0, 0.5, 0.1), (0.5, 0.1, 0.1)]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("moved", SPREADS)
def test_it_covers_the_share_among_all_templates_and_tasks(
    direction: Direction, moved: tuple[float, float, float]
) -> None:
    draw = rng(11)

    def models(k: int, t: int) -> tuple[RowTables, RowTables]:
        def log_odds(family: float, task: float, cell: float) -> np.ndarray:
            effects = (family, (k, 1)), (task, (1, t)), (cell, (k, t))
            return sum((draw.normal(0, sd, shape) for sd, shape in effects), np.zeros((k, t)))

        own = log_odds(0.3, 0.8, 0.3)
        return of_log_odds(own, direction), of_log_odds(own + log_odds(*moved), direction)

    many = models(700, 700)
    truth = flipped(*many, np.ones((1, 700))).mean(axis=(1, 2))
    pairs = [models(16, 24) for _ in range(120)]
    samples = [flips_between(*pair, IntervalSettings()) for pair in pairs]
    parts: list[list[FlipShare]] = [[*samples], [each.clear for each in samples]]
    # The study in docs/appendix/quantisation.md has more samples of each.
    for part, share in zip(parts, truth, strict=True):
        assert np.mean([share in sample.interval for sample in part]) >= 0.88
