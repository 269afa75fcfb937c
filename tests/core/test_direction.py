"""The two directions: their names, what each is given and predicts, and the axis of each."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.core.scripts import is_unspaced
from lmprobe.errors import InputError

T_TO_A, A_TO_T = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK


@pytest.mark.parametrize(
    ("direction", "names"),
    [
        (T_TO_A, ["task->attribute", "T->A", " t->a", "Task->Attribute"]),
        (A_TO_T, ["attribute->task", "A->T", "a->t ", "ATTRIBUTE->TASK"]),
    ],
)
def test_a_direction_is_found_by_its_name_and_its_abbreviation(
    direction: Direction, names: list[str]
) -> None:
    assert [Direction.parse(name) for name in names] == [direction] * 4


def test_another_word_is_no_direction() -> None:
    with pytest.raises(InputError, match=r'no direction "A->B".*A->T'):
        Direction.parse("A->B")


def test_what_is_given_and_what_is_predicted() -> None:
    assert (T_TO_A.given, T_TO_A.predicted, T_TO_A.short) == ("task", "attribute", "T->A")
    assert (A_TO_T.given, A_TO_T.predicted, A_TO_T.short) == ("attribute", "task", "A->T")
    assert [one.slug for one in DIRECTIONS] == ["task_to_attribute", "attribute_to_task"]
    assert T_TO_A.question == "given the task, the model predicts the group"
    assert A_TO_T.question == "given the group, the model predicts the task"


def test_predictions_add_up_to_one_over_the_axis_with_any_axes_before() -> None:
    world = Association.from_counts([[3, 1, 2], [1, 4, 4]], "ab", "xyz")
    for direction in DIRECTIONS:
        for shape in ((2, 3), (5, 2, 3), (4, 5, 2, 3)):
            table = np.broadcast_to(world.conditional(direction), shape)
            np.testing.assert_allclose(table.sum(axis=direction.axis), 1)
    assert (T_TO_A.axis, A_TO_T.axis) == (-2, -1)


def test_scripts_without_spaces_between_words() -> None:
    unspaced = "是のカ々ｶไລမខ𠀀"
    assert all(map(is_unspaced, unspaced))
    assert not any(map(is_unspaced, "aé한ा9 -. שع"))
