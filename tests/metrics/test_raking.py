"""Raking: margins, odds ratios, factors that cancel; strong links and empty labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.errors import InputError
from lmprobe.metrics.association import lean_of_counts
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.metrics.raking import rake, raked_conditional


def tables(seed: int, size: tuple[int, int, int], strength: float) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(seed)
    k, a, t = size
    logs = draw.normal(0, strength, size)
    return logs, draw.dirichlet(np.full(a, 0.5), k), draw.dirichlet(np.full(t, 0.5), k)


def interaction(logs: np.ndarray) -> np.ndarray:
    """The logarithms of the odds ratios with the first row and column."""
    return np.asarray(logs - logs[:, :1] - logs[:, :, :1] + logs[:, :1, :1])


def test_raking_is_iterative_proportional_fitting() -> None:
    rng = np.random.default_rng(0)
    table = np.exp(rng.normal(0, 1.5, (3, 4)))
    rows, columns = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    fitted = table.copy()
    for _ in range(20_000):
        for a in range(3):
            fitted[a] *= rows[a] / sum(fitted[a])
        for t in range(4):
            fitted[:, t] *= columns[t] / sum(fitted[:, t])
    np.testing.assert_allclose(rake(np.log(table), rows, columns), fitted, atol=1e-12)


@pytest.mark.parametrize("log_odds", [-60.0, -25.0, -6.0, 0.0, 0.5, 12.0, 40.0, 60.0])
@pytest.mark.parametrize(("row", "column"), [(0.5, 0.4), (0.9, 0.2), (0.001, 0.7), (0.02, 0.03)])
def test_a_table_of_two_by_two_is_the_root_of_a_quadratic(
    log_odds: float, row: float, column: float
) -> None:
    logs = np.array([[log_odds, 3.0], [-2.0, 1.0]])
    logs[0, 0] += -2.0 + 3.0 - 1.0
    result = rake(logs, np.array([row, 1 - row]), np.array([column, 1 - column]))
    # x (1 - row - column + x) = odds (row - x) (column - x)
    odds = np.exp(log_odds)
    a, b, c = 1 - odds, 1 - row - column + odds * (row + column), -odds * row * column
    root = np.sqrt(b * b - 4 * a * c)
    # Of the two forms of the root, the one without a difference of equal numbers.
    expected = -2 * c / (b + root) if b > 0 else (root - b) / (2 * a)
    assert result[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-12)
    np.testing.assert_allclose(result.sum(axis=1), [row, 1 - row], atol=1e-12)
    np.testing.assert_allclose(result.sum(axis=0), [column, 1 - column], atol=1e-12)


SIZES = st.tuples(st.integers(1, 6), st.integers(2, 4), st.integers(2, 9))
LOGS = SIZES.flatmap(lambda size: hnp.arrays(np.float64, size, elements=st.floats(-12, 12)))


@settings(deadline=None, max_examples=60)
@given(logs=LOGS, seed=st.integers(0, 999), strength=st.sampled_from([0.1, 1.0, 10.0, 40.0]))
def test_row_and_column_factors_change_no_association(
    logs: np.ndarray, seed: int, strength: float
) -> None:
    rng = np.random.default_rng(seed)
    k, a, t = logs.shape
    joint = rng.dirichlet(np.full(a * t, 0.7)).reshape(a, t) + 1e-4
    joint /= joint.sum()
    factors = rng.normal(0, strength, (k, a, 1)) + rng.normal(0, strength, (k, 1, t))
    for direction in DIRECTIONS:
        base = joint / joint.sum(axis=direction.axis, keepdims=True)
        lean = lean_of_counts(joint, direction)
        values = [
            defined_mean(
                amplification(raked_conditional(table, joint, direction), base, lean), axis=(1, 2)
            )
            for table in (logs, logs + factors)
        ]
        np.testing.assert_allclose(values[0], values[1], atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(logs=LOGS, seed=st.integers(0, 999))
def test_a_raked_table_has_the_margins_and_the_odds_ratios(logs: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, a, t = logs.shape
    rows, columns = rng.dirichlet(np.ones(a)), rng.dirichlet(np.ones(t))
    result = rake(logs, rows, columns)
    np.testing.assert_allclose(result.sum(axis=2), np.broadcast_to(rows, (k, a)), atol=1e-12)
    np.testing.assert_allclose(result.sum(axis=1), np.broadcast_to(columns, (k, t)))
    clear = (result > 1e-250).all(axis=(1, 2))
    retained = interaction(np.log(np.maximum(result, 1e-300)))
    np.testing.assert_allclose(retained[clear], interaction(logs)[clear], atol=1e-6)


@pytest.mark.parametrize("size", [(100, 2, 2), (100, 2, 30), (60, 4, 6)])
@pytest.mark.parametrize("strength", [10.0, 30.0])
def test_links_of_thirty_in_the_logarithm_still_reach_their_margins(
    size: tuple[int, int, int], strength: float
) -> None:
    """Where cells differ by a factor of exp(100), no margin is missed by more than rounding."""
    logs, rows, columns = tables(7, size, strength)
    result = rake(logs, rows, columns)
    np.testing.assert_allclose(result.sum(axis=2), rows, atol=1e-12)
    np.testing.assert_allclose(result.sum(axis=1), columns, atol=1e-12)
    clear = (result > 1e-200).all(axis=(1, 2))
    change = interaction(np.log(np.maximum(result, 1e-250)) - logs)
    assert np.abs(change[clear]).max() < 1e-9
    # Together with others, which take other numbers of steps, each table is what it is alone.
    alone = rake(logs[3], rows[3], columns[3])
    np.testing.assert_allclose(result[3], alone, atol=1e-12)


def test_factors_and_margins_of_any_size() -> None:
    """Factors of exp(1e6): every table with the same odds ratios begins at the same place."""
    logs, rows, columns = tables(1, (2, 3, 4), 2.0)
    expected = rake(logs, rows, columns)
    shift = np.array([1e6, -2e6, 5e5])[:, None] + np.array([-1e6, 3e6, 1e5, 7.0])
    np.testing.assert_allclose(rake(logs + shift, rows, columns), expected, atol=1e-7)
    # Margins that add up to 10,000 cannot be met to 1e-13: rounding ends the steps.
    np.testing.assert_allclose(rake(logs, rows * 1e4, columns * 1e4), expected * 1e4, rtol=1e-9)


def test_empty_rows_and_columns_stay_empty_and_change_no_other() -> None:
    block = np.array([[9.0, 0.0, -3.0], [0.0, 9.0, 4.0]])
    rows, columns = np.array([0.3, 0.7]), np.array([0.35, 0.6, 0.05])
    expected = rake(block, rows, columns)
    logs = np.random.default_rng(0).normal(0, 5, (4, 5))
    logs[np.ix_([0, 2], [1, 2, 4])] = block
    result = rake(logs, np.array([0.3, 0, 0.7, 0]), np.array([0, 0.35, 0.6, 0, 0.05]))
    np.testing.assert_allclose(result[np.ix_([0, 2], [1, 2, 4])], expected, atol=1e-12)
    assert not result[[1, 3]].any()
    assert not result[:, [0, 3]].any()


def test_a_model_with_the_odds_ratios_of_the_base_amplifies_nothing() -> None:
    """Halving *she* everywhere moves the value, not the association."""
    rate = 1 / (1 + np.exp(-np.random.default_rng(2).normal(0, 1.3, 32)))
    joint = np.stack([1 - rate, rate]) / 32
    model = joint * np.array([[1.0], [0.5]])
    predicted = model / model.sum(axis=0)
    base, lean = joint / joint.sum(axis=0), lean_of_counts(joint, Direction.TASK_TO_ATTRIBUTE)
    raked = raked_conditional(np.log(model), joint, Direction.TASK_TO_ATTRIBUTE)
    assert np.abs(amplification(raked, base, lean)).max() < 1e-12
    assert abs(amplification(predicted, base, lean).mean()) > 0.001


def test_labels_without_margin_are_undefined_when_given() -> None:
    joint = np.array([[0.3, 0.0, 0.2], [0.1, 0.0, 0.4], [0.0, 0.0, 0.0]])
    logs = np.random.default_rng(0).normal(0, 1, (3, 3))
    result = raked_conditional(logs, joint, Direction.TASK_TO_ATTRIBUTE)
    assert np.isnan(result[:, 1]).all()
    np.testing.assert_allclose(result[2, [0, 2]], 0.0)
    given_attribute = raked_conditional(logs, joint, Direction.ATTRIBUTE_TO_TASK)
    assert np.isnan(given_attribute[2]).all()
    np.testing.assert_allclose(given_attribute[:2].sum(axis=1), 1.0)


def test_leading_axes_of_tables_and_margins_are_broadcast() -> None:
    logs, rows, columns = tables(8, (4, 2, 5), 1.0)
    result = rake(logs, rows[:3, None], columns[:3, None])
    assert result.shape == (3, 4, 2, 5)
    np.testing.assert_allclose(result[1, 2], rake(logs[2], rows[1], columns[1]), atol=1e-12)
    tasks = rake(logs[0], rows[0], columns)
    np.testing.assert_allclose(tasks[1], rake(logs[0], rows[0], columns[1]), atol=1e-12)
    joint = np.random.default_rng(9).dirichlet(np.ones(10), 4).reshape(4, 2, 5)
    for direction in DIRECTIONS:
        conditional = raked_conditional(logs[0], joint, direction)
        np.testing.assert_allclose(conditional.sum(axis=direction.axis), 1.0)
        # The given margin times the conditional has the other margin of the base.
        both = conditional * joint.sum(axis=direction.axis, keepdims=True)
        np.testing.assert_allclose(both.sum(axis=-1), joint.sum(axis=-1), atol=1e-12)
        np.testing.assert_allclose(both.sum(axis=-2), joint.sum(axis=-2), atol=1e-12)


def test_a_table_out_of_reach_is_undefined_and_not_wrong() -> None:
    logs, rows, columns = tables(0, (50, 2, 2), 400.0)
    result = rake(logs, rows, columns)
    missed = np.isnan(result).any(axis=(1, 2))
    assert 0 < missed.sum() < 50
    assert np.isnan(result[missed]).all()
    np.testing.assert_allclose(result[~missed].sum(axis=2), rows[~missed], atol=1e-9)
    np.testing.assert_allclose(result[~missed].sum(axis=1), columns[~missed], atol=1e-9)


def test_zeros_and_margins_that_do_not_fit_are_refused() -> None:
    half, even = np.array([0.5, 0.5]), np.zeros((2, 2))
    with pytest.raises(InputError, match="positive"):
        rake(np.array([[0.0, -np.inf], [0.0, 0.0]]), half, half)
    np.testing.assert_allclose(rake(even, half, half + 1e-10), 0.25, atol=1e-9)
    for wrong in (half + 1e-6, half - 1e-6, np.array([[0.5, 0.5], [0.5, 0.4]])):
        with pytest.raises(InputError, match="the margins to rake to must have the same sum"):
            rake(even, half, wrong)
