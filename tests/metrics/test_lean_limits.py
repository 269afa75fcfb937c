"""The lean at its tie tolerance, of many tables at once, and against a plain average."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.metrics.lean import against_average, lean, lean_of, lean_of_counts, sign

MANY = 10**9
"""One in so many is the relative tolerance of a tie."""


def test_a_tie_is_a_difference_of_one_in_a_thousand_million_at_most() -> None:
    found = np.array([MANY, MANY - 1, MANY, MANY - 2, MANY, 0.0])
    expected = np.array([MANY, MANY, MANY - 1, MANY, MANY - 2, 0.0])
    assert sign(found, expected).tolist() == [0, 0, 0, -1, 1, 0]
    assert sign(-found, -expected).tolist() == [0, 0, 0, 1, -1, 0]
    # Relative to the larger one: the size of both changes nothing.
    assert sign(found * 1e-30, expected * 1e-30).tolist()[3:] == [-1, 1, 0]
    assert sign(np.array([1e-300]), np.array([0.0])).tolist() == [1]
    assert sign(np.array([0.0]), np.array([1e-300])).tolist() == [-1]


def test_the_tolerance_holds_for_every_way_to_a_lean() -> None:
    """A table of counts, one of them moved by 4e-10 and by 4e-9 of itself."""
    for moved, leans in ((4e-10, False), (4e-9, True)):
        counts = np.array([[1.0, 1.0], [1.0, 1.0]])
        counts[0, 0] += moved
        world = Association.from_counts(counts, ["a", "b"], ["s", "t"])
        for direction in DIRECTIONS:
            for found in (lean(world, direction), lean_of_counts(counts, direction)):
                assert bool(found.any()) == leans


def by_loop(counts: np.ndarray, direction: Direction, weighting: str) -> np.ndarray:
    """The lean of one table, a pair at a time."""
    found = np.zeros(counts.shape)
    total = counts.sum()
    for a, t in product(*map(range, counts.shape)):
        if weighting == "joint":
            difference = counts[a, t] * total - counts[a].sum() * counts[:, t].sum()
        elif direction == Direction.TASK_TO_ATTRIBUTE:
            if not counts[:, t].sum():
                continue
            shares = [column[a] / column.sum() for column in counts.T if column.sum()]
            difference = counts[a, t] / counts[:, t].sum() - np.mean(shares)
        else:
            if not counts[a].sum():
                continue
            shares = [row[t] / row.sum() for row in counts if row.sum()]
            difference = counts[a, t] / counts[a].sum() - np.mean(shares)
        found[a, t] = 0 if abs(difference) < 1e-12 else np.sign(difference)
    return found


@pytest.mark.parametrize("weighting", ["joint", "paper"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_lean_of_counts_is_that_of_a_loop(direction: Direction, weighting: Any) -> None:
    draw = np.random.default_rng(3)
    counts = draw.integers(1, 9, (5, 3, 4)).astype(float)
    counts[1, :, 2] = 0  # a task never counted
    counts[2, 1] = 0  # an attribute never counted
    counts[3, :, 1:] = 0  # one task alone
    counts[4, 1:] = 0  # one attribute alone
    found = lean_of_counts(counts, direction, weighting)
    for table, ours in zip(counts, found, strict=True):
        np.testing.assert_array_equal(ours, by_loop(table, direction, weighting))
    for table in (counts[0], counts[3]):
        labels = [str(a) for a in range(3)], [str(t) for t in range(4)]
        world = Association.from_counts(table, *labels)
        whole = np.nan_to_num(lean(world, direction, weighting))
        np.testing.assert_array_equal(whole, by_loop(table, direction, weighting))


def test_the_lean_of_counts_weighs_jointly_by_default() -> None:
    # As in test_lean: 47/130 of all people are women, and 0.43 of those of an average task.
    counts = np.array([[3.0, 36.0, 8.0], [27.0, 54.0, 2.0]])
    found = lean_of_counts(counts, Direction.TASK_TO_ATTRIBUTE)
    assert found[0].tolist() == [-1, 1, 1]
    world = Association.from_counts(counts, ["she", "he"], ["a", "b", "c"])
    assert lean(world, Direction.TASK_TO_ATTRIBUTE).tolist() == found.tolist()


def test_the_only_known_conditional_is_its_own_average() -> None:
    unknown = np.nan
    conditional = np.array([[0.75, unknown, unknown], [0.25, unknown, unknown]])
    found = against_average(conditional, Direction.TASK_TO_ATTRIBUTE)
    assert found[:, 0].tolist() == [0, 0]
    assert np.isnan(found[:, 1:]).all()


def test_an_average_is_taken_over_what_is_known() -> None:
    conditional = np.array([[0.3, np.nan, 0.5], [0.7, np.nan, 0.5]])
    found = against_average(conditional, Direction.TASK_TO_ATTRIBUTE)
    # The averages are 0.4 and 0.6; nothing is added for the task without a conditional.
    assert found[:, [0, 2]].tolist() == [[-1, 1], [1, -1]]
    turned = against_average(np.stack([conditional.T] * 2), Direction.ATTRIBUTE_TO_TASK)
    np.testing.assert_array_equal(turned[1], found.T)


def test_a_lean_compares_with_the_product_of_the_margins() -> None:
    """With margins of their own, as where a row may show several attributes or none."""
    joint = np.array([[[0.125, 0.125]], [[0.125, 0.125]]])
    attribute, task = np.array([[0.5], [0.25]]), np.array([[0.25, 0.5], [0.25, 0.75]])
    assert lean_of(joint, attribute, task).tolist() == [[[0, -1]], [[1, -1]]]
