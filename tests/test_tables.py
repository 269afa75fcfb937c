"""Table files: the same rows in every format, whole or in chunks, and clear errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pyarrow
import pytest

from lmprobe import tables
from lmprobe.errors import DataFileError
from lmprobe.tables import column_names, read_chunks, read_columns

FRAME = pd.DataFrame(
    {"name": ["a", "NA", 'quote " and,\ncomma', "d", "e"], "n": [1, 2, 3, 4, 5], "x": [0.5] * 5}
)


def written(folder: Path, kind: str) -> Path:
    path = folder / f"table.{kind}"
    if kind == "parquet":
        FRAME.to_parquet(path)
    elif kind.startswith("jsonl"):
        text = "\n".join(json.dumps(row) for row in FRAME.to_dict("records")) + "\n\n"
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith("gz") else text.encode())
    else:
        FRAME.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "jsonl", "jsonl.gz"])
def test_every_format_reads_the_same(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    assert column_names(path) == ("name", "n", "x")
    whole = read_columns(path)
    assert whole.to_dict("list") == FRAME.to_dict("list")
    parts = list(read_chunks(path, ["x", "n"], rows=2, text=["n"]))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert list(parts[0].columns) == ["x", "n"]
    assert pd.concat(parts)["n"].tolist() == ["1", "2", "3", "4", "5"]


def test_a_later_row_decides_the_type_of_a_whole_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_BLOCK", 64)
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1\n" * 60 + "a\n")
    assert read_columns(path)["x"].tolist()[-2:] == ["1", "a"]
    with pytest.raises(DataFileError, match=r"late.csv: row 62: 'a' in the column"):
        list(read_chunks(path))
    assert pd.concat(read_chunks(path, text=["x"]))["x"].tolist()[-1] == "a"


def test_chunks_hold_a_part_of_the_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_BLOCK", 4096)
    path = tmp_path / "long.csv"
    path.write_text("x,y\n" + "some words,12345\n" * 200_000)
    before = pyarrow.total_allocated_bytes()
    held = [pyarrow.total_allocated_bytes() - before for _ in read_chunks(path)]
    assert len(held) > 500
    assert max(held) < path.stat().st_size / 4


def test_an_empty_field_is_missing_and_a_key_left_out_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('x,y\n1,\n2,""\n')
    assert read_columns(tmp_path / "a.csv")["y"].isna().tolist() == [True, False]
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": "a"}\n{"x": 2}\n')
    assert read_columns(tmp_path / "a.jsonl")["y"].isna().tolist() == [False, True]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufeffx,y\n1,2\n".encode())
    assert read_columns(tmp_path / "a.csv", ["x"])["x"].tolist() == [1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.jsonl", b"\n\n", "the file is empty"),
        ("a.csv", b"x,y\n", "no row below the column names"),
        ("a.csv", b"x,y\n1,2\n1\n", "Row #3: Expected 2 columns, got 1"),
        ("a.csv", b"x,y\n1,2\n1,2,3\n", "Row #3: Expected 2 columns, got 3"),
        ("a.csv", "x\ncafé\n".encode("latin-1"), "not UTF-8"),
        ("a.csv", "café\n1\n".encode("latin-1"), "not UTF-8"),
        ("a.jsonl", b'{"x": "\xe9"}\n', "not UTF-8"),
        ("a.csv", b"x,x\n1,2\n", 'the column "x" appears twice'),
        ("a.jsonl", b'{"x": 1}\n{x\n', "line 2 is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1 must be a JSON object"),
        ("a.parquet", b"PAR1", "Parquet"),
        ("a.csv.gz", b"no gzip", "gzip"),
        ("a.csv.gz", gzip.compress(b"x\n" * 99, mtime=0)[:20], "a.csv.gz"),
        ("a.xlsx", b"", "unknown kind of file; its name must end in .csv"),
        ("a", b"", "unknown kind of file"),
    ],
)
def test_every_mistake_is_one_clear_error(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for read in (read_columns, lambda path: list(read_chunks(path))):
        with pytest.raises(DataFileError, match=message) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_late_value_of_another_type_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,2\n" * 300_000 + "1,z\n")
    with pytest.raises(DataFileError, match="row 300002: 'z' in the column \"y\" is not int64 as"):
        list(read_chunks(path))
    with pytest.raises(DataFileError, match="'z' in the column \"y\" is not a number"):
        list(read_chunks(path, ["y"], numbers=["y"]))


def test_late_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n" + b"a\n" * 20_000 + b"\xe9\n")
    with pytest.raises(DataFileError, match="not UTF-8"):
        read_columns(path)
    with pytest.raises(DataFileError, match="not UTF-8"):
        list(read_chunks(path, text=["x"]))


def test_files_and_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="no such file"):
        read_columns(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(DataFileError, match="folder"):
        read_columns(tmp_path / "b.csv")
    path = written(tmp_path, "csv")
    with pytest.raises(DataFileError, match='no column "nme"; did you mean "name"'):
        read_columns(path, ["nme"])
