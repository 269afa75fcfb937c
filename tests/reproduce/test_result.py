"""Reproductions as results: tables, one page of several, JSON and back, what is out of reach."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.errors import LmprobeError
from lmprobe.metrics.direction import Direction
from lmprobe.reproduce.experiment import (
    Reason,
    ReproducedRow,
    Reproduction,
    ReproductionSet,
    Status,
    comparison_table,
    grid_table,
    published,
    texts_as_notes,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.shortcomings import shortcomings
from lmprobe.results import (
    Column,
    ColumnKind,
    Figure,
    HeatMap,
    Interval,
    Series,
    SeriesPlot,
    Table,
    Verdict,
)
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.format import format_cell

GOLDEN = Path(__file__).parents[1] / "golden"
OPEN = Interval(0.1, float("inf"), 0.95, "half")
FIGURE = SeriesPlot(
    name="curve",
    title="A <curve>",
    x_label="x",
    y_label="y",
    series=(Series("a|b", (0.0, 1.0), (1.0, float("nan"))),),
    alternative="it rises",
)


@pytest.fixture
def both() -> ReproductionSet:
    rows = (
        ReproducedRow("a|b", 0.25, 0.3, OPEN, Verdict.AMPLIFIES, {"base": "labor"}),
        ReproducedRow("c", float("nan")),
    )
    first = Reproduction(
        name="one",
        title="First",
        paper="Paper, Table 1",
        rows=rows,
        printed=(comparison_table(rows),),
        notes=texts_as_notes("a <note>"),
        drawn=(FIGURE,),
        details={"provenance": {"model": "none"}},
    )
    cells = tuple(
        ReproducedRow(f"{x}{y}", x * y, details={"down": x, "across": y})
        for x in (1, 2)
        for y in (0.5, 1.5)
    )
    second = Reproduction(
        "two", "Second", "Paper, Figure 2", cells, (grid_table(cells, "down", "across"),),
        drawn=(FIGURE,),
    )  # fmt: skip
    return ReproductionSet((first, second))


def words(table: Table) -> list[list[str]]:
    return [
        [format_cell(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]


def test_ours_stands_beside_the_papers(both: ReproductionSet) -> None:
    _, listed, grid = both.tables()
    headings = [column.heading for column in listed.columns]
    assert headings == ["", "ours", "interval", "paper", "status"]
    assert words(listed) == [
        ["a|b", "0.2500", "0.1000 to ∞", "0.3000", "reproduced"],
        ["c", "undefined", "–", "–", ""],
    ]
    assert words(grid) == [["1", "0.5000", "1.5000"], ["2", "1.0000", "3.0000"]]
    assert (listed.name, grid.name) == ("one-comparison", "two-values")


@given(
    st.floats(-1e6, 1e6, allow_nan=False),
    st.integers(0, 6),
    st.integers(-1000, 1000).filter(bool),
)
def test_a_number_is_reproduced_if_and_only_if_it_rounds_to_the_printed_one(
    value: float, decimals: int, units: int
) -> None:
    printed = round(value, decimals)
    assert ReproducedRow("", value, printed, decimals=decimals).status is Status.REPRODUCED
    other = round(printed + units * 10.0**-decimals, decimals)
    # Half a unit away it is a tie, and may be rounded to either.
    if abs(other - value) > 0.5001 * 10.0**-decimals:
        assert ReproducedRow("", value, other, decimals=decimals).status is Status.DIFFERS


@pytest.mark.parametrize(
    ("value", "paper", "facts", "status"),
    [
        (0.0974, 0.0975, {}, Status.DIFFERS),
        (0.0333, 0.033, {}, Status.REPRODUCED),
        (0.1252, 0.125, {}, Status.REPRODUCED),
        (0.1252, 0.125, {"decimals": 4}, Status.DIFFERS),
        (11_903, 11_903, {}, Status.REPRODUCED),
        (11_904, 11_903, {}, Status.DIFFERS),
        (68.42, 68.26, {}, Status.DIFFERS),
        (68.42, 68.26, {"paper_spread": 0.31}, Status.REPRODUCED),
        (68.58, 68.26, {"paper_spread": 0.31}, Status.DIFFERS),
        # A spread smaller than the printed digits asks for no more than these.
        (68.264, 68.26, {"paper_spread": 0.001}, Status.REPRODUCED),
        (float("nan"), 0.1, {}, Status.DIFFERS),
        (0.1, None, {}, Status.NOT_COMPARABLE),
        *((0.1, 0.1, {"reason": reason}, Status.NOT_COMPARABLE) for reason in Reason),
    ],
)
def test_the_status_of_a_row(
    value: float, paper: float | None, facts: dict[str, Any], status: Status
) -> None:
    row = ReproducedRow("", value, paper, **facts)
    assert row.status is status
    assert (row.reason is None) == (status is not Status.NOT_COMPARABLE)
    assert to_json(row)["status"] == status.value
    assert from_json(ReproducedRow, to_json(row)).status is status


def test_the_summary_counts_published_numbers_once() -> None:
    rows = (
        ReproducedRow("a", 0.25, 0.25),
        # A second row of the same number, such as that of a corrected preset.
        ReproducedRow("a", 0.5, 0.25, reason=Reason.ANOTHER_METHOD),
        ReproducedRow("b", 0.5, 0.25),
        ReproducedRow("c", 0.5, 0.25, reason=Reason.ANOTHER_MODEL),
        ReproducedRow("d", 0.5, 0.25, reason=Reason.MISSING_DATA),
        ReproducedRow("e", 0.5, 0.25, reason=Reason.MISSING_DATA),
        ReproducedRow("ours alone", 0.5),
    )

    def tally(*rows: ReproducedRow) -> str:
        return str(Reproduction(name="x", title="", paper="", rows=rows, printed=()).tally)

    assert tally(*rows) == (
        "1 of 5 published numbers is reproduced, 1 differs, "
        "3 are not comparable (2 missing data, 1 another model)."
    )
    assert tally(*rows[:1]) == "1 of 1 published number is reproduced."
    assert tally(*rows[3:4]) == (
        "0 of 1 published number is reproduced, 1 is not comparable (another model)."
    )
    assert tally(*rows[-1:]) == "The paper prints no numbers to compare with."


def test_several_experiments_begin_with_their_summary(both: ReproductionSet) -> None:
    assert both.page().headline[0].text == "1 of 1 published number is reproduced."
    summary, *others = both.tables()
    assert not summary.detail
    assert all(table.detail for table in others)
    assert words(summary) == [
        ["one", "1", "1", "0", "0", ""],
        ["two", "0", "0", "0", "0", "no number printed"],
    ]
    text = both.to_markdown()
    assert text.index("| one | 1 |") < text.index("First")


def test_rows_of_earlier_documents_get_their_status(both: ReproductionSet) -> None:
    document = both.experiments[0].to_dict()
    for row in document["rows"]:
        row.pop("status")
        row.pop("reason", None)
    again = Reproduction.from_json(json.dumps(document))
    assert again.to_json() == both.experiments[0].to_json()
    assert again.rows[0].details == {"base": "labor"}


def test_dots_of_an_earlier_version_are_read_as_a_heat_map() -> None:
    (figure,) = Reproduction.from_json(GOLDEN / "reproduction-v2.json").figures()
    (drawn,) = shortcomings(ExperimentSettings()).figures()
    assert isinstance(figure, HeatMap)
    assert (figure.rows, figure.blocks) == (drawn.rows, drawn.blocks)


def test_the_page_of_several_is_one_file(both: ReproductionSet) -> None:
    page = both.to_html()
    assert page.count("<svg") == 2
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "<curve>" not in page
    assert "a &lt;note&gt;" in page


def test_markdown_lists_what_is_out_of_reach(both: ReproductionSet) -> None:
    text = both.to_markdown()
    assert "| a\\|b | 0.2500 |" in text
    for name in ("COCO", "CelebA", "MNLI"):
        assert name in text
    assert all(entry["command"] in text for entry in published("out-of-reach")["experiment"])


def test_json_and_back(both: ReproductionSet) -> None:
    for result in (both, *both.experiments):
        again = type(result).from_json(result.to_json())
        assert again.to_json() == result.to_json()
        assert again.to_markdown() == result.to_markdown()
    assert both.experiments[0].to_dict()["kind"] == "reproduction"


def test_claims_are_the_rows_with_an_interval(both: ReproductionSet) -> None:
    (claim,) = both.claims()
    assert (claim.base, claim.subject) == ("labor", "one: a|b")
    assert claim.estimate.interval == OPEN


CELLS = {
    ColumnKind.TEXT: st.text(max_size=5),
    ColumnKind.NUMBER: st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    ColumnKind.INTERVAL: st.just(OPEN) | st.just(Interval.undefined(0.9, "t")),
    ColumnKind.VERDICT: st.sampled_from(Verdict),
    ColumnKind.DIRECTION: st.sampled_from(Direction),
}


@settings(max_examples=30)
@given(st.data())
def test_every_kind_of_cell_comes_back(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from([*CELLS]), min_size=1, max_size=4))
    rows = [tuple(data.draw(st.none() | CELLS[kind]) for kind in kinds) for _ in range(2)]
    columns = tuple(Column(f"c{number}", kind) for number, kind in enumerate(kinds))
    table = Table("t", columns, tuple(rows), "title", "caption")
    again = from_json(Table, to_json(table))
    assert repr(again) == repr(table)


def test_undefined_cells_and_points_come_back() -> None:
    table = Table("t", (Column("a", ColumnKind.NUMBER), Column("b")), ((float("nan"), "NaN"),))
    again = from_json(Table, to_json(table))
    assert repr(again) == repr(table)
    assert repr(from_json(Figure, to_json(FIGURE))) == repr(FIGURE)


@pytest.mark.parametrize(
    "entry", published("out-of-reach")["experiment"], ids=lambda entry: entry["what"]
)
def test_the_commands_for_what_is_out_of_reach_lack_nothing_but_the_data(
    entry: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, shlex.split(entry["command"])[1:])
    assert isinstance(done.exception, LmprobeError), done.output
    assert re.search("no such file|not found|does not exist", str(done.exception), re.IGNORECASE)
