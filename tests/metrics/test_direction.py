"""The two directions: their names, what each is given and predicts, and the axis of each."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.templates.template import is_unspaced

T_TO_A, A_TO_T = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK


def test_a_direction_is_found_by_its_name_and_its_abbreviation() -> None:
    for name in ("task->attribute", "T->A", " t->a", "Task->Attribute"):
        assert Direction.parse(name) is T_TO_A
    for name in ("attribute->task", "A->T", "a->t ", "ATTRIBUTE->TASK"):
        assert Direction.parse(name) is A_TO_T
    with pytest.raises(InputError, match=r'no direction "A->B".*A->T'):
        Direction.parse("A->B")


def test_what_is_given_and_what_is_predicted() -> None:
    assert (T_TO_A.given, T_TO_A.predicted, T_TO_A.short) == ("task", "attribute", "T->A")
    assert (A_TO_T.given, A_TO_T.predicted, A_TO_T.short) == ("attribute", "task", "A->T")
    assert [direction.slug for direction in DIRECTIONS] == [
        "task_to_attribute",
        "attribute_to_task",
    ]
    assert T_TO_A.question == "given the task, the model predicts the group"
    assert A_TO_T.question == "given the group, the model predicts the task"


def test_predictions_add_up_to_one_over_the_axis_with_any_axes_before() -> None:
    world = Association.from_counts([[3, 1, 2], [1, 4, 4]], "ab", "xyz")
    for direction in DIRECTIONS:
        for shape in ((2, 3), (4, 5, 2, 3)):
            table = np.broadcast_to(world.conditional(direction), shape)
            np.testing.assert_allclose(table.sum(axis=direction.axis), 1)


def test_scripts_without_spaces_between_words() -> None:
    assert all(map(is_unspaced, "是のカ々ｶไລမខ𠀀"))
    assert not any(map(is_unspaced, "aé한ा9 -. שع"))
