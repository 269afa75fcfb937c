"""Labels in all their forms, and what is wrong with those that cannot be read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.labels import Indicators, cross, indicators, is_unit_column


def categorical(*values: str, categories: str) -> pd.Series:
    return pd.Series(pd.Categorical(values, categories=list(categories)))


@pytest.mark.parametrize(
    "form",
    [
        ["b", "a", "b"],
        ("b", "a", "b"),
        np.array(["b", "a", "b"]),
        np.array(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], index=[7, 8, 9]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Categorical(["b", "a", "b"]),
    ],
)
def test_one_column_of_categories(form: Any) -> None:
    read = indicators(form, role="x")
    assert read.names == ("a", "b")
    assert read.values.tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("form", "options", "names", "values"),
    [
        # Whole numbers are categories, in the order of numbers; words in that of words.
        ([1.0, 0.0], {}, "01", [[0, 1], [1, 0]]),
        ([True, False], {}, "01", [[0, 1], [1, 0]]),
        ([10, 2], {}, ("2", "10"), [[0, 1], [1, 0]]),
        (["10", "2"], {}, ("10", "2"), [[1, 0], [0, 1]]),
        # Objects that read alike are one category; a declared one that nobody has is kept.
        (pd.Series([1, "1", "a"], dtype=object), {}, "1a", [[1, 0], [1, 0], [0, 1]]),
        (categorical("a", categories="ba"), {}, "ba", [[0, 1]]),
        # Tables: columns keep their names or have numbers.
        (pd.DataFrame({"d": [1, 0], "c": [0.5, 1]}), {}, "dc", [[1, 0.5], [0, 1]]),
        (pd.DataFrame({"d": [1, 0], "c": [0.5, True]}, dtype=object), {}, "dc", [[1, 0.5], [0, 1]]),
        ([[0.5, 1.0]], {}, "01", [[0.5, 1.0]]),
        # Known names fix the columns and their order, before declared categories.
        (["b", "a"], {"names": tuple("cba")}, "cba", [[0, 1, 0], [0, 0, 1]]),
        (categorical("b", categories="baz"), {"names": ("a", "b")}, "ab", [[0, 1]]),
        (np.eye(2), {"names": ("a", "b")}, "ab", [[1, 0], [0, 1]]),
        # A fraction of the categories 0 and 1 is shared between them.
        ([0.25, 1.0], {"names": ("0", "1")}, "01", [[0.75, 0.25], [0, 1]]),
        ([0.25, 1.0], {"names": ("1", "0")}, "10", [[0.25, 0.75], [1, 0]]),
        ([1.0, 0.0], {"names": ("0", "1")}, "01", [[0, 1], [1, 0]]),
        # Binary: one column of numbers stays one; words are categories all the same.
        ([0.5, 0.0], {"binary": True}, "1", [[0.5], [0]]),
        ([True, False], {"binary": True}, "1", [[1], [0]]),
        (["b", "a"], {"binary": True}, "ab", [[0, 1], [1, 0]]),
    ],
)
def test_what_each_form_is_read_as(form: Any, options: Any, names: Any, values: Any) -> None:
    read = indicators(form, role="x", **options)
    assert read.names == tuple(names)
    assert read.values.tolist() == values


def test_alignment_fills_with_zeros() -> None:
    read = Indicators(np.array([[1, 2]]), ("a", "b")).aligned(("b", "c", "a"))
    assert read.values.tolist() == [[2, 0, 1]]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "`x` is empty"),
        (np.zeros((0, 2)), "`x` is empty"),
        (np.zeros((2, 0)), "`x` is empty"),
        (0.5, "one or two dimensions, found 0"),
        (np.zeros((1, 1, 1)), "one or two dimensions, found 3"),
        ([[1, 0], [1]], "same length"),
        ([0.5, 0.2], "one column of fractions"),
        ([None, "a", None], "2 missing or infinite values, first in row 0"),
        (["a", float("nan")], "1 missing or infinite values, first in row 1"),
        (("a", float("nan")), "1 missing or infinite values, first in row 1"),
        ([1.0, np.inf], "first in row 1"),
        (np.array([[0.0, 1.0], [1.0, 1.0], [np.inf, 0.0]]), "NaN or infinity, first in row 2"),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), "infinity, first in row 1"),
        (np.array([[0, 1], [1, 0], [0, -1]]), r"must lie in \[0, 1\]: found -1 to 0 in row 2"),
        (np.array([[0.5, 1], [1.5, 0], [2.5, 0]]), "found 0.0 to 1.5 in row 1"),
        (np.array([["a", "b"]]), "words in it; give one column"),
        (pd.DataFrame({"a": ["x"], "b": [1]}), "words in it; give one column"),
        (pd.DataFrame([[1, 0]], columns=["a", "a"]), 'the column "a" twice'),
    ],
)
def test_every_mistake_is_one_clear_error(form: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        indicators(form, role="x")


@pytest.mark.parametrize(
    ("form", "options", "message"),
    [
        (["a", "c"], {"names": ("a", "b")}, 'unknown category "c"; known: a, b'),
        (np.zeros((1, 2)), {"names": ("a",)}, "has 2 columns where 1 are expected"),
        ([0.25, 1.0], {"names": ("0", "1", "2")}, "one column of fractions"),
        ([0.25, 1.5], {"names": ("0", "1")}, r"in \[0, 1\]: found 1.5 to 1.5 in row 1"),
        ([1, 2], {"binary": True}, "found 2 to 2 in row 1"),
    ],
)
def test_mistakes_of_known_names(form: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        indicators(form, role="x", **options)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ([0.0, 0.5, 1.0], True),
        ([True, False], True),
        ([[0], [1]], True),
        ([0, 1, 2], False),
        ([-0.001, 1], False),
        ([[0, 1]], False),
        (0.5, False),
        ([], False),
        (["0", "1"], False),
    ],
)
def test_one_column_that_can_be_present_or_not(form: Any, expected: bool) -> None:
    assert is_unit_column(form) == expected


def test_crossing() -> None:
    frame = pd.DataFrame({"race": ["b", "w"], "sex": ["f", "m"], "old": [1, 0]})
    assert cross(frame).tolist() == ["b & f & 1", "w & m & 0"]
    assert cross({"sex": ["f", "m & f"]}).tolist() == ["f", "m & f"]
    assert len(set(cross({"a": ["x & y", "x"], "b": ["z", "y"]}))) == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"race": ["b"], "sex": ["f", "m"]}, r"same length, found \(1,\), \(2,\)"),
        ({"a": [["x", "y"]], "b": [["x", "y"]]}, "must be columns of the same length"),
        ({}, "must be columns of the same length"),
        ({"race": ["b", "w"], "sex": ["f", None]}, "`sex` has 1 missing"),
        ({"a": [" & x"], "b": ["z"], "c": [" & y"]}, 'a and c hold " & ", which joins crossed'),
        (["a", "b"], "`columns` must be a table or columns by name"),
    ],
)
def test_columns_that_cannot_be_crossed(columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cross(columns)


def test_the_metric_core_starts_without_pandas() -> None:
    modules = ("metrics.association", "metrics.mals", "tabular.disparity", "probing.result")
    names = ", ".join(f"lmprobe.{module}" for module in modules)
    program = f"import sys, {names}; print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
