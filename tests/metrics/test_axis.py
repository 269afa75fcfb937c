"""Labels, predictions and train labels of one axis: how each form is matched with the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.labels import read_axis

ROWS = [0, 1, 1]
EYE = np.array([[1, 0], [0, 1], [0, 1]])
"""The same as indicator columns."""
NAMED = pd.DataFrame(EYE, columns=["woman", "man"])
LONE = pd.DataFrame({"woman": [1, 0, 1]})


def test_a_task_is_present_or_not_and_an_attribute_is_two_groups() -> None:
    task = read_axis("task", ROWS, [1, 1, 0], [0, 0, 1, 1])
    assert task.names == ("1",)
    assert task.truth.values.tolist() == [[0], [1], [1]]
    assert task.predicted is not None
    assert task.predicted.values.tolist() == [[1], [1], [0]]
    assert task.train is not None
    assert task.train.values.tolist() == [[0], [0], [1], [1]]
    attribute = read_axis("attribute", ROWS)
    assert attribute.names == ("0", "1")
    assert attribute.truth.values.tolist() == EYE.tolist()
    assert attribute.predicted is attribute.train is None


@pytest.mark.parametrize(
    ("axis", "labels", "predictions", "names", "values"),
    [
        # The probability of a task stays as it is, that of a group is shared between both.
        ("task", ROWS, [0.25, 1, 0.5], "1", [[0.25], [1], [0.5]]),
        ("attribute", ROWS, [0.25, 1, 0.5], "01", [[0.75, 0.25], [0, 1], [0.5, 0.5]]),
        # Classes are no task that is present or not; a group may be predicted alone.
        ("task", ROWS, [0, 1, 2], "012", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        ("attribute", ROWS, [2, 1, 0], "012", [[0, 0, 1], [0, 1, 0], [1, 0, 0]]),
        ("attribute", [1, 1], [0, 1], "10", [[0, 1], [1, 0]]),
        # A table of two columns is answered by the number of one.
        ("task", EYE, [1, 0, 1], "01", [[0, 1], [1, 0], [0, 1]]),
        # Arrays are matched by place, frames by name, and by place where labels have no names.
        ("attribute", NAMED, EYE[:, ::-1], ("woman", "man"), EYE[:, ::-1].tolist()),
        ("attribute", NAMED, NAMED[["man", "woman"]], ("woman", "man"), EYE.tolist()),
        ("task", EYE, pd.DataFrame(EYE[:, ::-1], columns=["p", "q"]), "01", EYE[:, ::-1].tolist()),
        ("task", EYE, pd.DataFrame(EYE[:, ::-1], columns=["1", "0"]), "01", EYE.tolist()),
        # One indicator column is answered by one column.
        ("attribute", LONE, [0.5, 0, 1], ("woman",), [[0.5], [0], [1]]),
        ("attribute", LONE, np.array([[0.5], [0], [1]]), ("woman",), [[0.5], [0], [1]]),
        # Words need one in common; a single word may be another.
        ("task", ["a", "b"], ["b", "c"], "abc", [[0, 1, 0], [0, 0, 1]]),
        ("attribute", ["a", "a"], ["b", "c"], "abc", [[0, 1, 0], [0, 0, 1]]),
        ("attribute", ["a", "b"], ["c", "c"], "abc", [[0, 0, 1], [0, 0, 1]]),
    ],
)
def test_how_predictions_are_matched(
    axis: Any, labels: Any, predictions: Any, names: Any, values: Any
) -> None:
    read = read_axis(axis, labels, predictions)
    assert read.names == tuple(names)
    assert read.predicted is not None
    assert read.predicted.values.tolist() == values
    assert read.truth.values.shape == read.predicted.values.shape


def test_labels_only_predicted_or_only_in_the_train_set_come_last() -> None:
    axis = read_axis("attribute", ["b", "c"], ["b", "d"], ["a", "c", "c"])
    assert axis.names == ("b", "c", "d", "a")
    assert axis.truth.values[:, 2:].sum() == 0
    assert axis.train is not None
    assert axis.train.values.tolist() == [[0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]]
    lone = read_axis("attribute", LONE, train=[1, 0])
    assert lone.train is not None
    assert (lone.names, lone.train.values.tolist()) == (("woman",), [[1], [0]])


@pytest.mark.parametrize(
    ("labels", "predictions", "train", "message"),
    [
        (LONE, pd.DataFrame({"p": [1, 0, 1]}), None, "called p and those of the labels woman"),
        (NAMED, NAMED.add_prefix("p_"), None, "called p_woman, p_man and those of the labels wom"),
        (LONE, EYE, None, "`attribute_predictions` has 2 columns, the labels have 1"),
        (EYE, np.zeros((3, 3)), None, "has 3 columns, the labels have 2: 0, 1"),
        (LONE, None, ["a", "b"], "`train_attribute_labels` must be one column of 0/1 or prob"),
        (["a", "b"], ["c", "d"], None, "holds c, d, none of which is among the labels a, b"),
        (ROWS, [0, 1], None, "`attribute_predictions` has 2 rows, `attribute_labels` has 3"),
        (EYE * 2, EYE, EYE, r"`attribute_labels` must lie in \[0, 1\]"),
        (EYE, EYE * 2, EYE, r"`attribute_predictions` must lie in \[0, 1\]"),
        (EYE, EYE, EYE * 2, r"`train_attribute_labels` must lie in \[0, 1\]"),
    ],
)
def test_a_mistake_is_found_where_it_is(
    labels: Any, predictions: Any, train: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_axis("attribute", labels, predictions, train)
