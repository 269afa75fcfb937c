"""Raking: margins, odds ratios, and that row and column factors cancel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.metrics.raking import rake, raked_conditional


def fitted_by_loop(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Iterative proportional fitting, as it is written in textbooks."""
    table = table.copy()
    for _ in range(20_000):
        for a in range(len(rows)):
            table[a] *= rows[a] / sum(table[a])
        for t in range(len(columns)):
            table[:, t] *= columns[t] / sum(table[:, t])
    return table


def test_raking_is_iterative_proportional_fitting() -> None:
    rng = np.random.default_rng(0)
    table = np.exp(rng.normal(0, 1.5, (3, 4)))
    rows, columns = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(4))
    expected = fitted_by_loop(table, rows, columns)
    np.testing.assert_allclose(rake(np.log(table), rows, columns), expected, atol=1e-12)


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
                amplification(raked_conditional(one, joint, direction), base, lean), axis=(1, 2)
            )
            for one in (logs, logs + factors)
        ]
        np.testing.assert_allclose(values[0], values[1], atol=1e-9)


@settings(deadline=None, max_examples=40)
@given(logs=LOGS, seed=st.integers(0, 999))
def test_a_raked_table_has_the_margins_and_the_odds_ratios(logs: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, a, t = logs.shape
    rows, columns = rng.dirichlet(np.ones(a)), rng.dirichlet(np.ones(t))
    found = rake(logs, rows, columns)
    np.testing.assert_allclose(found.sum(axis=2), np.broadcast_to(rows, (len(logs), a)), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), np.broadcast_to(columns, (len(logs), t)))
    odds = np.log(np.maximum(found, 1e-300))
    clear = (found > 1e-250).all(axis=(1, 2))
    interaction = odds - odds[:, :1] - odds[:, :, :1] + odds[:, :1, :1]
    expected = logs - logs[:, :1] - logs[:, :, :1] + logs[:, :1, :1]
    np.testing.assert_allclose(interaction[clear], expected[clear], atol=1e-6)


def test_a_model_with_the_odds_ratios_of_the_base_amplifies_nothing() -> None:
    """Halving *she* everywhere moves the value, not the association."""
    rng = np.random.default_rng(2)
    rate = 1 / (1 + np.exp(-rng.normal(0, 1.3, 32)))
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
    found = raked_conditional(logs, joint, Direction.TASK_TO_ATTRIBUTE)
    assert np.isnan(found[:, 1]).all()
    np.testing.assert_allclose(found[2, [0, 2]], 0.0)
    given_attribute = raked_conditional(logs, joint, Direction.ATTRIBUTE_TO_TASK)
    assert np.isnan(given_attribute[2]).all()
    np.testing.assert_allclose(given_attribute[:2].sum(axis=1), 1.0)


def test_margins_may_have_leading_axes_of_their_own() -> None:
    rng = np.random.default_rng(8)
    logs = rng.normal(0, 1, (4, 2, 5))
    rows, columns = rng.dirichlet(np.ones(2), (3, 1)), rng.dirichlet(np.ones(5), (3, 1))
    found = rake(logs, rows, columns)
    assert found.shape == (3, 4, 2, 5)
    np.testing.assert_allclose(found[1, 2], rake(logs[2], rows[1, 0], columns[1, 0]), atol=1e-12)


def test_zeros_and_margins_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="positive"):
        rake(np.array([[0.0, -np.inf], [0.0, 0.0]]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    with pytest.raises(InputError, match="same sum"):
        rake(np.zeros((2, 2)), np.array([0.5, 0.5]), np.array([0.5, 0.6]))
