"""The table of a world: constructors that agree, conditionals that add up, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association, ratio
from lmprobe.metrics.direction import DIRECTIONS

COUNTS = hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 6)).filter(lambda c: c.sum() > 0)
NAMES = (("a", "b"), ("x", "y", "z"))
RATES = ((0.9, 0.5), (0.1, 0.5))


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


def test_a_ratio_to_nothing_is_undefined_and_any_other_is_the_quotient() -> None:
    part, whole = np.array([[1.0, 0.0, 3.0], [0.5, 2.0, 0.0]]), np.array([2.0, 0.0, 0.25])
    expected = [[0.5, np.nan, 12.0], [0.25, np.nan, 0.0]]
    np.testing.assert_array_equal(ratio(part, whole), expected)


def test_people_may_have_two_attributes_or_none() -> None:
    world = Association.from_labels([[1, 1], [0, 0]], [[1], [1]])
    assert world.attribute_given_task[:, 0].tolist() == [0.5, 0.5]
    assert world.p_attribute.tolist() == [0.5, 0.5]


def test_counts_may_be_fractions_and_margins_follow() -> None:
    world = Association.from_counts([[0.25, 0], [0.125, 0.125]], "ab", "xy")
    assert world.joint.tolist() == [[0.5, 0], [0.25, 0.25]]
    assert (world.p_attribute.tolist(), world.p_task.tolist()) == ([0.5, 0.5], [0.75, 0.25])
    assert world.attribute_given_task.tolist() == [[2 / 3, 0], [1 / 3, 1]]
    assert world.task_given_attribute.tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("p_task", "expected"),
    [(None, [0.5, 0.5]), ([3, 1], [0.75, 0.25]), ([0.5, 0.25], [2 / 3, 1 / 3]), ([0, 7], [0, 1])],
)
def test_conditional_rates_and_the_share_of_each_task(p_task: Any, expected: list[float]) -> None:
    world = Association.from_conditional(RATES, "ab", "xy", p_task=p_task)
    np.testing.assert_allclose(world.p_task, expected)
    np.testing.assert_allclose(world.joint, np.array(RATES) * expected)
    np.testing.assert_allclose(world.p_attribute, world.joint.sum(axis=1))
    assert world.counts is world.merged({"a": "all", "b": "all"}).counts is None


def test_rounding_is_forgiven() -> None:
    for off in (5e-6, -5e-6):
        world = Association.from_conditional([[0.9 + off, 0.5], [0.1, 0.5]], "ab", "xy")
        assert world.joint[0, 0] == pytest.approx((0.9 + off) / 2)
    tables = [np.array([[0.0, 1.0]]), np.array([1 + 1e-9]), np.array([0.0, 1.0])]
    assert Association(*tables, ("a",), ("x", "y")).joint.tolist() == [[0, 1]]


def test_merging_adds_what_an_owner_has() -> None:
    table = Association.from_counts([[1, 2], [3, 4], [5, 5]], "abc", "xy")
    merged = table.merged({"a": "q", "b": "p", "c": "q"})
    assert merged.attributes == ("q", "p")
    np.testing.assert_allclose(merged.joint, [[0.3, 0.35], [0.15, 0.2]])
    np.testing.assert_allclose(merged.p_attribute, [0.65, 0.35])
    np.testing.assert_array_equal(merged.p_task, table.p_task)
    np.testing.assert_array_equal(merged.counts, [[6, 7], [3, 4]])


@pytest.mark.parametrize(
    ("joint", "p_attribute", "p_task", "message"),
    [
        ([[0.5]], [1], [0.5, 0.5], r"`joint` must have shape \(1, 2\), found \(1, 1\)"),
        ([[0.5, 0.5]], [[1]], [0.5, 0.5], r"`p_attribute` must have shape \(1,\)"),
        ([[0.5, 0.5]], [1], [1], r"`p_task` must have shape \(2,\), found \(1,\)"),
        ([[-1e-9, 0.5]], [1], [0.5, 0.5], "`joint` must hold probabilities"),
        ([[0.5, 0.5]], [1 + 2e-9], [0.5, 0.5], "`p_attribute` must hold probabilities"),
        ([[0.5, 0.5]], [1], [0.5, np.nan], "`p_task` must hold probabilities"),
    ],
)
def test_every_table_has_its_shape_and_holds_probabilities(
    joint: Any, p_attribute: Any, p_task: Any, message: str
) -> None:
    tables = [np.array(table, dtype=float) for table in (joint, p_attribute, p_task)]
    with pytest.raises(InputError, match=message):
        Association(*tables, ("a",), ("x", "y"))


@pytest.mark.parametrize(
    ("counts", "attributes", "tasks", "message"),
    [
        ([1, 2], "a", "xy", r"axes \(attribute, task\), found \(2,\)"),
        ([[1, -1e-9]], "a", "xy", "finite and not negative"),
        ([[1, np.inf]], "a", "xy", "finite and not negative"),
        ([[0, 0]], "a", "xy", "at least one row"),
        ([[1, 2]], "a", "x", r"must have shape \(1, 1\)"),
        ([[1, 2, 3, 4]], "a", "xyzy", "the tasks must differ from each other; 'y' appears"),
        ([[1]] * 5, "cbcba", "x", "the attributes must differ from each other; 'b' app"),
        (np.zeros((0, 2)), "", "xy", "at least one"),
    ],
)
def test_counts_that_are_none(counts: Any, attributes: str, tasks: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Association.from_counts(counts, attributes, tasks)


@pytest.mark.parametrize("rates", [[[0.901, 0.5], [0.1, 0.5]], [[0.9, 0.1], [0.5, 0.5]], [1.0]])
def test_conditional_rates_add_up_to_one_for_each_task(rates: Any) -> None:
    with pytest.raises(InputError, match=r"must be \(A, T\) with columns that add up to 1"):
        Association.from_conditional(rates, "ab", "xy")


@pytest.mark.parametrize("p_task", [[1], [[1, 2]], [2, -1], [0, 0], [np.nan, 1]])
def test_the_share_of_a_task_is_not_negative(p_task: Any) -> None:
    with pytest.raises(InputError, match="`p_task` must hold 2 numbers that are not negative"):
        Association.from_conditional(RATES, "ab", "xy", p_task=p_task)
