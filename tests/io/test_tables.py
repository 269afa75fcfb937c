"""Tables: the same rows in every format, from files or memory, and clear errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
import zstandard

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.tables import NOT_A_NUMBER, Relation, TableSource, column_names, read_columns

FRAME = pd.DataFrame(
    {"name": ["a", "NA", 'quote " and,\ncomma', "d", "e"], "n": [1, 2, 3, 4, 5], "x": [0.5] * 5}
)


def written(folder: Path, kind: str) -> Path:
    path = folder / f"table.{kind}"
    plain, _, packed = kind.partition(".")
    if plain == "parquet":
        FRAME.to_parquet(path)
        return path
    if plain == "jsonl":
        text = "\n".join(json.dumps(row) for row in FRAME.to_dict("records")) + "\n\n"
    else:
        text = FRAME.to_csv(index=False, sep="\t" if kind == "tsv" else ",")
    pack = {"": bytes, "gz": gzip.compress, "zst": zstandard.compress}[packed]
    path.write_bytes(pack(text.encode()))
    return path


KINDS = ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "jsonl", "jsonl.gz", "jsonl.zst"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_reads_the_same(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    assert column_names(path) == ("name", "n", "x")
    whole = read_columns(path)
    assert whole.to_dict("list") == FRAME.to_dict("list")
    some = read_columns(path, ["x", "n"], text=["n"])
    assert list(some.columns) == ["x", "n"]
    assert some["n"].tolist() == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("form", ["frame", "arrow", "stream"])
def test_tables_in_memory_read_the_same(form: str) -> None:
    arrow = pyarrow.Table.from_pandas(FRAME, preserve_index=False)
    table = {"frame": FRAME, "arrow": arrow, "stream": arrow.to_reader()}[form]
    assert read_columns(table).to_dict("list") == FRAME.to_dict("list")


def test_a_frame_may_hold_what_arrow_has_no_type_for() -> None:
    mixed = pd.DataFrame({"a": [1, "z", None], "b": pd.Categorical(["x", "y", "x"])})
    result = read_columns(mixed)
    assert result["a"].tolist()[:2] == ["1", "z"]
    assert result["a"].isna().tolist() == [False, False, True]
    assert result["b"].tolist() == ["x", "y", "x"]
    with pytest.raises(InputError, match='the column "x" appears twice'):
        read_columns(pd.DataFrame([[1, 2]], columns=["x", "x"]))
    with pytest.raises(InputError, match="found list"):
        read_columns([1, 2])


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl.gz"])
def test_folders_and_patterns_are_one_table(tmp_path: Path, kind: str) -> None:
    for number, part in enumerate(("2020", "2021")):
        (tmp_path / part).mkdir()
        written(tmp_path / part, kind).rename(tmp_path / part / f"run [{number}].{kind}")
    (tmp_path / "notes.txt").write_text("no table")
    for hidden in (".ipynb_checkpoints", "_old"):
        (tmp_path / hidden).mkdir()
        written(tmp_path / hidden, kind)
    for source in (tmp_path, str(tmp_path / "20*" / f"*.{kind}")):
        assert read_columns(source)["n"].tolist() == [*range(1, 6)] * 2
    with TableSource(tmp_path) as table:
        result = table.first_row("n", lambda rows, name: f"{rows.number(name)} = 4")
    assert result is not None
    assert (Path(result.place).parent.name, int(result.value)) == ("2020", 4)
    # A cell before it has a line end in CSV, and Parquet has no lines.
    assert result.row == {"csv": "line 6", "parquet": "row 4", "jsonl.gz": "line 4"}[kind]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_name_of_a_folder_is_no_value(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "name=z" / "n=7"
    folder.mkdir(parents=True)
    assert read_columns(written(folder, kind)).to_dict("list") == FRAME.to_dict("list")
    assert read_columns(tmp_path)["name"].tolist() == FRAME["name"].tolist()


def test_files_of_one_table_must_agree(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n1,2\n")
    with pytest.raises(
        DataFileError, match=r"b.csv: other columns than .*a.csv has \(their order\)"
    ):
        read_columns(tmp_path)
    (tmp_path / "b.csv").unlink()
    (tmp_path / "b.jsonl").write_text('{"x": 1}\n')
    with pytest.raises(DataFileError, match="different formats"):
        read_columns(tmp_path)
    with pytest.raises(DataFileError, match="no file matches"):
        read_columns(tmp_path / "*.parquet")


def test_a_later_row_decides_the_type_of_a_whole_column(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1\n" * 30_000 + "a\n")
    assert read_columns(path)["x"].tolist()[-2:] == ["1", "a"]

    def numbers(rows: Relation) -> str:
        return f"SELECT count({rows.number('x')}) AS n, count(*) AS rows FROM {rows.sql}"

    with TableSource(path) as source:
        assert source.query(["x"], numbers) == [{"n": 30_000, "rows": 30_001}]


def test_a_csv_of_very_many_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(3_000)]
    rows = [[str(number * row % 7) for number in range(3_000)] for row in range(1, 4)]
    lines = [",".join(line) for line in (names, *rows)]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    result = read_columns(tmp_path / "wide.csv", ["c2998", "c1"])
    assert result.to_dict("list") == {"c2998": [2, 4, 6], "c1": [1, 2, 3]}


def test_rows_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    n = 300_000
    pd.DataFrame({"x": np.arange(n)}).to_csv(tmp_path / "long.csv", index=False)
    pd.DataFrame({"x": np.arange(n)}).to_parquet(tmp_path / "long.parquet", row_group_size=1000)
    for kind, row in (("csv", "line 250002"), ("parquet", "row 250001")):
        with TableSource(tmp_path / f"long.{kind}") as source:
            result = source.first_row("x", lambda rows, name: f"{rows.number(name)} >= 250000")
        assert result is not None
        assert result.row == row


def test_a_row_is_named_by_the_line_in_which_it_begins(tmp_path: Path) -> None:
    """Names, blank lines and quoted line ends count as an editor counts them."""
    lines = ['"a', 'b",x', "1,0", "", '"two', "", 'lines",1', "", "3,2", "4,"]
    for end in ("\n", "\r\n"):
        (tmp_path / "a.csv").write_bytes(end.join(lines).encode())
        with TableSource(tmp_path / "a.csv") as source:
            places = {1: "line 5", 2: "line 9"}
            for value, place in places.items():
                found = source.first_row(
                    "x", lambda rows, name, v=value: f"{rows.number(name)}={v}"
                )
                assert found is not None
                assert found.row == place
            with pytest.raises(
                DataFileError, match=r'first "x" in line 10; .*`missing_cells="drop"`'
            ):
                source.refuse_missing([], ["x"])
    (tmp_path / "b.csv").write_text("x\n1\n\n2\nno\n")
    with TableSource(tmp_path / "b.csv") as source:
        with pytest.raises(DataFileError, match='first "x" in line 3'):
            source.refuse_missing([], ["x"])
        source.leave_out_missing([], ["x"])
        with pytest.raises(DataFileError, match="line 5: 'no' in the column"):
            source.refuse("x", NOT_A_NUMBER)


def test_rows_that_lack_a_value_are_counted_by_column_and_may_be_left_out() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y", None], "n": [1.0, 2.0, np.nan, np.nan], "z": 1})
    with TableSource(frame) as source:
        lacking = source.missing_cells(["a"], ["n"])
        assert (lacking.rows, lacking.of, dict(lacking.by_column)) == (3, 4, {"a": 2, "n": 2})
        assert str(lacking) == 'the table: 3 of 4 rows lack a value ("a" 2, "n" 2)'
        source.leave_out_missing(["a"], ["n"])
        # Columns that lack nothing are without these rows too.
        assert source.read(["z", "n"], text=[]).to_dict("list") == {"z": [1], "n": [1.0]}
    with (
        TableSource(frame.iloc[1:]) as source,
        pytest.raises(DataFileError, match="no row is left"),
    ):
        source.leave_out_missing(["a"], ["n"])


def test_line_ends_within_quotes_wherever_threads_share_the_file(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    # What is quoted looks like rows, so that a thread that begins within it is led astray.
    notes = draw.choice(["a\nf,1\n", 'x ""q"" ,m,0\n\n', "line\nf,0\nm,1\n", "plain"], 150_000)
    often, numbers = draw.integers(1, 12, len(notes)), draw.integers(0, 9, len(notes))
    with open(tmp_path / "notes.csv", "w", newline="") as file:
        file.write("note,x\n")
        for note, times, number in zip(notes, often, numbers, strict=True):
            file.write(f'"{str(note) * times}",{number}\n')
    assert read_columns(tmp_path / "notes.csv", ["x"])["x"].tolist() == numbers.tolist()


def test_an_empty_field_is_missing_and_a_key_left_out_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('x,y\n1,\n2,""\n')
    assert read_columns(tmp_path / "a.csv")["y"].isna().tolist() == [True, False]
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": "a"}\n{"x": 2}\n')
    missing = read_columns(tmp_path / "a.jsonl")
    assert missing["y"].isna().tolist() == [False, True]
    with (
        TableSource(tmp_path / "a.jsonl") as source,
        pytest.raises(DataFileError, match=r'1 of 2 rows lacks a value \("y" 1\), .* in line 2'),
    ):
        source.refuse_missing(["y"])


def test_a_column_without_a_name_does_no_harm(tmp_path: Path) -> None:
    frame = pd.DataFrame({"Unnamed: 0": [7, 8], "x": [1, 2]})
    frame.to_csv(tmp_path / "index.csv")
    assert column_names(tmp_path / "index.csv") == ("Unnamed: 0.1", "Unnamed: 0", "x")
    assert read_columns(tmp_path / "index.csv", ["x"])["x"].tolist() == [1, 2]
    # A byte order mark is no part of a name either.
    (tmp_path / "comma.csv").write_bytes("\ufeffx,y,,\n1,2,,\n".encode())
    assert read_columns(tmp_path / "comma.csv", ["x"])["x"].tolist() == [1]
    with pytest.raises(DataFileError, match="the column without a name needs one"):
        read_columns(frame.rename(columns={"x": ""}), [""])


def test_endings_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "a.TSV").write_text("x\ty\n1\t2\n")
    (tmp_path / "b.CSV.GZ").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    for path in tmp_path.iterdir():
        assert read_columns(path)["y"].tolist() == [2]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\nx,y\n1,2\n", "the first line is blank"),
        ("a.csv", b'x,y\n1,"2\n3,4\n', "line 2: a quoted cell has no end"),
        ("a.csv", b"x,y\n1,2\r\n1,2\n3,4\n", "all lines end alike"),
        ("a.csv.zst", zstandard.compress(b"x,y\n1,2\n" * 50_000)[:-9], "Truncated"),
        ("a.csv", b"x,y\n", "no row below the column names"),
        ("a.csv", b"x,y\n1,2\n1\n", "line 3: found 1 cell, the header has 2"),
        ("a.csv", "x\ncafé\n".encode("latin-1"), "not UTF-8"),
        ("a.csv", b"x\n" + b"a\n" * 20_000 + b"\xe9\n", "not UTF-8"),
        ("a.jsonl", b'{"x": "\xe9"}\n', "not UTF-8"),
        ("a.csv", b"x,x\n1,2\n", 'the column "x" appears twice'),
        ("a.jsonl", b'{"x": 1}\n{x\n', "line 2 is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1 must be a JSON object"),
        ("a.parquet", b"PAR1", "Parquet"),
        ("a.csv.gz", gzip.compress(b"x\n" * 99, mtime=0)[:20], "a.csv.gz"),
        ("a.xlsx", b"", "unknown kind of file; its name must end in .csv"),
    ],
)
def test_every_mistake_is_one_clear_error(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=message) as caught:
        read_columns(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_of_lists_or_objects_is_refused(tmp_path: Path) -> None:
    for cell in (["a", "b"], {"a": 1}):
        frame = pd.DataFrame({"x": [cell, cell], "n": [1, 2]})
        frame.to_parquet(tmp_path / "a.parquet")
        for table in (frame, tmp_path / "a.parquet"):
            with pytest.raises(DataFileError, match='the column "x" holds lists or objects'):
                read_columns(table, ["x"])
            assert read_columns(table, ["n"])["n"].tolist() == [1, 2]


def test_files_and_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="no such file"):
        read_columns(tmp_path / "a.csv")
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(DataFileError, match="folder"):
        read_columns(tmp_path / "b.csv")
    path = written(tmp_path, "csv")
    with pytest.raises(DataFileError, match='no column "nme"; did you mean "name"'):
        read_columns(path, ["nme"])
    (tmp_path / "c.csv").write_text("x;y\n1;2\n")
    with pytest.raises(DataFileError, match="semicolons separate its cells: save it with commas"):
        read_columns(tmp_path / "c.csv", ["y"])
