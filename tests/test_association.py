"""The table of a world: constructors that agree, conditionals that add up, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS
from lmprobe.errors import InputError

COUNTS = hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 6)).filter(lambda c: c.sum() > 0)
NAMES = (("a", "b"), ("x", "y", "z"))


@settings(max_examples=60, deadline=None)
@given(COUNTS)
def test_from_labels_equals_from_counts_on_one_hot_data(counts: np.ndarray) -> None:
    world = Association.from_counts(counts, *NAMES)
    rows, columns = (grid.ravel() for grid in np.indices(counts.shape))
    group, task = np.repeat(rows, counts.ravel()), np.repeat(columns, counts.ravel())
    one_hot = Association.from_labels(np.eye(2)[group], np.eye(3)[task])
    weighted = Association.from_labels(
        np.eye(2)[rows], np.eye(3)[columns], sample_weight=counts.ravel()
    )
    for other in (one_hot, weighted):
        np.testing.assert_allclose(other.joint, world.joint, atol=1e-15)
        np.testing.assert_allclose(other.p_attribute, world.p_attribute, atol=1e-15)
        np.testing.assert_allclose(other.p_task, world.p_task, atol=1e-15)
        assert other.counts is not None
        np.testing.assert_allclose(other.counts, counts)


@settings(max_examples=60, deadline=None)
@given(COUNTS)
def test_conditionals_add_up_to_one_or_are_undefined(counts: np.ndarray) -> None:
    world = Association.from_counts(counts, *NAMES)
    for direction, axis in zip(DIRECTIONS, (0, 1), strict=True):
        sums = world.conditional(direction).sum(axis=axis)
        empty = counts.sum(axis=axis) == 0
        assert np.isnan(sums[empty]).all()
        np.testing.assert_allclose(sums[~empty], 1)


@settings(max_examples=30, deadline=None)
@given(COUNTS)
def test_reordering_there_and_back(counts: np.ndarray) -> None:
    world = Association.from_counts(counts, *NAMES)
    turned = world.reorder(["b", "a"], ["z", "x", "y"])
    assert turned.joint[0, 0] == world.joint[1, 2]
    assert turned.counts is not None
    assert turned.counts[0, 0] == counts[1, 2]
    np.testing.assert_array_equal(turned.reorder(*NAMES).joint, world.joint)


def test_people_may_have_two_attributes_or_none() -> None:
    world = Association.from_labels([[1, 1], [0, 0]], [[1], [1]])
    assert world.attribute_given_task[:, 0].tolist() == [0.5, 0.5]
    assert world.p_attribute.tolist() == [0.5, 0.5]


def test_from_conditional() -> None:
    even = Association.from_conditional([[0.9, 0.5], [0.1, 0.5]], ["a", "b"], ["x", "y"])
    assert even.p_task.tolist() == [0.5, 0.5]
    assert even.p_attribute.tolist() == pytest.approx([0.7, 0.3])
    told = Association.from_conditional([[0.9, 0.5], [0.1, 0.5]], "ab", "xy", p_task=[3, 1])
    assert told.p_task.tolist() == [0.75, 0.25]
    np.testing.assert_allclose(told.attribute_given_task, [[0.9, 0.5], [0.1, 0.5]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Association.from_counts([1, 2], "a", "xy"), "axes"),
        (lambda: Association.from_counts([[1, -2]], "a", "xy"), "finite and not negative"),
        (lambda: Association.from_counts([[0, 0]], "a", "xy"), "at least one row"),
        (lambda: Association.from_counts([[1, 2]], "a", "x"), r"must have shape \(1, 1\)"),
        (lambda: Association.from_counts([[1, 2]], "a", "xx"), "'x' appears twice"),
        (lambda: Association.from_counts(np.zeros((0, 2)), "", "xy"), "at least one"),
        (lambda: Association.from_conditional([[0.5]], "a", "x"), "add up to 1"),
        (lambda: Association.from_conditional([[1.0]], "a", "x", p_task=[-1]), "`p_task`"),
        (lambda: Association.from_counts([[1]], "a", "x").reorder("b", "x"), "same labels"),
        (
            lambda: Association(np.array([[2.0]]), np.ones(1), np.ones(1), ("a",), ("x",)),
            "probabilities between 0 and 1",
        ),
    ],
)
def test_every_mistake_is_one_clear_error(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
