"""Labels, predictions and train labels of one axis: how each form is matched with the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.axis import Axis, read_axis
from lmprobe.errors import InputError

ROWS = [0, 1, 1]
"""One label per row."""
EYE = np.array([[1, 0], [0, 1], [0, 1]])
"""The same as indicator columns."""


def predicted(axis: Axis) -> list[list[float]]:
    assert axis.predicted is not None
    return axis.predicted.values.tolist()


class TestOneColumnOfNumbers:
    def test_a_task_is_present_or_not_and_an_attribute_is_two_groups(self) -> None:
        task = read_axis("task", ROWS, [1, 1, 0], [0, 0, 1, 1])
        assert task.names == ("1",)
        assert task.truth.values.tolist() == [[0], [1], [1]]
        assert predicted(task) == [[1], [1], [0]]
        assert task.train is not None
        assert task.train.values.tolist() == [[0], [0], [1], [1]]
        attribute = read_axis("attribute", ROWS, [1, 1, 0])
        assert attribute.names == ("0", "1")
        assert attribute.truth.values.tolist() == EYE.tolist()
        assert predicted(attribute) == [[0, 1], [0, 1], [1, 0]]
        assert attribute.train is None

    def test_the_probability_of_a_task_stays_as_it_is(self) -> None:
        assert predicted(read_axis("task", ROWS, [0.25, 1, 0.5])) == [[0.25], [1], [0.5]]

    def test_the_probability_of_a_group_is_shared_between_both(self) -> None:
        axis = read_axis("attribute", ROWS, [0.25, 1, 0.5])
        assert axis.names == ("0", "1")
        assert predicted(axis) == [[0.75, 0.25], [0, 1], [0.5, 0.5]]

    @pytest.mark.parametrize("other", ["predictions", "train"])
    def test_classes_are_no_task_that_is_present_or_not(self, other: str) -> None:
        axis = read_axis("task", ROWS, **{other: [0, 1, 2]})
        assert axis.names == ("0", "1", "2")
        assert axis.truth.values.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]

    def test_a_group_that_is_only_predicted_is_a_group_too(self) -> None:
        axis = read_axis("attribute", ROWS, [2, 1, 0])
        assert axis.names == ("0", "1", "2")
        assert predicted(axis) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]

    def test_a_table_of_two_columns_is_answered_by_the_number_of_one(self) -> None:
        for axis in ("attribute", "task"):
            found = read_axis(axis, EYE, [1, 0, 1])  # type: ignore[arg-type]
            assert found.names == ("0", "1")
            assert predicted(found) == [[0, 1], [1, 0], [0, 1]]


class TestOneIndicatorColumn:
    LABELS = pd.DataFrame({"woman": [1, 0, 1]})

    def test_an_array_of_one_column_answers_it(self) -> None:
        axis = read_axis("attribute", self.LABELS, np.array([[0.5], [0], [1]]))
        assert axis.names == ("woman",)
        assert predicted(axis) == [[0.5], [0], [1]]

    def test_so_do_train_labels(self) -> None:
        axis = read_axis("attribute", self.LABELS, train=[1, 0])
        assert axis.train is not None
        assert (axis.names, axis.train.values.tolist()) == (("woman",), [[1], [0]])

    def test_a_frame_with_another_name_does_not(self) -> None:
        with pytest.raises(InputError, match="are called p_woman and those of the labels woman"):
            read_axis("attribute", self.LABELS, pd.DataFrame({"p_woman": [1, 0, 1]}))

    def test_a_task_of_two_columns_does_not(self) -> None:
        with pytest.raises(InputError, match="`task_predictions` has 2 columns, the labels have 1"):
            read_axis("task", self.LABELS, EYE)

    def test_words_do_not(self) -> None:
        message = "`train_task_labels` must be one column of 0/1 or probabilities"
        with pytest.raises(InputError, match=message):
            read_axis("task", self.LABELS, train=["woman", "man"])


class TestWords:
    def test_other_words_alone_are_an_error(self) -> None:
        message = "`task_predictions` holds c, d, none of which is among the labels a, b"
        with pytest.raises(InputError, match=message):
            read_axis("task", ["a", "b"], ["c", "d"])
        many = [f"w{number}" for number in range(7)]
        with pytest.raises(InputError, match=r"holds w0, w1, w2, w3, w4, none .* labels a, b, c$"):
            read_axis("attribute", list("abcabca"), many)

    def test_some_words_in_common_are_enough(self) -> None:
        assert read_axis("task", ["a", "b"], ["b", "c"]).names == ("a", "b", "c")

    @pytest.mark.parametrize(
        ("labels", "predictions"), [("aa", "bb"), ("aa", "bc"), ("ab", "cc"), ("abc", "ddd")]
    )
    def test_a_single_word_may_be_another_one(self, labels: str, predictions: str) -> None:
        axis = read_axis("attribute", list(labels), list(predictions))
        assert axis.names == tuple(dict.fromkeys(labels + predictions))


class TestTables:
    def test_arrays_are_matched_by_place_and_frames_by_name(self) -> None:
        labels = pd.DataFrame(EYE, columns=["woman", "man"])
        assert predicted(read_axis("attribute", labels, EYE[:, ::-1])) == EYE[:, ::-1].tolist()
        turned = labels[["man", "woman"]]
        assert predicted(read_axis("attribute", labels, turned)) == EYE.tolist()

    def test_an_array_of_labels_gets_frames_by_place(self) -> None:
        frame = pd.DataFrame(EYE[:, ::-1], columns=["p", "q"])
        axis = read_axis("task", EYE, frame)
        assert (axis.names, predicted(axis)) == (("0", "1"), EYE[:, ::-1].tolist())

    def test_numbers_as_names_are_matched_by_name(self) -> None:
        axis = read_axis("task", EYE, pd.DataFrame(EYE[:, ::-1], columns=["1", "0"]))
        assert predicted(axis) == EYE.tolist()

    def test_the_number_of_columns_must_agree(self) -> None:
        message = "`attribute_predictions` has 3 columns, the labels have 2: 0, 1"
        with pytest.raises(InputError, match=message):
            read_axis("attribute", EYE, np.zeros((3, 3)))

    @pytest.mark.parametrize("predictions", [[0, 1], [[1, 0], [0, 1]], [0, 1, 1, 0]])
    def test_there_are_as_many_predictions_as_labels(self, predictions: Any) -> None:
        rows = len(predictions)
        message = f"`attribute_predictions` has {rows} rows, `attribute_labels` has 3"
        with pytest.raises(InputError, match=message):
            read_axis("attribute", EYE if rows == 2 else ROWS, predictions)

    @pytest.mark.parametrize("place", range(3))
    def test_a_mistake_is_found_where_it_is(self, place: int) -> None:
        role = ("attribute_labels", "attribute_predictions", "train_attribute_labels")[place]
        forms: list[Any] = [EYE, EYE, EYE]
        forms[place] = EYE * 2
        with pytest.raises(InputError, match=rf"`{role}` must lie in \[0, 1\]"):
            read_axis("attribute", *forms)

    def test_a_train_set_has_its_own_number_of_rows(self) -> None:
        axis = read_axis("attribute", EYE, EYE, np.zeros((5, 2)))
        assert axis.train is not None
        assert axis.train.values.shape == (5, 2)
