"""A base-rate table from text that nobody tidied: numbers, quotes, line ends, composed letters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.sources import csv_file
from lmprobe.sources.csv_file import check_labels, read_table, write_table
from lmprobe.sources.table import table_of


def read(folder: Path, text: str | bytes, name: str = "mine.csv") -> Any:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_table(path)


@pytest.mark.parametrize(
    ("cell", "number", "written"),
    [
        ("0", 0.0, "0"),
        ("-0", 0.0, "0"),
        ("+7", 7.0, "7"),
        ("007", 7.0, "7"),
        ("3.", 3.0, "3"),
        (".5", 0.5, "0.5"),
        ("0.50", 0.5, "0.5"),
        ("2E2", 200.0, "200"),
        ("5e-1", 0.5, "0.5"),
        ("1e+2", 100.0, "100"),
        ('" 4 "', 4.0, "4"),
        ("1e-320", 1e-320, "1e-320"),
        ("0.1", 0.1, "0.1"),
        ("12345678901", 12345678901.0, "12345678901"),
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
    "cell", ["1,5", "1 000", "0x10", "1e", "e5", ".", "--1", "1.2.3", "½", "1%", "inf", "NaN", "１"]
)
def test_what_is_no_number_is_refused(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataFileError, match=r'line 2, column "he": ".*" is not a number|formula'):
        read(tmp_path, f'task,he,she\nnurse,"{cell}",1\n')


@pytest.mark.parametrize("cell", ["-1", "-0.5", "1e999", "-1e999"])
def test_a_count_is_finite_and_not_negative(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataFileError, match=f"found {cell}; counts must be finite and not neg"):
        read(tmp_path, f"task,he,she\nnurse,{cell},1\n")


def test_decomposed_letters_are_composed(tmp_path: Path) -> None:
    """`e` and an accent of its own, as macOS writes them, are the letter that templates have."""
    table = read(tmp_path, "task,il,elle\ninfirmie\u0300re,1,9\n")
    assert table.tasks == ("infirmi\u00e8re",)
    assert "infirmi\u00e8re,1,9" in write_table(table, tmp_path / "out.csv").read_text("utf-8")
    with pytest.raises(DataFileError, match='task "infirmi\u00e8re" is already on line 2'):
        read(tmp_path, "task,il,elle\ninfirmie\u0300re,1,9\ninfirmi\u00e8re,1,9\n")


def test_quotes_line_ends_and_commas_survive_writing(tmp_path: Path) -> None:
    text = 'task,"he, him",she\r\n"cook ""chef""",1,2\r\n"two\nlines",3,4\r\n'
    table = read(tmp_path, text)
    assert table.attributes == ("he, him", "she")
    assert table.tasks == ('cook "chef"', "two\nlines")
    path = write_table(table, tmp_path / "out.csv")
    written = path.read_bytes().decode()
    assert written == 'task,"he, him",she\n"cook ""chef""",1,2\n"two\nlines",3,4\n'
    again = read_table(path)
    assert (again.attributes, again.tasks) == (table.attributes, table.tasks)
    assert again.counts.tolist() == [[1, 3], [2, 4]]


def test_a_label_is_quoted_only_where_it_must_be() -> None:
    table = table_of("t", [[1], [2]], ["it's", "a b"], [" x"])
    assert table.csv() == 'task,it\'s,a b\n" x",1,2\n'
    assert table_of("t", [[1], [2]], ["a\rb", "c"], ["x"]).csv() == 'task,"a\rb",c\nx,1,2\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\ntask,he,she\nnurse,\xe9,1\n", "line 3: byte 0xe9 is not UTF-8"),
        (b"\xe9", "line 1: byte 0xe9 is not UTF-8"),
        ('task,he,she\n"nurse"s,1,2\n', "line 2: "),
        ("\n\ntask,he,she,\nnurse,1,2,3\n", "line 3: column 4 has no name"),
        ("task,he,she\nnurse,1,2\n\ncook,1,2\nnurse,1,2\n", '"nurse" is already on line 2'),
        ("task,he,she\nnurse,x,2\nnurse,1,2\n", r"line 2, .*\(1 more"),
    ],
)
def test_lines_are_counted_as_an_editor_counts_them(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(DataFileError, match=message):
        read(tmp_path, text)


def test_a_table_is_called_by_its_file_or_as_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "labour.csv"
    path.write_text("task,he,she\nnurse,0,9\n")
    assert read_table(path).name == "labour"
    assert read_table(path, "other").name == "other"
    assert read_table(path).counts.tolist() == [[0.0], [9.0]]


def test_a_reader_lets_other_readers_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading locks the folder of the table together with other readers, against writers."""
    asked = []

    @contextmanager
    def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
        asked.append((folder, shared))
        yield

    monkeypatch.setattr(csv_file, "locked", locked)
    read(tmp_path, "task,he,she\nnurse,1,9\n")
    assert asked == [(tmp_path, True)]


@pytest.mark.parametrize("label", ["=1", " +x", "\t-y", "@z"])
def test_a_label_like_a_formula_is_refused_also_behind_blanks(label: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="looks like a formula; rename the label"):
        check_labels(["fine", label])
    for table in (
        table_of("t", [[1], [2]], ["he", label], ["cook"]),
        table_of("t", [[1], [2]], ["he", "she"], [label]),
    ):
        with pytest.raises(InputError, match="looks like a formula"):
            write_table(table, tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []
    check_labels(["x=1", "a-b", "2+2", "me@home"])


def test_the_checksum_of_a_table_in_memory_is_that_of_the_text_written(tmp_path: Path) -> None:
    table = table_of("t", [[1, 0.5], [2, 3]], ["he", "she"], ["a", "b"])
    assert table.csv() == "task,he,she\na,1,2\nb,0.5,3\n"
    path = write_table(table, tmp_path / "t.csv")
    assert table.provenance["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
