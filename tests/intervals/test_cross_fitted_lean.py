"""The cross-fitted lean with the same random numbers in a plain loop: a fifth is held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.intervals import cross_fit as module
from lmprobe.intervals.cross_fit import CrossFittedLean, blurred_lean, cross_fitted_lean
from lmprobe.metrics.lean import lean_of_counts

COUNTS = np.array([[3, 1, 0, 4], [1, 2, 5, 0], [0, 1, 1, 2]])
# Shares, one of which the noise often makes negative: it then counts as none.
TABLE = np.array([[0.030, 0.010, 0.0], [0.012, 0.025, 0.020]])
ERRORS = np.array([[0.004, 0.003, 0.005], [0.002, 0.006, 0.001]])


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def signs(table: np.ndarray) -> np.ndarray:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    excess = table * table.sum() - expected
    return np.where(np.abs(excess) < 1e-9 * expected, 0.0, np.sign(excess))


def held_out(draws: int, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight and offset: means over the ways to hold out, scaled up from a fifth."""
    weight, offset = np.zeros(COUNTS.shape), np.zeros(COUNTS.shape)
    for held in rng().binomial(COUNTS, 0.2, size=(draws, *COUNTS.shape)):
        lean = signs(COUNTS - held)
        weight += lean * held.sum(axis=axis, keepdims=True) / draws
        offset += lean * held / draws
    whole = COUNTS.sum(axis=axis, keepdims=True)
    return weight / (0.2 * whole), offset / (0.2 * whole)


def blurred(draws: int, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The lean of the table with half the noise more, the rate with twice the noise less.

    Noise is added to the rate by its derivative: of x / s it is (dx - x / s * ds) / s.
    """
    weight, offset = np.zeros(TABLE.shape), np.zeros(TABLE.shape)
    whole = TABLE.sum(axis=axis, keepdims=True)
    rate = TABLE / whole
    for normal in rng().standard_normal((draws, *TABLE.shape)):
        lean = signs(np.clip(TABLE + 0.5 * ERRORS * normal, 0, None))
        away = -2 * ERRORS * normal
        changed = rate + (away - rate * away.sum(axis=axis, keepdims=True)) / whole
        weight += lean / draws
        offset += lean * changed / draws
    return weight, offset


@pytest.mark.parametrize("given", [None, *DIRECTIONS])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_counts_against_a_loop(
    direction: Direction, given: Direction | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The joint lean has no direction; the sentences are those of the condition that is given."""
    axis = 0 if (given or direction) == Direction.TASK_TO_ATTRIBUTE else 1
    expected = held_out(50, axis)
    # In blocks of one, of seven and of all.
    for block in (1, 7 * COUNTS.size, 4_000_000):
        monkeypatch.setattr(module, "_BLOCK", block)
        found = cross_fitted_lean(COUNTS, direction, given=given, rng=rng(), draws=50)
        np.testing.assert_allclose(found.weight, expected[0], atol=1e-12)
        np.testing.assert_allclose(found.offset, expected[1], atol=1e-12)


@pytest.mark.parametrize("given", [None, *DIRECTIONS])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_estimates_against_a_loop(
    direction: Direction, given: Direction | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = 0 if (given or direction) == Direction.TASK_TO_ATTRIBUTE else 1
    expected = blurred(50, axis)
    for block in (1, 7 * TABLE.size, 4_000_000):
        monkeypatch.setattr(module, "_BLOCK", block)
        found = blurred_lean(TABLE, ERRORS, direction, given=given, rng=rng(), draws=50)
        np.testing.assert_allclose(found.weight, expected[0], atol=1e-12)
        np.testing.assert_allclose(found.offset, expected[1], atol=1e-12)


def test_4000_ways_are_drawn_unless_told() -> None:
    direction = Direction.TASK_TO_ATTRIBUTE
    plain = cross_fitted_lean(COUNTS, direction, rng=rng())
    told = cross_fitted_lean(COUNTS, direction, rng=rng(), draws=4000)
    np.testing.assert_array_equal(plain.weight, told.weight)
    plain = blurred_lean(TABLE, ERRORS, direction, rng=rng())
    told = blurred_lean(TABLE, ERRORS, direction, rng=rng(), draws=4000)
    np.testing.assert_array_equal(plain.offset, told.offset)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_lean_of_the_paper_weighs_every_condition_the_same(direction: Direction) -> None:
    """One condition is far more common: it decides the joint lean and not the paper's."""
    counts = np.array([[700, 6, 1], [300, 4, 9]]) * 10_000
    if direction == Direction.ATTRIBUTE_TO_TASK:
        counts = counts.T
    by_weighting: dict[Any, CrossFittedLean] = {
        name: cross_fitted_lean(counts, direction, weighting=name, rng=rng(), draws=5)
        for name in ("joint", "paper")
    }
    for name, found in by_weighting.items():
        expected = lean_of_counts(counts.astype(float), direction, name)
        np.testing.assert_allclose(found.weight, expected, atol=0.02)
    surveyed = blurred_lean(
        counts.astype(float),
        np.ones(counts.shape),
        direction,
        weighting="paper",
        rng=rng(),
        draws=5,
    )
    np.testing.assert_allclose(surveyed.weight, lean_of_counts(counts, direction, "paper"))
    # Shares of 0.7, 0.6 and 0.1: the second is below the share of all, above the average.
    assert (by_weighting["joint"].weight.round() != surveyed.weight).sum() == 2


def test_several_tables_at_once_are_each_their_own() -> None:
    tables = np.stack([COUNTS * 1000, COUNTS[::-1] * 1000])
    found = cross_fitted_lean(tables, Direction.ATTRIBUTE_TO_TASK, rng=rng(), draws=20)
    for table, weight in zip(tables, found.weight, strict=True):
        alone = cross_fitted_lean(table, Direction.ATTRIBUTE_TO_TASK, rng=rng(1), draws=20)
        clear = np.abs(alone.weight) > 0.9
        assert clear.sum() > 6
        np.testing.assert_allclose(weight[clear], alone.weight[clear], atol=0.1)


def test_a_condition_that_was_never_counted_has_no_lean() -> None:
    counts = np.array([[3, 0], [2, 0]])
    found = cross_fitted_lean(counts, Direction.TASK_TO_ATTRIBUTE, rng=rng(), draws=5)
    assert np.isnan(found.weight).tolist() == [[False, True], [False, True]]
    assert np.isnan(found.offset).tolist() == [[False, True], [False, True]]


def test_cells_are_the_weighted_prediction_less_the_offset() -> None:
    found = CrossFittedLean(np.array([[0.5, -1.0]]), np.array([[0.2, -0.4]]))
    cells = found.cells(np.array([[[0.6, 0.3]], [[0.0, 1.0]]]))
    np.testing.assert_allclose(cells, [[[0.1, 0.1]], [[-0.2, -0.6]]])
