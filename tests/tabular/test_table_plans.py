"""How a table is counted: kinds of rows or sums, in bins, by cluster; which bits a sum keeps."""

from __future__ import annotations

from typing import Any

import duckdb
import pandas as pd
import pytest

import lmprobe
from lmprobe.errors import DataFileError
from lmprobe.io.table_source import TableSource
from lmprobe.tabular import engine
from lmprobe.tabular.columns import Columns, Layout
from lmprobe.tabular.engine import Plan, _many_kinds, count_lines

PLAIN = Layout(Columns(("sex",), ("t",), (), ("p",)), binary=True)
WEIGHED = Layout(Columns(("sex",), ("t",), (), ("p",), (), "w"), binary=True)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"sex": ["f", "f", "m"], "t": [1, 0, 1], "p": [0.5, 0.25, 1.0], **columns})


def lines(table: pd.DataFrame, layout: Layout = PLAIN, **choices: Any) -> pd.DataFrame:
    with TableSource(table) as source:
        return count_lines(source, layout, **choices).frame


@pytest.mark.parametrize(
    ("rows", "kinds", "many"),
    [(100_001, 10_001, True), (100_001, 10_000, False), (100_000, 100_000, False)],
)
def test_a_tenth_of_the_first_rows_may_differ(rows: int, kinds: int, many: bool) -> None:
    values = [number % kinds / kinds for number in range(rows)]
    with TableSource(pd.DataFrame({"sex": "f", "t": 1, "p": values})) as source:
        assert _many_kinds(source, PLAIN) is many


def test_as_many_kinds_as_are_allowed_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATTERNS", 3)
    with TableSource(frame()) as source:
        assert not count_lines(source, PLAIN).added
        assert count_lines(source, PLAIN, binned=True).added
    four = pd.concat([frame(), frame(p=[0.125, 0.25, 1.0])])
    with TableSource(four) as source:
        assert count_lines(source, PLAIN).added
        assert count_lines(source, PLAIN, units=False).added


def test_kinds_of_rows_are_counted_by_hand() -> None:
    twice = pd.concat([frame(w=[0.5, 0.0, 2.0])] * 2)
    assert lines(twice).to_dict("list") == {
        "a0": ["f", "f", "m"],
        "t0": [0, 1, 1],
        "p0": [0.25, 0.5, 1.0],
        "n": [2, 2, 2],
        "weight": [1.0, 1.0, 1.0],
    }
    assert lines(twice, WEIGHED)["weight"].tolist() == [0.0, 0.5, 2.0]


def test_sums_are_made_by_group_or_by_cluster() -> None:
    found = lines(frame(w=[0.5, 4.0, 2.0]), WEIGHED, units=False)
    assert found.to_dict("list") == {
        "a0": ["f", "m"],
        "n": [2, 1],
        "weight": [4.5, 2.0],
        "t0": [0.5, 2.0],
        "p0": [1.25, 2.0],
    }
    assert lines(frame(), units=False)[["weight", "t0", "p0"]].to_numpy().tolist() == [
        [2.0, 1.0, 0.75],
        [1.0, 1.0, 1.0],
    ]
    clusters = Layout(Columns(("sex",), ("t",), (), ("p",), (), None, "who"), binary=True)
    found = lines(frame(who=["x", "y", "x"]), clusters)
    assert found[["a0", "unit", "weight"]].to_numpy().tolist() == [
        ["f", "x", 1.0],
        ["f", "y", 1.0],
        ["m", "x", 1.0],
    ]
    assert lines(frame(who=["x", "y", "x"]), clusters, units=False).columns.tolist() == [
        *("a0", "n", "weight", "t0", "p0"),
    ]


def test_scores_are_cut_in_sums_as_well() -> None:
    columns = Columns(("sex",), ("t",), score=("p",))
    layout = Layout(columns, binary=True, thresholds=(0.5,))
    assert lines(frame(), layout, units=False)["p0"].tolist() == [1.0, 1.0]
    assert lines(frame(), layout)["p0"].tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        lines(frame(), Layout(columns, binary=True))


def test_a_sum_keeps_52_bits_of_a_fraction() -> None:
    """So it is the same in any order; a fraction of less than half a bit adds nothing."""
    bit = 2.0**-52
    found = lines(frame(p=[0.6 * bit, 0.3 * bit, 0.3 * bit]), units=False)
    assert found["p0"].tolist() == [bit, 0.0]


def test_a_sum_keeps_48_bits_below_the_largest_weight() -> None:
    """The largest weight lies below 2, which leaves 47 behind the point."""
    bit = 2.0**-47
    weights = [1.0, 0.6 * bit, 0.3 * bit]
    assert lines(frame(w=weights), WEIGHED, units=False)["weight"].tolist() == [1 + bit, 0.0]
    more = lines(frame(w=[2.0, 0.6 * bit, 1.2 * bit]), WEIGHED, units=False)
    assert more["weight"].tolist() == [2.0, 2 * bit]


def test_very_small_weights_are_added_up() -> None:
    """Below 2**-975 the largest power of two that a float can hold is the scale."""
    tiny = 2.0**-990
    found = lines(frame(w=[tiny, 2 * tiny, 4 * tiny]), WEIGHED, units=False)
    assert found["weight"].tolist() == [3 * tiny, 4 * tiny]


def test_the_first_weights_decide_and_all_where_one_does_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "PATTERNS", 2)
    plans: list[Plan] = []

    def run(source: TableSource, layout: Layout, plan: Plan) -> pd.DataFrame:
        plans.append(plan)
        if len(plans) == 1:
            raise duckdb.ConversionException("a weight does not fit")
        return plan.run(source, layout)

    table = frame(w=[1.0, 0.5, 1000.0])
    found = lines(table, WEIGHED, units=False, run=run)
    # 1 lies below 2**1, and 1000 below 2**10.
    assert [plan.bits for plan in plans] == [47, 38]
    assert found["weight"].tolist() == [1.5, 1000.0]


def test_a_plan_adds_everything_up_unless_told_otherwise() -> None:
    assert Plan() == Plan(unit=None, added=True, bits=0)
    assert Plan().of_file(3) == Plan()
    binned = Plan(f"hash({engine.FILE} * 7)").of_file(3)
    assert binned.unit == "hash(3 * 7)"


def test_very_many_clusters_share_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATTERNS", 3)
    for names, unit in ((["x", "y", "z"], '"who"'), (["x", "y", "z", "x2"], "CASE WHEN")):
        with TableSource(pd.DataFrame({"who": names})) as source:
            assert engine._cluster_unit(source, "who").startswith(unit)


WRONG: dict[str, Any] = {
    "far above one": {"p": [0.5, 0.5, 1e300]},
    "just above one": {"p": [0.5, 0.5, 1.5]},
    "below zero": {"p": [0.5, -0.5, 0.5]},
    "nothing": {"p": [0.5, None, 0.5]},
    "infinite weight": {"w": [1.0, 0.5, float("inf")]},
    "negative weight": {"w": [1.0, -0.5, 0.5]},
    "no weight": {"w": [1.0, None, 0.5]},
    "no group": {"sex": ["f", None, "m"]},
}


@pytest.mark.parametrize("way", [{"interval": None}, {"cluster": "who"}, {}])
@pytest.mark.parametrize("cells", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_cell_is_named_however_rows_are_counted(
    way: dict[str, Any], cells: dict[str, Any]
) -> None:
    table = frame(**{"w": 1.0, "who": ["x", "y", "x"], **cells})
    ((column, values),) = cells.items()
    row = next(n for n, one in enumerate(values, start=1) if one not in (0.5, 1.0, "f"))
    with pytest.raises(DataFileError, match=f"{column}.* row {row}"):
        lmprobe.amplify(table, attribute="sex", task="t", task_prediction="p", weight="w", **way)


@pytest.mark.parametrize("way", [{"interval": None}, {"cluster": "p"}, {}])
def test_a_table_without_rows_is_refused(way: dict[str, Any]) -> None:
    with pytest.raises(DataFileError, match="no row below the column names"):
        lmprobe.amplify(frame()[:0], attribute="sex", task="t", task_prediction="p", **way)
