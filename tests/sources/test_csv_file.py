"""A base-rate CSV is read exactly or refused with its line, and written in one form."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import FileProblems
from lmprobe.sources.csv_file import check_labels, read_table, write_table
from lmprobe.sources.source import BaseTable, table_of

GOOD = "task,he,she\nnurse,1,9\ncook,6.5,3e1\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "mine.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(folder: Path, content: str | bytes) -> BaseTable:
    return read_table(write(folder, content))


def test_reads_numbers_and_labels(tmp_path: Path) -> None:
    table = read(tmp_path, GOOD)
    assert (table.name, table.attributes, table.tasks) == ("mine", ("he", "she"), ("nurse", "cook"))
    assert table.counts.tolist() == [[1, 6.5], [9, 30]]
    assert table.provenance["title"] == "mine.csv"
    assert table.provenance["sha256"] == hashlib.sha256(GOOD.encode()).hexdigest()


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace(",", " , "),
        GOOD.replace("nurse", '"nurse"'),
        GOOD.rstrip("\n"),
    ],
    ids=["mark", "windows", "blank lines", "spaces", "quotes", "no last line end"],
)
def test_what_spreadsheets_write_is_read_alike(tmp_path: Path, content: str | bytes) -> None:
    assert read(tmp_path, content).csv() == read(tmp_path, GOOD).csv()


@pytest.mark.parametrize(
    ("cell", "number", "written"),
    [
        ("-0", 0.0, "0"),
        ("+007", 7.0, "7"),
        ("3.", 3.0, "3"),
        (".5", 0.5, "0.5"),
        ("2E2", 200.0, "200"),
        ('" 4 "', 4.0, "4"),
        ("1e-320", 1e-320, "1e-320"),
        ("1e22", 1e22, "1" + "0" * 22),
    ],
)
def test_a_number_in_any_form_is_read_and_written_in_one(
    tmp_path: Path, cell: str, number: float, written: str
) -> None:
    table = read(tmp_path, f"task,he,she\nnurse,{cell},1\n")
    assert table.counts.tolist() == [[number], [1.0]]
    assert table.csv() == f"task,he,she\nnurse,{written},1\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty"),
        ("task,he,she\n", "a header but no task"),
        ("job,he,she\nnurse,1,9\n", r'line 1: the first column must be called "task", found "job"'),
        ("task,he\nnurse,1\n", "line 1: found 1 attribute columns"),
        ("\n\ntask,he,\nnurse,1,9\n", "line 3: column 3 has no name"),
        ("task,he,he\nnurse,1,9\n", 'line 1: the column "he" appears twice'),
        ("task,he,=she\nnurse,1,9\n", 'line 1: "=she" looks like a formula'),
        (GOOD + "\nnurse,2,2\n", 'line 5: the task "nurse" is already on line 2'),
        (GOOD + "baker,-1,2\n", 'line 4, column "he": found -1; counts must be finite'),
        (GOOD + "baker,1e999,2\n", 'line 4, column "he": found 1e999'),
        (GOOD + "baker,1\n", "line 4: found 2 cells, the header has 3"),
        (GOOD + ",1,2\n", "line 4: the task has no name"),
        (GOOD + "baker,=1+1,2\n", 'line 4, column "he": "=1\\+1" looks like a formula'),
        (GOOD + 'baker,"1,2\n', "line 4: unexpected end of data"),
        (GOOD.encode() + "bäcker,1,2\n".encode("latin-1"), "line 4: byte 0xe4 is not UTF-8"),
        (GOOD.encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
        *(
            (f'{GOOD}baker,"{cell}",2\n', 'line 4, column "he": ".*" is not a number')
            for cell in ("", "many", "nan", "inf", "1_000", "1,000", "1 000", "0x10", "1e", ".",
                         "½", "1%", "1.2.3", "٣", "１")
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(DataFileError, match=rf"mine\.csv.*{message}"):
        read(tmp_path, content)


def test_the_first_mistake_says_how_many_more_there_are(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "baker,x,y\npilot,1\n")
    with pytest.raises(
        FileProblems, match=r'line 4, column "he".*\(2 more; `lmprobe validate'
    ) as caught:
        read_table(path)
    assert [(problem.path, problem.line, problem.key) for problem in caught.value.problems] == [
        (path, 4, 'column "he"'),
        (path, 4, 'column "she"'),
        (path, 5, ""),
    ]


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="directory"):
        read_table(tmp_path)
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_table(table_of("t", [[1], [2]], ["he", "she"], ["a"]), tmp_path / "t.csv")


def test_decomposed_letters_are_composed(tmp_path: Path) -> None:
    """`e` and an accent of its own, as macOS writes them, are the letter that templates have."""
    table = read(tmp_path, "task,il,elle\ninfirmie\u0300re,1,9\n")
    assert table.tasks == ("infirmi\u00e8re",)
    with pytest.raises(DataFileError, match='task "infirmi\u00e8re" is already on line 2'):
        read(tmp_path, "task,il,elle\ninfirmie\u0300re,1,9\ninfirmi\u00e8re,1,9\n")


LABEL = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(
    lambda label: (
        label == unicodedata.normalize("NFC", label.strip())
        and not label.startswith(tuple("=+-@\ufeff"))
    )
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_written_is_read_again(tmp_path: Path, data: st.DataObject) -> None:
    attributes = data.draw(st.lists(LABEL, min_size=2, max_size=3, unique=True))
    tasks = data.draw(st.lists(LABEL, min_size=1, max_size=4, unique=True))
    row = st.lists(st.floats(0, 1e12), min_size=len(tasks), max_size=len(tasks))
    counts = data.draw(st.lists(row, min_size=len(attributes), max_size=len(attributes)))
    counts[0][0] += 1
    # A description is read in composed form.
    note = unicodedata.normalize("NFC", data.draw(st.text(st.characters(codec="utf-8"))))
    table = table_of("t", counts, attributes, tasks, provenance={"notes": [note], "year": 2020})
    again = read_table(write_table(table, tmp_path / "t.csv"))
    assert (again.attributes, again.tasks) == (table.attributes, table.tasks)
    assert again.counts.tolist() == counts
    # Also the checksum of a table in memory is that of the text written.
    assert again.provenance == table.provenance


@pytest.mark.parametrize("label", ["=1", " +x", "\t-y", "@z"])
def test_labels_that_a_spreadsheet_would_run_are_not_written(label: str, tmp_path: Path) -> None:
    for table in (
        table_of("t", [[1], [2]], ["he", label], ["cook"]),
        table_of("t", [[1], [2]], ["he", "she"], [label]),
    ):
        with pytest.raises(InputError, match="looks like a formula; rename the label"):
            write_table(table, tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"must end in \.csv"):
        write_table(table, tmp_path / "t.txt")
    assert list(tmp_path.iterdir()) == []
    check_labels(["x=1", "a-b", "2+2", "me@home"])
