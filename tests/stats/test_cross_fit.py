"""The cross-fitted lean: against loops over ways to hold out, all of them, and known truths."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.stats.cross_fit import HOLDOUT, CrossFittedLean, blurred_lean, cross_fitted_lean

SMALL = np.array([[2, 1, 0], [1, 1, 2]])
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


def axis_of(direction: Direction) -> int:
    return 0 if direction == Direction.TASK_TO_ATTRIBUTE else 1


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_simulated_ways_to_hold_out_agree_with_all_of_them(direction: Direction) -> None:
    axis = axis_of(direction)
    weight, offset = np.zeros(SMALL.shape), np.zeros(SMALL.shape)
    for held in itertools.product(*(range(count + 1) for count in SMALL.ravel())):
        out = np.array(held).reshape(SMALL.shape)
        chance = math.prod(
            math.comb(int(n), int(k)) * HOLDOUT**k * (1 - HOLDOUT) ** (n - k)
            for n, k in zip(SMALL.ravel(), held, strict=True)
        )
        lean = chance * signs(SMALL - out)
        weight += lean * out.sum(axis=axis, keepdims=True)
        offset += lean * out
    expected = HOLDOUT * SMALL.sum(axis=axis, keepdims=True)
    found = cross_fitted_lean(SMALL, direction, rng=rng(), draws=40_000)
    np.testing.assert_allclose(found.weight, weight / expected, atol=0.02)
    np.testing.assert_allclose(found.offset, offset / expected, atol=0.02)


@pytest.mark.parametrize("given", [None, *DIRECTIONS])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_counts_against_a_loop(direction: Direction, given: Direction | None) -> None:
    """The joint lean has no direction; the sentences are those of the condition that is given."""
    axis, draws = axis_of(given or direction), 50
    weight, offset = np.zeros(COUNTS.shape), np.zeros(COUNTS.shape)
    for held in rng().binomial(COUNTS, 0.2, size=(draws, *COUNTS.shape)):
        lean = signs(COUNTS - held)
        weight += lean * held.sum(axis=axis, keepdims=True) / draws
        offset += lean * held / draws
    scale = 0.2 * COUNTS.sum(axis=axis, keepdims=True)
    found = cross_fitted_lean(COUNTS, direction, given=given, rng=rng(), draws=draws)
    np.testing.assert_allclose(found.weight, weight / scale, atol=1e-12)
    np.testing.assert_allclose(found.offset, offset / scale, atol=1e-12)


@pytest.mark.parametrize("given", [None, *DIRECTIONS])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_estimates_against_a_loop(direction: Direction, given: Direction | None) -> None:
    """The lean of the table with half the noise more, the rate with twice the noise less.

    Noise is added to the rate by its derivative: of x / s it is (dx - x / s * ds) / s.
    """
    axis, draws = axis_of(given or direction), 50
    weight, offset = np.zeros(TABLE.shape), np.zeros(TABLE.shape)
    whole = TABLE.sum(axis=axis, keepdims=True)
    rate = TABLE / whole
    for normal in rng().standard_normal((draws, *TABLE.shape)):
        lean = signs(np.clip(TABLE + 0.5 * ERRORS * normal, 0, None))
        away = -2 * ERRORS * normal
        changed = rate + (away - rate * away.sum(axis=axis, keepdims=True)) / whole
        weight += lean / draws
        offset += lean * changed / draws
    found = blurred_lean(TABLE, ERRORS, direction, given=given, rng=rng(), draws=draws)
    np.testing.assert_allclose(found.weight, weight, atol=1e-12)
    np.testing.assert_allclose(found.offset, offset, atol=1e-12)
    cells = found.cells(np.full(TABLE.shape, 0.4))
    np.testing.assert_allclose(cells, 0.4 * weight - offset, atol=1e-12)


@pytest.mark.parametrize("weighting", ["joint", "paper"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_with_very_many_sentences_it_is_the_lean(direction: Direction, weighting: Any) -> None:
    """One condition is far more common: it decides the joint lean and not the paper's."""
    counts = np.array([[700, 6, 1], [300, 4, 9]]) * 10_000.0
    counts = counts.T if direction == Direction.ATTRIBUTE_TO_TASK else counts
    lean = lean_of_counts(counts, direction, weighting)
    rate = counts / counts.sum(axis=axis_of(direction), keepdims=True)
    options = {"weighting": weighting, "rng": rng(), "draws": 20}
    for found in (
        cross_fitted_lean(counts, direction, **options),
        blurred_lean(counts, np.sqrt(counts), direction, **options),
        blurred_lean(counts, np.zeros(counts.shape), direction, **options),
    ):
        np.testing.assert_allclose(found.weight, lean, atol=0.02)
        np.testing.assert_allclose(found.offset, lean * rate, atol=0.02)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_truthful_model_is_found_to_amplify_nothing(direction: Direction) -> None:
    """Its published value is far below zero: lean and rates share the noise of the counts."""
    draw = rng(11)
    plain, fitted = [], []
    for _ in range(300):
        rate = 1 / (1 + np.exp(-draw.normal(0, 1, 15)))
        joint = np.stack([rate, 1 - rate]) * draw.dirichlet(np.full(15, 5.0))
        counts = draw.multinomial(300, joint.ravel()).reshape(joint.shape).astype(float)
        counted = counts.sum(axis=0) > 0
        joint, counts = joint[:, counted], counts[:, counted]
        truth = joint / joint.sum(axis=direction.axis, keepdims=True)
        base = counts / counts.sum(axis=direction.axis, keepdims=True)
        plain.append((lean_of_counts(counts, direction) * (truth - base)).mean())
        fitted.append(cross_fitted_lean(counts, direction, rng=draw, draws=100).cells(truth).mean())
    error = np.std(fitted) / math.sqrt(len(fitted))
    assert abs(np.mean(fitted)) < 3 * error
    assert np.mean(plain) < -5 * error


def test_a_condition_that_was_never_counted_has_no_lean() -> None:
    counts = np.array([[3, 0], [2, 0]])
    found: CrossFittedLean = cross_fitted_lean(
        counts, Direction.TASK_TO_ATTRIBUTE, rng=rng(), draws=5
    )
    assert np.isnan(found.weight).tolist() == [[False, True], [False, True]]
    assert np.isnan(found.offset).tolist() == [[False, True], [False, True]]
