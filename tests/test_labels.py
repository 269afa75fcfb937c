"""Labels in all their forms, and what is wrong with those that cannot be read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.axis import read_axis
from lmprobe.core.labels import Indicators, cross, indicators
from lmprobe.errors import InputError


@pytest.mark.parametrize(
    "form",
    [
        ["b", "a", "b"],
        ("b", "a", "b"),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], index=[7, 8, 9]),
        pd.Categorical(["b", "a", "b"]),
    ],
)
def test_one_column_of_categories(form: Any) -> None:
    found = indicators(form, role="x")
    assert found.names == ("a", "b")
    assert found.values.tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("form", [[1.0, 0.0], [True, False], pd.Series([1, 0], dtype="Int64")])
def test_whole_numbers_are_named_alike(form: Any) -> None:
    assert indicators(form, role="x").names == ("0", "1")


def test_mixed_objects_are_told_apart_by_how_they_read() -> None:
    assert indicators(pd.Series([1, "a"], dtype=object), role="x").names == ("1", "a")


def test_a_category_that_nobody_has_is_kept() -> None:
    column = pd.Series(pd.Categorical(["a"], categories=["b", "a"]))
    found = indicators(column, role="x")
    assert found.names == ("b", "a")
    assert found.values.tolist() == [[0, 1]]


def test_columns_of_a_frame_keep_their_names() -> None:
    frame = pd.DataFrame({"dog": [1, 0], "cat": [0.5, 1]})
    assert indicators(frame, role="x").names == ("dog", "cat")
    mixed = pd.DataFrame({"dog": [True, False], "cat": pd.array([1, 0], dtype="Int64")})
    assert indicators(mixed, role="x").values.sum() == 2


def test_alignment_fills_with_zeros() -> None:
    found = Indicators(np.array([[1, 2]]), ("a", "b")).aligned(("b", "c", "a"))
    assert found.values.tolist() == [[2, 0, 1]]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "`x` is empty"),
        (np.zeros((0, 2)), "`x` is empty"),
        (np.zeros((2, 0)), "`x` is empty"),
        (np.zeros((1, 1, 1)), "one or two dimensions, found 3"),
        ([[1, 0], [1]], "same length"),
        ([0.5, 0.2], "one column of fractions"),
        (["a", None], "1 missing or infinite values, first in row 1"),
        (["a", float("nan")], "1 missing or infinite values, first in row 1"),
        ([1.0, np.inf], "first in row 1"),
        (np.array([[1.0, np.nan]]), "NaN or infinity, first in row 0"),
        (
            pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
            "NaN or infinity, first in row 1",
        ),
        (np.array([[0, 1], [0, 2]]), r"must lie in \[0, 1\]: found 0 to 2 in row 1"),
        (np.array([[0.0, -0.5]]), r"found -0.5 to 0.0 in row 0"),
        (np.array([["a", "b"]]), "words in it; give one column"),
        (pd.DataFrame({"a": ["x"], "b": [1]}), "words in it; give one column"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), 'the column "a" twice'),
    ],
)
def test_every_mistake_is_one_clear_error(form: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        indicators(form, role="x")


def test_a_category_outside_the_known_ones() -> None:
    with pytest.raises(InputError, match='unknown category "c"; known: a, b'):
        indicators(["a", "c"], role="x", names=("a", "b"))


def test_a_number_of_columns_that_was_not_expected() -> None:
    with pytest.raises(InputError, match="has 2 columns where 1 are expected"):
        indicators(np.zeros((1, 2)), role="x", names=("a",))


def test_frames_are_matched_by_name_and_not_by_place() -> None:
    labels = pd.DataFrame({"woman": [1, 0], "man": [0, 1]})
    axis = read_axis("attribute", labels, labels[["man", "woman"]])
    assert axis.predicted is not None
    assert axis.predicted.values.tolist() == labels.to_numpy().tolist()
    renamed = labels.rename(columns={"woman": "p_woman", "man": "p_man"})
    with pytest.raises(InputError, match="called p_woman, p_man and those of the labels woman"):
        read_axis("attribute", labels, renamed)
    assert read_axis("attribute", labels.to_numpy(), renamed).names == ("0", "1")


def test_labels_only_predicted_or_only_in_the_train_set_come_last() -> None:
    axis = read_axis("attribute", ["b", "c"], ["b", "d"], ["a", "c"])
    assert axis.names == ("b", "c", "d", "a")
    assert axis.truth.values[:, 2:].sum() == 0


def test_an_attribute_of_which_one_value_is_seen_can_be_predicted_otherwise() -> None:
    assert read_axis("attribute", [1, 1], [0, 1]).names == ("1", "0")


def test_one_indicator_column_is_answered_by_one_column() -> None:
    labels = pd.DataFrame({"woman": [1, 0, 1]})
    for form in ([1, 0, 1], [0.5, 0, 1], np.array([True, False, True])):
        axis = read_axis("attribute", labels, form)
        assert axis.names == ("woman",)
        assert axis.predicted is not None
        assert axis.predicted.values[:, 0].tolist() == np.asarray(form).tolist()
    with pytest.raises(InputError, match="`attribute_predictions` must be one column of 0/1"):
        read_axis("attribute", labels, ["woman", "man", "man"])


def test_crossing() -> None:
    frame = pd.DataFrame({"race": ["b", "w"], "sex": ["f", "m"], "old": [1, 0]})
    assert cross(frame).tolist() == ["b & f & 1", "w & m & 0"]
    with pytest.raises(InputError, match=r"same length, found \(1,\), \(2,\)"):
        cross({"race": ["b"], "sex": ["f", "m"]})
    with pytest.raises(InputError, match="`sex` has 1 missing"):
        cross({"race": ["b", "w"], "sex": ["f", None]})


def test_crossing_that_would_make_one_group_of_two() -> None:
    assert len(set(cross({"a": ["x & y", "x"], "b": ["z", "y"]}))) == 2
    with pytest.raises(InputError, match='a and b hold " & ", which joins crossed columns'):
        cross({"a": ["x & y", "x"], "b": ["z", "y & z"]})


@pytest.mark.parametrize(
    "module",
    [
        "core.association",
        "metrics.mals",
        "metrics.thresholds",
        "inference.disparity",
        "probing.result",
    ],
)
def test_the_metric_core_starts_without_pandas(module: str) -> None:
    program = f"import sys, lmprobe.{module}; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False"
