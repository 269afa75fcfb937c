"""A base-rate CSV is read exactly or refused with the file and the line."""

from __future__ import annotations

import hashlib
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.problems import FileProblems
from lmprobe.sources import load_base_rates
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.source import PROVENANCE, sources
from lmprobe.sources.table import table_of

GOOD = "task,he,she\nnurse,1,9\ncook,6.5,3e1\n"


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "mine.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_reads_numbers_and_labels(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, GOOD))
    assert (table.name, table.attributes, table.tasks) == ("mine", ("he", "she"), ("nurse", "cook"))
    assert table.counts.tolist() == [[1, 6.5], [9, 30]]
    assert table.provenance["title"] == "mine.csv"
    assert table.provenance["year"] is None


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
    assert read_table(write(tmp_path, content)).csv() == read_table(write(tmp_path, GOOD)).csv()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty"),
        ("\n \n", ": the file is empty"),
        ("task,he,she\n", "a header but no task"),
        ("job,he,she\nnurse,1,9\n", r'line 1: the first column must be called "task", found "job"'),
        ("task,he\nnurse,1\n", "line 1: found 1 attribute columns"),
        ("task,he,\nnurse,1,9\n", "line 1: column 3 has no name"),
        ("task,he,he\nnurse,1,9\n", 'line 1: the column "he" appears twice'),
        ("task,he,=she\nnurse,1,9\n", 'line 1: "=she" looks like a formula'),
        (GOOD + "nurse,2,2\n", 'line 4: the task "nurse" is already on line 2'),
        (GOOD + "baker,-1,2\n", 'line 4, column "he": found -1'),
        (GOOD + "baker,1e999,2\n", 'line 4, column "he": found 1e999'),
        (GOOD + "baker,1\n", "line 4: found 2 cells, the header has 3"),
        (GOOD + "baker,1,2,3\n", "line 4: found 4 cells"),
        (GOOD + ",1,2\n", "line 4: the task has no name"),
        (GOOD + "baker,,2\n", 'line 4, column "he": "" is not a number'),
        (GOOD + "baker,many,2\n", 'line 4, column "he": "many" is not a number'),
        (GOOD + "baker,nan,2\n", '"nan" is not a number'),
        (GOOD + "baker,1_000,2\n", '"1_000" is not a number'),
        (GOOD + 'baker,"1,000",2\n', '"1,000" is not a number'),
        (GOOD + "baker,٣,2\n", "is not a number"),
        (GOOD + "baker,=1+1,2\n", 'line 4, column "he": "=1\\+1" looks like a formula'),
        (GOOD + "baker,1,@SUM(A1)\n", 'line 4, column "she": .*looks like a formula'),
        (GOOD + "=cmd(),1,2\n", r'line 4: "=cmd\(\)" looks like a formula'),
        (GOOD + 'baker,"1,2\n', "line 4: unexpected end of data"),
        (GOOD.encode() + "bäcker,1,2\n".encode("latin-1"), "line 4: byte 0xe4 is not UTF-8"),
        (GOOD.encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
    ],
)
def test_a_mistake_is_named_with_its_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(DataFileError, match=rf"mine\.csv.*{message}"):
        read_table(write(tmp_path, content))


def test_the_first_mistake_says_how_many_more_there_are(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "baker,x,y\npilot,1\n")
    with pytest.raises(
        FileProblems, match=r'line 4, column "he".*\(2 more; `lmprobe validate'
    ) as e:
        read_table(path)
    assert [(problem.path, problem.line, problem.key) for problem in e.value.problems] == [
        (path, 4, 'column "he"'),
        (path, 4, 'column "she"'),
        (path, 5, ""),
    ]


def test_blank_lines_do_not_shift_the_line_numbers(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="line 6"):
        read_table(write(tmp_path, "task,he,she\n\n\nnurse,1,9\n\ncook,x,1\n"))


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="directory"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('tilte = "x"', 'no entry is called "tilte"; did you mean "title"'),
        ("title = ", r"mine\.toml: "),
        ('sha256 = "00"', "the table beside it has changed"),
        ('aliases = "nurse"', r"mine\.toml: aliases must be a table of words"),
        ("[aliases]\nsister = 3", "aliases must be a table of words"),
        ("year = 1990-01-01", "year must be a whole number or text"),
        ("notes = [1]", "notes must be text or a list of texts"),
        ('title = ["x"]', "title must be text"),
        ('[aliases]\nsister = "nurze"', 'means "nurze".*did you mean "nurse"'),
    ],
)
def test_a_mistake_in_the_provenance_is_named(tmp_path: Path, toml: str, message: str) -> None:
    write(tmp_path, GOOD).with_suffix(".toml").write_text(toml)
    with pytest.raises(DataFileError, match=message):
        read_table(tmp_path / "mine.csv")


LABEL = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(
    lambda label: (
        label == unicodedata.normalize("NFC", label.strip())
        and not label.startswith(tuple("=+-@\ufeff"))
    )
)
NUMBERS = st.floats(0, 1e12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_is_written_is_read_again(tmp_path: Path, data: st.DataObject) -> None:
    attributes = data.draw(st.lists(LABEL, min_size=2, max_size=3, unique=True))
    tasks = data.draw(st.lists(LABEL, min_size=1, max_size=4, unique=True))
    row = st.lists(NUMBERS, min_size=len(tasks), max_size=len(tasks))
    counts = data.draw(st.lists(row, min_size=len(attributes), max_size=len(attributes)))
    counts[0][0] += 1
    note = data.draw(st.text(st.characters(codec="utf-8")))
    table = table_of("t", counts, attributes, tasks, provenance={"notes": [note], "year": 2020})
    again = read_table(write_table(table, tmp_path / "t.csv"))
    assert (again.attributes, again.tasks) == (table.attributes, table.tasks)
    assert again.counts.tolist() == counts
    assert again.provenance == table.provenance


def test_labels_that_a_spreadsheet_would_run_are_not_written(tmp_path: Path) -> None:
    table = table_of("t", [[1], [2]], ["he", "she"], ["=cmd()"])
    with pytest.raises(InputError, match="looks like a formula"):
        write_table(table, tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"must end in \.csv"):
        write_table(table, tmp_path / "t.txt")


def test_a_table_from_untidy_text_is_written_back_tidily(tmp_path: Path) -> None:
    """Quotes, blanks, blank lines, a byte-order mark, exponents: the same numbers, one form."""
    untidy = tmp_path / "untidy.csv"
    text = '\ufeff task ,"he", she \r\n\r\n"nurse", 01.50 ,+2e1\r\n\n"cook, or baker",.5,3.\n'
    untidy.write_bytes(text.encode())
    table = read_table(untidy)
    assert (table.attributes, table.tasks) == (("he", "she"), ("nurse", "cook, or baker"))
    assert table.counts.tolist() == [[1.5, 0.5], [20.0, 3.0]]
    assert table.provenance["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    tidy = write_table(table, tmp_path / "tidy.csv")
    assert tidy.read_text() == 'task,he,she\nnurse,1.5,20\n"cook, or baker",0.5,3\n'
    again = read_table(tidy)
    assert again.counts.tolist() == table.counts.tolist()
    # The description beside it is about the text that was written, not about the one read.
    assert again.provenance["sha256"] == hashlib.sha256(tidy.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["uniform", "corpus", "labor", "winobias-majority"])
def test_the_keys_of_a_sources_provenance(name: str) -> None:
    found = sources.get(name)() if name in sources.names() else load_base_rates(name)
    facts = found.provenance
    assert set(facts) <= set(PROVENANCE)
    assert set(facts) >= set(PROVENANCE) - {"series"}
    assert all(facts[key] for key in ("title", "source", "licence", "unit", "method"))
    is_table = name not in ("uniform", "corpus")
    assert (facts["sha256"] is not None) == is_table
