"""What each form of labels is taken for: fractions, 0/1 columns, categories that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.core.labels import (
    as_array,
    cross,
    indicators,
    is_fraction,
    is_frame,
    is_unit_column,
)
from lmprobe.errors import InputError


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ([0, 1], True),
        ([0.0, 0.5, 1.0], True),
        ([True, False], True),
        (np.array([0, 1], dtype=np.uint8), True),
        ([[0], [1]], True),
        (pd.DataFrame({"a": [0.5, 1]}), True),
        ([1], True),
        ([0, 1, 2], False),
        ([-0.001, 1], False),
        ([0, 1.001], False),
        ([[0, 1], [1, 0]], False),
        ([[0, 1]], False),
        ([[[0]]], False),
        (0.5, False),
        ([], False),
        (np.zeros((0, 1)), False),
        (["0", "1"], False),
        ([float("nan"), 1], False),
    ],
)
def test_one_column_that_can_be_present_or_not(form: Any, expected: bool) -> None:
    assert is_unit_column(form) == expected


def test_a_fraction_is_a_number_that_is_not_whole() -> None:
    assert is_fraction(np.array([0.0, 0.5]))
    assert not is_fraction(np.array([0.0, 1.0, 2.0]))
    assert not is_fraction(np.array([0, 1]))
    assert not is_fraction(np.array(["0.5"]))


def test_only_a_data_frame_is_a_frame() -> None:
    assert is_frame(pd.DataFrame({"a": [1]}))
    assert not is_frame(pd.Series([1]))
    assert not is_frame([[1]])


def test_before_pandas_is_loaded_nothing_is_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "pandas")
    assert is_frame([[1]]) is False


def test_words_of_a_list_keep_their_missing_values() -> None:
    for form in (["a", float("nan")], ("a", float("nan"))):
        assert as_array(form).dtype == object
    assert as_array(np.array(["a", "b"])).dtype.kind == "U"
    assert as_array([0, 1]).dtype.kind == "i"


class TestKnownNames:
    def test_they_fix_the_columns_and_their_order(self) -> None:
        found = indicators(["b", "a"], role="x", names=("c", "b", "a"))
        assert found.names == ("c", "b", "a")
        assert found.values.tolist() == [[0, 1, 0], [0, 0, 1]]

    def test_they_come_before_declared_categories(self) -> None:
        column = pd.Series(pd.Categorical(["b", "a"], categories=["b", "a", "z"]))
        found = indicators(column, role="x", names=("a", "b"))
        assert found.names == ("a", "b")
        assert found.values.tolist() == [[0, 1], [1, 0]]

    def test_fractions_are_shared_between_0_and_1_in_any_order(self) -> None:
        found = indicators([0.25, 1.0], role="x", names=("0", "1"))
        assert found.values.tolist() == [[0.75, 0.25], [0, 1]]
        found = indicators([0.25, 1.0], role="x", names=("1", "0"))
        assert (found.names, found.values.tolist()) == (("1", "0"), [[0.25, 0.75], [1, 0]])

    def test_fractions_of_other_names_are_refused(self) -> None:
        for names in (("a", "b"), ("0", "1", "2"), None):
            with pytest.raises(InputError, match="one column of fractions"):
                indicators([0.25, 1.0], role="x", names=names)
        with pytest.raises(InputError, match=r"must lie in \[0, 1\]: found 1.5 to 1.5 in row 1"):
            indicators([0.25, 1.5], role="x", names=("0", "1"))

    def test_whole_numbers_are_categories_of_0_and_1(self) -> None:
        found = indicators([1.0, 0.0], role="x", names=("0", "1"))
        assert found.values.tolist() == [[0, 1], [1, 0]]

    def test_they_name_the_columns_of_an_array(self) -> None:
        assert indicators(np.eye(2), role="x", names=("a", "b")).names == ("a", "b")
        assert indicators(np.eye(3), role="x").names == ("0", "1", "2")


class TestBinary:
    def test_one_column_of_numbers_stays_one(self) -> None:
        for form in ([1, 0], [True, False], [0.5, 0.0]):
            found = indicators(form, role="x", binary=True)
            assert (found.names, found.values.tolist()) == (("1",), [[form[0]], [form[1]]])

    def test_words_are_categories_all_the_same(self) -> None:
        assert indicators(["b", "a"], role="x", binary=True).names == ("a", "b")

    def test_a_number_beyond_one_is_refused(self) -> None:
        with pytest.raises(InputError, match="found 2 to 2 in row 1"):
            indicators([1, 2], role="x", binary=True)


def test_numbers_are_in_the_order_of_numbers_and_words_in_that_of_words() -> None:
    for form in ([10, 2, 10], [10.0, 2.0, 10.0]):
        assert indicators(form, role="x").names == ("2", "10")
    assert indicators(["10", "2"], role="x").names == ("10", "2")


def test_objects_that_read_alike_are_one_category() -> None:
    found = indicators(pd.Series([1, "1", "a"], dtype=object), role="x")
    assert (found.names, found.values.tolist()) == (("1", "a"), [[1, 0], [1, 0], [0, 1]])


def test_a_single_row_is_enough() -> None:
    assert indicators(["a"], role="x").values.tolist() == [[1]]
    assert indicators([[0.5, 1.0]], role="x").values.tolist() == [[0.5, 1.0]]


def test_a_frame_of_objects_holds_numbers_if_it_can() -> None:
    frame = pd.DataFrame({"a": [1, 0], "b": [0.5, True]}, dtype=object)
    assert indicators(frame, role="x").values.tolist() == [[1, 0.5], [0, 1]]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0], [np.inf, 0.0]]), "NaN or infinity, first in row 2"),
        (np.array([[0, 1], [1, 0], [0, -1]]), "found -1 to 0 in row 2"),
        (np.array([[0.5, 1], [1.5, 0], [2.5, 0]]), "found 0.0 to 1.5 in row 1"),
        (0.5, "one or two dimensions, found 0"),
        ([None, "a", None], "2 missing or infinite values, first in row 0"),
    ],
)
def test_the_first_row_that_is_wrong_is_named(form: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        indicators(form, role="x")


class TestCrossing:
    def test_one_column_is_itself(self) -> None:
        assert cross({"sex": ["f", "m & f"]}).tolist() == ["f", "m & f"]

    def test_only_columns_can_be_crossed(self) -> None:
        for columns in (
            {"a": [["x", "y"]], "b": [["x", "y"]]},
            {"a": [["x", "y"]]},
            {"a": ["x", "y"], "b": [["x", "y"]]},
            {},
        ):
            with pytest.raises(InputError, match="columns to cross must be columns of the same"):
                cross(columns)

    def test_the_sign_that_joins_is_found_at_the_beginning_too(self) -> None:
        with pytest.raises(InputError, match='a and c hold " & "'):
            cross({"a": [" & x"], "b": ["z"], "c": [" & y"]})
