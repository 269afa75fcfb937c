"""The tables of an amplification: which columns, which cells under them, which pairs."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.metrics.thresholds import Threshold
from lmprobe.results import Table
from lmprobe.tabular.other_metrics import MetricValue
from lmprobe.tabular.tables import pair_table
from tests.made_up_amplification import (
    A_TO_T,
    T_TO_A,
    made_up_amplification,
    made_up_curve,
    made_up_row,
)


def headings(table: Table) -> list[str]:
    return [column.heading for column in table.columns]


def dispensable(table: Table) -> list[str]:
    """The columns that a narrow terminal may leave out."""
    return [column.heading for column in table.columns if not column.essential]


def test_one_run_without_a_correction() -> None:
    row = made_up_row([[0.2, -0.1], [np.nan, 0.3]])
    (verdicts, pairs) = made_up_amplification(row).tables()
    assert headings(verdicts) == [
        *("direction", "value", "90% interval", "verdict", "mean size", "undefined"),
    ]
    assert dispensable(verdicts) == ["mean size", "undefined"]
    assert dispensable(pairs) == ["lean"]
    estimate = row.estimate
    assert verdicts.rows == (
        (A_TO_T, row.value, estimate.interval, estimate.verdict, row.absolute, "1 of 4"),
    )
    assert row.value == pytest.approx(0.4 / 3)
    assert row.absolute == pytest.approx(0.6 / 3)


def test_two_runs_with_a_correction() -> None:
    row = made_up_row([[0.2, -0.1]], [[0.4, 0.1]], corrected=[0.5, None])
    other = made_up_row([[0.1, 0.1]], [[0.2, 0.2]], direction=T_TO_A)
    verdicts, runs, *_ = made_up_amplification(row, other).tables()
    assert headings(verdicts) == [
        *("direction", "value", "corrected", "90% interval over rows", "verdict", "over runs"),
        *("verdict over runs", "mean size", "undefined"),
    ]
    assert row.over_runs is not None
    assert other.over_runs is not None
    assert [line[:3] for line in verdicts.rows] == [
        (A_TO_T, row.value, row.estimate.corrected),
        (T_TO_A, other.value, None),
    ]
    assert verdicts.rows[0][3:7] == (
        row.estimate.interval,
        row.estimate.verdict,
        row.over_runs.interval,
        row.over_runs.verdict,
    )
    assert headings(runs) == ["direction", "run", "value", "corrected", "interval over rows"]
    assert runs.rows[1] == (A_TO_T, "run 2", pytest.approx(0.25), None, row.runs[1].interval)
    assert [line[3] for line in runs.rows] == [0.5, None, None, None]


def test_runs_without_a_correction_have_no_column_of_it() -> None:
    result = made_up_amplification(made_up_row([[0.2]], [[0.4]]))
    assert headings(result.table("runs")) == ["direction", "run", "value", "interval over rows"]
    assert [line[1:3] for line in result.table("runs").rows] == [
        ("run 1", pytest.approx(0.2)),
        ("run 2", pytest.approx(0.4)),
    ]


def test_which_tables_there_are() -> None:
    row = made_up_row([[0.2]])
    cut = ("t", Threshold(0.5, 0.25, 0.3, 0.01))
    metric = MetricValue("mals", "undirected", 0.5)

    def names(**more: object) -> list[str]:
        return [table.name for table in made_up_amplification(row, **more).tables()]

    assert names() == ["amplification", f"pairs_{A_TO_T.slug}"]
    assert names(thresholds=(cut,))[1:2] == ["thresholds"]
    assert names(metrics=(metric,))[1:2] == ["metrics"]
    result = made_up_amplification(row, thresholds=(cut,))
    assert result.table("thresholds").rows == (("t", 0.5, 0.3, 0.25),)
    curved = made_up_amplification(row, thresholds=(cut,), curves=(made_up_curve("t", [0, 1, 2]),))
    assert curved.table("thresholds").rows == (("t", pytest.approx(1.0), 0.0, 2.0, 0.0),)


def test_pairs_are_listed_from_the_one_that_amplifies_most() -> None:
    table = pair_table(made_up_row([[0.2, -0.1], [np.nan, 0.3]]))
    assert [line[:2] for line in table.rows] == [("g1", "t1"), ("g0", "t0"), ("g0", "t1")]
    # Predicted, base rate, lean, amplification.
    assert table.rows[1][2:] == pytest.approx((0.45, 0.25, 1.0, 0.2))
    assert table.title == "attribute->task: every pair"


def test_pairs_of_runs_are_averaged() -> None:
    table = pair_table(made_up_row([[0.2, -0.1]], [[0.4, 0.0]]))
    assert [line[5] for line in table.rows] == pytest.approx([0.3, -0.05])
    assert [line[2] for line in table.rows] == pytest.approx([0.55, 0.2])


@pytest.mark.parametrize(("count", "shown"), [(10, 10), (11, 10), (13, 10)])
def test_a_terminal_shows_five_pairs_of_either_end(count: int, shown: int) -> None:
    values = [[number / 100 for number in range(count)]]
    row = made_up_row(values)
    *_, table = made_up_amplification(row).tables()
    found = [line[1] for line in table.rows]
    falling = [f"t{number}" for number in reversed(range(count))]
    assert found == (falling if count == 10 else falling[:5] + falling[-5:])
    assert len(found) == shown
    said = "every pair" if count == 10 else "the 5 pairs that amplify most, and least"
    assert table.title == f"attribute->task: {said}"
    assert len(pair_table(row).rows) == count
