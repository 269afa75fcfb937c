"""The table of a world: exact limits of what is accepted, and tables without counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association, ratio
from lmprobe.errors import InputError


def world(joint: Any, p_attribute: Any, p_task: Any) -> Association:
    tables = (np.array(one, dtype=np.float64) for one in (joint, p_attribute, p_task))
    return Association(*tables, ("a",), ("x", "y"))


def test_a_ratio_to_nothing_is_undefined_and_any_other_is_the_quotient() -> None:
    part, whole = np.array([[1.0, 0.0, 3.0], [0.5, 2.0, 0.0]]), np.array([2.0, 0.0, 0.25])
    found = ratio(part, whole)
    np.testing.assert_array_equal(found, [[0.5, np.nan, 12.0], [0.25, np.nan, 0.0]])
    np.testing.assert_array_equal(ratio(np.array([1, 2]), np.array([4, 0])), [0.25, np.nan])
    np.testing.assert_array_equal(
        ratio(np.array([1.0]), np.array([[-1.0], [np.nan]])), [[np.nan]] * 2
    )


def test_a_label_that_appears_twice_is_named() -> None:
    with pytest.raises(InputError, match="the tasks must differ from each other; 'y' appears"):
        Association.from_counts([[1, 2, 3, 4]], "a", "xyzy")
    with pytest.raises(InputError, match="the attributes must differ from each other; 'b' app"):
        Association.from_counts([[1]] * 5, "cbcba", "x")
    with pytest.raises(InputError, match="at least one of its tasks"):
        Association(np.zeros((2, 0)), np.ones(2), np.zeros(0), ("a", "b"), ())


@pytest.mark.parametrize(
    ("joint", "p_attribute", "p_task", "name"),
    [
        ([[0.5]], [1], [0.5, 0.5], r"`joint` must have shape \(1, 2\), found \(1, 1\)"),
        ([[0.5, 0.5]], [0.5, 0.5], [0.5, 0.5], r"`p_attribute` must have shape \(1,\)"),
        ([[0.5, 0.5]], [1], [1], r"`p_task` must have shape \(2,\), found \(1,\)"),
        ([[0.5, 0.5]], [[1]], [0.5, 0.5], r"`p_attribute` must have shape \(1,\)"),
        ([[-1e-9, 0.5]], [1], [0.5, 0.5], "`joint` must hold probabilities"),
        ([[0.5, 0.5]], [1 + 2e-9], [0.5, 0.5], "`p_attribute` must hold probabilities"),
        ([[0.5, 0.5]], [1], [0.5, np.nan], "`p_task` must hold probabilities"),
        ([[0.5, 0.5]], [1], [np.inf, 0.5], "`p_task` must hold probabilities"),
    ],
)
def test_every_table_has_its_shape_and_holds_probabilities(
    joint: Any, p_attribute: Any, p_task: Any, name: str
) -> None:
    with pytest.raises(InputError, match=name):
        world(joint, p_attribute, p_task)


def test_exactly_nothing_and_all_of_it_with_a_little_rounding_are_probabilities() -> None:
    found = world([[0.0, 1.0]], [1 + 1e-9], [0.0, 1.0])
    assert found.joint.tolist() == [[0, 1]]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-9])
def test_counts_are_finite_and_not_negative(bad: float) -> None:
    with pytest.raises(InputError, match="finite and not negative"):
        Association.from_counts([[1, bad]], "a", "xy")


def test_counts_may_be_fractions_below_one() -> None:
    found = Association.from_counts([[0.25, 0], [0.125, 0.125]], "ab", "xy")
    assert found.joint.tolist() == [[0.5, 0], [0.25, 0.25]]
    assert (found.p_attribute.tolist(), found.p_task.tolist()) == ([0.5, 0.5], [0.75, 0.25])
    with pytest.raises(InputError, match=r"axes \(attribute, task\), found \(1, 1, 2\)"):
        Association.from_counts([[[1, 2]]], "a", "xy")


def test_weights_that_add_up_to_less_than_one_row() -> None:
    found = Association.from_labels(["a", "b"], [[1], [1]], sample_weight=[0.25, 0.25])
    assert found.p_attribute.tolist() == [0.5, 0.5]


class TestFromConditional:
    RATES = ((0.9, 0.5), (0.1, 0.5))

    def test_the_columns_add_up_to_one_but_for_rounding(self) -> None:
        for off in (0, 5e-6, -5e-6):
            found = Association.from_conditional([[0.9 + off, 0.5], [0.1, 0.5]], "ab", "xy")
            assert found.joint[0, 0] == pytest.approx((0.9 + off) / 2)
        for rates in ([[0.901, 0.5], [0.1, 0.5]], [[0.9, 0.1], [0.5, 0.5]], [1.0], [[[1.0]]]):
            with pytest.raises(InputError, match=r"must be \(A, T\) with columns that add up to 1"):
                Association.from_conditional(rates, "ab", "xy")

    def test_the_share_of_tasks_may_have_any_positive_sum(self) -> None:
        for p_task, expected in (([0.5, 0.25], [2 / 3, 1 / 3]), ([0, 7], [0, 1])):
            found = Association.from_conditional(self.RATES, "ab", "xy", p_task=p_task)
            np.testing.assert_allclose(found.p_task, expected)
            np.testing.assert_allclose(found.joint, np.array(self.RATES) * expected)
            np.testing.assert_allclose(found.p_attribute, found.joint.sum(axis=1))

    @pytest.mark.parametrize("p_task", [[1], [1, 2, 3], [[1, 2]], [2, -1], [0, 0], [np.nan, 1]])
    def test_any_other_share_is_refused(self, p_task: Any) -> None:
        with pytest.raises(InputError, match="`p_task` must hold 2 numbers that are not negative"):
            Association.from_conditional(self.RATES, "ab", "xy", p_task=p_task)

    def test_by_default_three_tasks_are_equally_likely(self) -> None:
        found = Association.from_conditional([[0.5, 0.5, 1.0], [0.5, 0.5, 0.0]], "ab", "xyz")
        np.testing.assert_allclose(found.p_task, [1 / 3] * 3)
        np.testing.assert_allclose(found.p_attribute, [2 / 3, 1 / 3])

    def test_it_has_no_counts_in_any_order_or_merged(self) -> None:
        found = Association.from_conditional(self.RATES, "ab", "xy")
        assert found.counts is found.reorder("ba", "yx").counts is None
        assert found.merged({"a": "all", "b": "all"}).counts is None


def test_merging_adds_what_an_owner_has() -> None:
    table = Association.from_counts([[1, 2], [3, 4], [5, 5]], "abc", "xy")
    found = table.merged({"a": "q", "b": "p", "c": "q"})
    assert found.attributes == ("q", "p")
    np.testing.assert_allclose(found.joint, [[0.3, 0.35], [0.15, 0.2]])
    np.testing.assert_allclose(found.p_attribute, [0.65, 0.35])
    np.testing.assert_array_equal(found.p_task, table.p_task)
    assert found.counts is not None
    assert found.counts.tolist() == [[6, 7], [3, 4]]


@pytest.mark.parametrize(("attributes", "tasks"), [("ab", "xz"), ("ac", "xy"), ("a", "xy")])
def test_reordering_needs_all_labels_of_both_axes(attributes: str, tasks: str) -> None:
    table = Association.from_counts([[1, 2], [3, 4]], "ab", "xy")
    with pytest.raises(InputError, match="reordering needs the same labels"):
        table.reorder(attributes, tasks)


def test_reordering_moves_the_margins_too() -> None:
    found = Association.from_counts([[1, 2], [3, 4]], "ab", "xy").reorder("ba", "xy")
    np.testing.assert_allclose(found.p_attribute, [0.7, 0.3])
    np.testing.assert_allclose(found.p_task, [0.4, 0.6])
    np.testing.assert_allclose(found.task_given_attribute, [[3 / 7, 4 / 7], [1 / 3, 2 / 3]])
    np.testing.assert_allclose(found.attribute_given_task, [[3 / 4, 4 / 6], [1 / 4, 2 / 6]])
