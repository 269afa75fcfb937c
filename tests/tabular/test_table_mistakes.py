"""What is wrong with a table is said of the first row in which it is."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from lmprobe.errors import DataFileError
from lmprobe.io.table_source import TableSource
from lmprobe.tabular.columns import Columns, Layout
from lmprobe.tabular.mistakes import refuse_mistakes


def refused(columns: Columns, **cells: Any) -> str:
    """Return what is said of a table whose other cells are in order."""
    whole = {"sex": "f", "t": [0, 1, 0], "u": [1, 1, 0], "p": [0.5, 0.0, 1.0], "w": 1.0, **cells}
    thresholds = (0.5,) * len(columns.score)
    with (
        TableSource(pd.DataFrame(whole)) as source,
        pytest.raises(DataFileError) as problem,
    ):
        refuse_mistakes(source, Layout(columns, binary=True, thresholds=thresholds))
    return str(problem.value)


ONE = Columns(("sex",), ("t",), (), ("p",))
WEIGHED = Columns(("sex",), ("t",), (), ("p",), (), "w")


def test_a_word_among_the_numbers_of_one_task_or_of_several() -> None:
    assert refused(ONE, t=["0", "x", "1"]) == (
        "the table: row 2: 'x' in the column \"t\" is not a number"
    )
    several = Columns(("sex",), ("t", "u"), (), ("p", "p"))
    assert refused(several, u=["0", "1", "x"]).startswith(
        'the table: the column "u" is one with words in it (row 3'
    )


@pytest.mark.parametrize("value", [-0.01, 1.01])
def test_a_number_beyond_0_and_1(value: float) -> None:
    said = refused(ONE, p=[0.5, 0.5, value])
    assert f"`p` must lie in [0, 1]: found {value} in row 3" in said


@pytest.mark.parametrize("value", [-0.5, float("inf")])
def test_a_weight_below_zero_or_without_end(value: float) -> None:
    said = refused(WEIGHED, w=[1.0, value, value])
    assert said.startswith('the table: the weights "w" must be finite numbers')
    assert said.endswith("in row 2")


def test_a_word_among_weights_and_scores() -> None:
    assert "row 1: 'x' in the column \"w\" is not a number" in refused(WEIGHED, w=["x", "1", "2"])
    scored = Columns(("sex",), ("t",), score=("p",))
    assert "row 3: 'x' in the column \"p\" is not a number" in refused(scored, p=["0", "1", "x"])


def test_a_table_without_a_mistake_has_no_rows() -> None:
    for columns in (ONE, WEIGHED):
        assert refused(columns, sex=["f", "m", "f"]) == (
            "the table: there is no row below the column names"
        )
