"""Saved results and other documents that are damaged or hostile: one clear error, or cleaned."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lmprobe
from lmprobe.errors import (
    DataFileError,
    InputError,
    LmprobeError,
    ModelError,
    did_you_mean,
    printable,
)
from lmprobe.io.files import json_text, parse_json, parse_toml
from lmprobe.io.table_files import write_table
from lmprobe.io.tables import read_columns
from lmprobe.sweeping.jobs import subjects
from tests.conftest import Made, Run
from tests.made_up_sweeps import plain_row, plain_sweep

# ---- results ----------------------------------------------------------------------------------

Change = Callable[[dict[str, Any]], Any]
SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds" / "results"


def refused(result: Any, change: Change, why: str) -> None:
    document = json.loads(result.to_json())
    change(document)
    with pytest.raises(DataFileError, match=why):
        lmprobe.load_result(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda document: document["rows"][0].update(base=5), r"base must be str, found 5"),
        (lambda document: document["rows"][0]["interval"].update(low="0.5"), "low must be float"),
        (lambda document: document["rows"][0]["interval"].update(low=9.0), "no interval"),
        (lambda document: document["rows"][0]["interval"].update(confidence=95), "no interval"),
        (lambda document: document["rows"][0]["interval"].pop("low"), "'low' is missing"),
        (
            lambda document: document["rows"][0]["notes"].append({"kind": "data", "text": 3}),
            "must be str",
        ),
        (
            lambda document: document["rows"][0]["predicted"][0][0].__setitem__(0, 1e300),
            "between 0 and 1",
        ),
        (lambda document: document.update(split_words={"a": []}), "split_words.a must be int"),
        (lambda document: document.update(templates=[1] * 9), r"templates|families"),
        (lambda document: document.update(rows=3), "damaged result"),
        (lambda document: document.update(kind="prob"), 'no job "prob"; did you mean "probe"'),
        (
            lambda document: document.update(schema="lmprobe.result/0"),
            r"its schema is 'lmprobe\.result/0'",
        ),
        (lambda document: document.update(schema="lmprobe.result/9"), "a newer lmprobe made it"),
    ],
)
def test_a_damaged_result_is_refused(made: Made, change: Change, why: str) -> None:
    refused(made(bases=("labor",)), change, why)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda document: document["rows"][0].update(step=0.5), "step must be"),
        (lambda document: document["rows"][0].update(ranks=[1, 2, 3]), "ranks must be"),
        (lambda document: document["rows"][0].update(value="0.5"), "value must be float"),
        (lambda document: document["rows"][0]["by_task"].update(nurse="much"), "by_task"),
        (lambda document: document["orders"][0]["models"].append("c"), "'c' is missing"),
        (lambda document: document.update(failures=[{"model": "a"}]), "missing"),
    ],
)
def test_a_damaged_sweep_is_refused(change: Change, why: str) -> None:
    sweep = plain_sweep(plain_row("a"), plain_row("b"), groups=[["a"], ["b"]])
    refused(sweep, change, why)


def test_a_number_that_follows_from_the_tables_is_computed_again(made: Made) -> None:
    """What stands in the file in its place is not read, so it cannot be wrong."""
    result = made(bases=("labor",))
    document = json.loads(result.to_json())
    document["rows"][0] |= {"value": 0.9, "template_sd": -1, "per_template": []}
    again = lmprobe.load_result(json.dumps(document))
    assert again.to_json() == result.to_json()


@pytest.mark.parametrize("count", [-1, 0.5, 1e300, 2**63, "2"])
def test_a_count_must_be_a_whole_number(count: Any) -> None:
    document = json.loads((SEEDS / "count.json").read_text())
    assert lmprobe.load_result(json.dumps(document)).to_dict() == document
    document["counts"][0][0] = count
    with pytest.raises(DataFileError, match="damaged result"):
        lmprobe.load_result(json.dumps(document))


# ---- JSON, TOML and messages ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 5000 + "]" * 5000, "nested more than 100 deep"),
        ("1" * 5000, "thousands of digits"),
        ("[1e999]", "too large"),
        ('{"a": NaN}', "NaN is no number"),
        (r'["\ud800"]', "surrogate"),
        (r'{"\udc00": 1}', "surrogate"),
        ("{\n'a'", "line 2"),
    ],
)
def test_json_that_no_reader_can_use(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_json(text)


def test_json_that_only_looks_like_it() -> None:
    assert parse_json(r'["😀", 1e-300, 1e100, "\\ud800"]') == ["😀", 1e-300, 1e100, r"\ud800"]
    assert parse_json("[" * 100 + "]" * 100)


@pytest.mark.parametrize("text", ["a = " + "[" * 3000 + "]" * 3000, f"a = {'1' * 5000}"])
def test_toml_that_no_reader_can_use(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"deep|digits"):
        parse_toml(text)
    path = tmp_path / "set.toml"
    path.write_text(f"sentences = []\n{text}\n")
    with pytest.raises(DataFileError, match="not valid TOML"):
        lmprobe.load_templates(path)


def test_json_is_printed_without_orders_to_the_terminal() -> None:
    text = json_text({"a\x9b": "b\x1b\x7f\u202e\ud800"})
    assert not {"\x9b", "\x1b", "\x7f", "\u202e", "\ud800"} & set(text)
    assert json.loads(text) == {"a\x9b": "b\x1b\x7f\u202e\ud800"}


def test_messages_are_one_short_line() -> None:
    message = str(LmprobeError("a\nb\x1b[2J\u202e" + "x" * 5000 + "; do this"))
    assert message.startswith("a b\ufffd[2J\ufffdxxx")
    assert message.endswith("x; do this")
    assert len(message) <= 600
    assert printable("a  b\r\n\tc") == "a  b c"
    assert did_you_mean("z", map(str, range(1000))).endswith("and 960 more")


def test_an_adapter_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("[" * 5000)
    with pytest.raises(ModelError, match="does not name its base model"):
        lmprobe.load_model(tmp_path)


# ---- tables and names of files ----------------------------------------------------------------


def test_columns_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    """DuckDB would give the first of them for both."""
    frame = pd.DataFrame({"a": [1, 3], "A": [2, 4]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    for table in (frame, *tmp_path.iterdir()):
        with pytest.raises(LmprobeError, match='"a" and "A" differ in case alone'):
            read_columns(table)


def test_words_that_duckdb_reads_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n0x1F,1\n2,3\n")
    assert read_columns(path).to_dict("list") == {"a": ["0x1F", "2"], "b": [1, 3]}
    with pytest.raises(InputError, match="NUL"):
        read_columns(pd.DataFrame({"a\0b": [1]}))
    packed = bytearray(gzip.compress(b"a,b\n1,2\n"))
    packed[-8] ^= 1
    (tmp_path / "t.csv.gz").write_bytes(packed)
    with pytest.raises(DataFileError, match=r"a whole gzip file: .*data check"):
        read_columns(tmp_path / "t.csv.gz")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, command: Callable[..., Run]) -> None:
    for name in ("result.json", "table.csv", "table.parquet", "list.json", "models.txt"):
        os.mkfifo(tmp_path / name)
    readers: list[Callable[[], Any]] = [
        lambda: lmprobe.load_result(tmp_path / "result.json"),
        lambda: lmprobe.load_result(tmp_path),
        lambda: read_columns(tmp_path / "table.csv"),
        lambda: read_columns(tmp_path / "table.parquet"),
        lambda: lmprobe.vision.imsitu(tmp_path / "list.json"),
        lambda: subjects([tmp_path / "models.txt"]),
    ]
    for read in readers:
        with pytest.raises(DataFileError, match="no regular file"):
            read()
    text = tmp_path / "corpus"
    text.write_text("She is a nurse.\n")
    options = ("--tasks", "nurse,cook", "--checkpoint", tmp_path / "list.json")
    code, _, message = command("count")(text, *options)
    assert (code, "no regular file" in message) == (2, True)


def test_names_that_are_not_utf_8_are_refused(tmp_path: Path, command: Callable[..., Run]) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")).write_text("a,b\n1,2\n")
    with pytest.raises(DataFileError, match=r"is not valid UTF-8; rename the file"):
        read_columns(tmp_path)
    code, _, error = command()("amplify", os.fsdecode(b"bad\xff.csv"))
    assert (code, error) == (2, 'lmprobe: "bad\ufffd.csv" is not valid UTF-8; rename the file\n')


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "a\u202eb"])
def test_a_table_has_a_printable_name(name: str, command: Callable[..., Run]) -> None:
    code, _, error = command("count")("none.txt", "--name", name)
    assert code == 2
    assert "must be a name such as wiki" in error


def test_a_converted_table_has_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_table(pd.DataFrame({"=cmd": ["@SUM(A1)", "a"], "n": [-1, 2]}), path)
    assert path.read_text() == '"\'=cmd","n"\n"\'@SUM(A1)",-1\n"a",2\n'
