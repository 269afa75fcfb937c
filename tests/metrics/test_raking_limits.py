"""Raking at its limits: strong links, lopsided margins, huge factors, empty labels, its steps."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.metrics import raking
from lmprobe.metrics.raking import rake, raked_conditional


def two_by_two(odds: float, row: float, column: float) -> float:
    """The first cell of the 2 x 2 table with this odds ratio: the root of a quadratic."""
    # x (1 - row - column + x) = odds (row - x) (column - x)
    a, b, c = 1 - odds, 1 - row - column + odds * (row + column), -odds * row * column
    root = np.sqrt(b * b - 4 * a * c)
    # Of the two forms of the root, the one without a difference of equal numbers.
    return float(-2 * c / (b + root) if b > 0 else (root - b) / (2 * a))


@pytest.mark.parametrize("log_odds", [-60.0, -25.0, -6.0, 0.0, 0.5, 12.0, 40.0, 60.0])
@pytest.mark.parametrize(("row", "column"), [(0.5, 0.4), (0.9, 0.2), (0.001, 0.7), (0.02, 0.03)])
def test_a_table_of_two_by_two_is_the_root_of_a_quadratic(
    log_odds: float, row: float, column: float
) -> None:
    logs = np.array([[log_odds, 3.0], [-2.0, 1.0]])
    logs[0, 0] += -2.0 + 3.0 - 1.0
    found = rake(logs, np.array([row, 1 - row]), np.array([column, 1 - column]))
    expected = two_by_two(np.exp(log_odds), row, column)
    assert found[0, 0] == pytest.approx(expected, rel=1e-6, abs=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), [row, 1 - row], atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), [column, 1 - column], atol=1e-12)


def tables(seed: int, size: tuple[int, int, int], strength: float) -> tuple[np.ndarray, ...]:
    draw = np.random.default_rng(seed)
    k, a, t = size
    logs = draw.normal(0, strength, size)
    return logs, draw.dirichlet(np.full(a, 0.5), k), draw.dirichlet(np.full(t, 0.5), k)


@pytest.mark.parametrize("size", [(100, 2, 2), (100, 2, 30), (60, 4, 6)])
def test_links_of_thirty_in_the_logarithm_still_reach_their_margins(
    size: tuple[int, int, int],
) -> None:
    """Where cells differ by a factor of exp(100), no margin is missed by more than rounding."""
    for strength in (10.0, 30.0):
        logs, rows, columns = tables(7, size, strength)
        found = rake(logs, rows, columns)
        np.testing.assert_allclose(found.sum(axis=2), rows, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), columns, atol=1e-12)
        kept = np.log(np.maximum(found, 1e-250))
        difference = kept - logs
        clear = (found > 1e-200).all(axis=(1, 2))
        change = difference - difference[:, :1] - difference[:, :, :1] + difference[:, :1, :1]
        assert np.abs(change[clear]).max() < 1e-9


def test_factors_of_any_size_change_nothing() -> None:
    """Factors of exp(1e6): every table with the same odds ratios begins at the same place."""
    logs, rows, columns = tables(1, (2, 3, 4), 2.0)
    expected = rake(logs, rows, columns)
    shift = np.array([1e6, -2e6, 5e5])[:, None] + np.array([-1e6, 3e6, 1e5, 7.0])
    np.testing.assert_allclose(rake(logs + shift, rows, columns), expected, atol=1e-7)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the tables that each step works on."""
    sizes: list[int] = []
    plain = raking._newton_step

    def step(joint: np.ndarray, *margins: np.ndarray) -> np.ndarray:
        sizes.append(len(joint))
        return plain(joint, *margins)

    monkeypatch.setattr(raking, "_newton_step", step)
    return sizes


def test_newton_needs_few_steps_and_tables_that_are_done_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = counted(monkeypatch)
    rake(*tables(2, (300, 3, 8), 1.0))
    assert len(sizes) <= 8
    assert sizes[0] == 300
    assert sizes == sorted(sizes, reverse=True)
    sizes.clear()
    # What is already raked needs no step.
    joint = np.array([[0.1, 0.2], [0.3, 0.4]])
    raked = rake(np.log(joint), joint.sum(axis=1), joint.sum(axis=0))
    np.testing.assert_allclose(raked, joint, atol=1e-15)
    assert len(sizes) <= 4


def test_rounding_ends_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Margins that add up to 10,000 cannot be met to 1e-13: the steps end all the same."""
    sizes = counted(monkeypatch)
    logs, rows, columns = tables(3, (40, 3, 20), 1.0)
    found = rake(logs, rows * 1e4, columns * 1e4)
    np.testing.assert_allclose(found, rake(logs, rows, columns) * 1e4, rtol=1e-9)
    assert len(sizes) < 100


def test_strong_links_of_labels_among_empty_ones() -> None:
    """An empty row and an empty column slow nothing down and stay empty."""
    block = np.array([[9.0, 0.0, -3.0], [0.0, 9.0, 4.0]])
    rows, columns = np.array([0.3, 0.7]), np.array([0.35, 0.6, 0.05])
    expected = rake(block, rows, columns)
    np.testing.assert_allclose(expected.sum(axis=1), rows, atol=1e-12)
    logs = np.random.default_rng(0).normal(0, 5, (4, 5))
    logs[np.ix_([0, 2], [1, 2, 4])] = block
    found = rake(logs, np.array([0.3, 0, 0.7, 0]), np.array([0, 0.35, 0.6, 0, 0.05]))
    np.testing.assert_allclose(found[np.ix_([0, 2], [1, 2, 4])], expected, atol=1e-12)
    assert not found[[1, 3]].any()
    assert not found[:, [0, 3]].any()


def test_an_empty_row_holds_exactly_nothing() -> None:
    # Even where it would hold less than the margins are checked to.
    found = rake(np.array([[0.0, 0.0], [-40.0, 40.0]]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    assert found.tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_an_empty_row_takes_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counted(monkeypatch)
    logs, _, columns = tables(4, (20, 3, 6), 3.0)
    rows = np.array([0.25, 0.0, 0.75])
    columns[:, 2] = 0.0
    columns /= columns.sum(axis=1, keepdims=True)
    found = rake(logs, rows, columns)
    np.testing.assert_allclose(found.sum(axis=2), np.broadcast_to(rows, (20, 3)), atol=1e-12)
    assert len(sizes) <= 12


def test_a_batch_is_the_tables_one_by_one() -> None:
    """Easy and hard ones together, which take different numbers of steps."""
    logs, rows, columns = tables(5, (12, 2, 4), 1.0)
    logs[::3] *= 20
    found = rake(logs, rows, columns)
    for number in range(12):
        alone = rake(logs[number], rows[number], columns[number])
        np.testing.assert_allclose(found[number], alone, atol=1e-12)


def test_each_step_is_what_it_says() -> None:
    """Newton's step by differences of the margins, the fitting step by the ratio of them."""
    logs, rows, columns = tables(6, (3, 3, 5), 1.0)
    factor = np.random.default_rng(0).normal(0, 1, (3, 3))

    def margins(change: np.ndarray) -> np.ndarray:
        return raking._with_columns(logs, factor + change, columns).sum(axis=2)

    joint = raking._with_columns(logs, factor, columns)
    np.testing.assert_allclose(joint.sum(axis=1), columns)
    fitted = raking._fitting_step(joint, rows)
    np.testing.assert_allclose(np.exp(fitted), rows / joint.sum(axis=2))
    newton = raking._newton_step(joint, rows, columns)
    small = 1e-6
    moved = (margins(small * newton) - margins(-small * newton)) / (2 * small)
    np.testing.assert_allclose(moved, rows - joint.sum(axis=2), atol=1e-8)
    # The function that is maximised rises by the gap of each margin.
    for place in range(3):
        change = np.zeros((3, 3))
        change[:, place] = small
        ends = [raking._likelihood(logs, factor + s * change, rows, columns) for s in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * small)
        np.testing.assert_allclose(slope, (rows - joint.sum(axis=2))[:, place], atol=1e-8)


def test_the_margins_may_differ_by_rounding_only() -> None:
    half, even = np.array([0.5, 0.5]), np.zeros((2, 2))
    np.testing.assert_allclose(rake(even, half, half + 1e-10), 0.25, atol=1e-9)
    for wrong in (1e-6, -1e-6, 0.1):
        with pytest.raises(InputError, match="the margins to rake to must have the same sum"):
            rake(even, half, half + wrong)
    # Every table is looked at.
    margins = np.array([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(InputError, match="same sum"):
        rake(np.zeros((2, 2, 2)), margins, half)


def test_leading_axes_of_the_margins_of_tasks_alone_are_kept() -> None:
    logs, rows, columns = tables(8, (2, 3, 4), 1.0)
    found = rake(logs[0], rows[0], columns)
    assert found.shape == (2, 3, 4)
    np.testing.assert_allclose(found[1], rake(logs[0], rows[0], columns[1]), atol=1e-12)
    turned = rake(logs[:, None], rows[0], columns)
    assert turned.shape == (2, 2, 3, 4)
    np.testing.assert_allclose(turned[1, 0], rake(logs[1], rows[0], columns[0]), atol=1e-12)


def test_a_conditional_of_many_bases_adds_up_to_one() -> None:
    draw = np.random.default_rng(9)
    joint = draw.dirichlet(np.ones(6), 4).reshape(4, 2, 3)
    logs = draw.normal(0, 1, (2, 3))
    for direction in Direction:
        found = raked_conditional(logs, joint, direction)
        assert found.shape == (4, 2, 3)
        np.testing.assert_allclose(found.sum(axis=direction.axis), 1.0)
        # The given margin times the conditional has the other margin of the base.
        given = joint.sum(axis=direction.axis, keepdims=True)
        np.testing.assert_allclose((found * given).sum(axis=-1), joint.sum(axis=-1), atol=1e-12)
        np.testing.assert_allclose((found * given).sum(axis=-2), joint.sum(axis=-2), atol=1e-12)


def test_a_table_out_of_reach_is_undefined_and_not_wrong() -> None:
    rng = np.random.default_rng(0)
    logs = rng.normal(0, 400, (50, 2, 2))
    rows, columns = rng.dirichlet(np.ones(2), 50), rng.dirichlet(np.ones(2), 50)
    tables = rake(logs, rows, columns)
    missed = np.isnan(tables).any(axis=(1, 2))
    assert 0 < missed.sum() < 50
    assert np.isnan(tables[missed]).all()
    np.testing.assert_allclose(tables[~missed].sum(axis=2), rows[~missed], atol=1e-9)
    np.testing.assert_allclose(tables[~missed].sum(axis=1), columns[~missed], atol=1e-9)
