"""Which way a world leans: against a loop, at the tolerance of a tie, of many tables at once."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association, lean, lean_of, lean_of_counts, sign
from lmprobe.metrics.direction import DIRECTIONS, Direction

T_TO_A = Direction.TASK_TO_ATTRIBUTE


def world_of(counts: Any) -> Association:
    table = np.asarray(counts, dtype=float)
    return Association.from_counts(table, *([str(n) for n in range(size)] for size in table.shape))


def by_loop(counts: np.ndarray, direction: Direction, weighting: str) -> np.ndarray:
    """The lean of one table, a pair at a time."""
    leans = np.zeros(counts.shape)
    for a, t in product(*map(range, counts.shape)):
        if weighting == "joint":
            difference = counts[a, t] * counts.sum() - counts[a].sum() * counts[:, t].sum()
        else:
            table, row, column = (counts, a, t) if direction is T_TO_A else (counts.T, t, a)
            if not table[:, column].sum():
                continue
            shares = [given[row] / given.sum() for given in table.T if given.sum()]
            difference = table[row, column] / table[:, column].sum() - np.mean(shares)
        leans[a, t] = 0 if abs(difference) < 1e-12 else np.sign(difference)
    return leans


@pytest.mark.parametrize("weighting", ["joint", "paper"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_lean_is_that_of_a_loop(direction: Direction, weighting: Any) -> None:
    counts = np.random.default_rng(3).integers(1, 9, (5, 3, 4)).astype(float)
    counts[1, :, 2] = 0  # a task never counted
    counts[2, 1] = 0  # an attribute never counted
    counts[3, :, 1:] = 0  # one task alone
    counts[4, 1:] = 0  # one attribute alone
    leans = lean_of_counts(counts, direction, weighting)
    for table, ours in zip(counts, leans, strict=True):
        expected = by_loop(table, direction, weighting)
        np.testing.assert_array_equal(ours, expected)
        whole = lean(world_of(table), direction, weighting)
        np.testing.assert_array_equal(np.nan_to_num(whole), expected)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=5),
    st.lists(st.integers(1, 50), min_size=1, max_size=9),
)
def test_independent_tables_lean_nowhere(rows: list[int], columns: list[int]) -> None:
    world = world_of(np.outer(rows, columns))
    for direction in DIRECTIONS:
        assert not lean(world, direction).any()


def test_the_weightings_differ_where_tasks_differ_in_size() -> None:
    # P(she) is 47/130 over people, and 0.43 as the plain average of 0.1, 0.4 and 0.8.
    counts = np.array([[3.0, 36, 8], [27, 54, 2]])
    for leans in (lean(world_of(counts), T_TO_A), lean_of_counts(counts, T_TO_A)):
        assert leans[0].tolist() == [-1, 1, 1]
    assert lean(world_of(counts), T_TO_A, "paper")[0].tolist() == [-1, -1, 1]


def test_a_tie_is_a_difference_of_one_in_a_thousand_million_at_most() -> None:
    many = 10**9
    result = np.array([many, many - 1, many, many - 2, many, 0.0])
    expected = np.array([many, many, many - 1, many, many - 2, 0.0])
    assert sign(result, expected).tolist() == [0, 0, 0, -1, 1, 0]
    assert sign(-result, -expected).tolist() == [0, 0, 0, 1, -1, 0]
    # Relative to the larger one: the size of both changes nothing.
    assert sign(result * 1e-30, expected * 1e-30).tolist()[3:] == [-1, 1, 0]
    assert sign(np.array([1e-300, 0.0]), np.array([0.0, 1e-300])).tolist() == [1, -1]


def test_a_lean_compares_with_the_product_of_the_margins() -> None:
    """With margins of their own, as where a row may show several attributes or none."""
    joint = np.array([[[0.125, 0.125]], [[0.125, 0.125]]])
    attribute, task = np.array([[0.5], [0.25]]), np.array([[0.25, 0.5], [0.25, 0.75]])
    assert lean_of(joint, attribute, task).tolist() == [[[0, -1]], [[1, -1]]]


def test_an_unknown_weighting() -> None:
    with pytest.raises(InputError, match='no lean "papers"; did you mean "paper"'):
        lean(world_of([[1]]), T_TO_A, "papers")  # type: ignore[arg-type]
