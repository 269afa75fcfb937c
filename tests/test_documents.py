"""Documents and messages of hostile files: refused or cleaned in one place."""

from __future__ import annotations

import gzip
import json
import math
import os
import time
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
from lmprobe.io.documents import json_text, parse_json, parse_toml
from lmprobe.io.sealed import seal
from lmprobe.io.tables import read_columns
from lmprobe.models.cache import Entry
from lmprobe.models.checkpoint import TRUTH_FILE, TRUTH_SCHEMA
from lmprobe.models.quiet import first_line
from lmprobe.plot.strip_plot import _shown
from lmprobe.plot.svg import shortened as svg_shortened
from lmprobe.results.figure import DotPlot, Dots, HeatBlock, HeatMap, Series, Strip
from lmprobe.results.restored import check_same
from lmprobe.sweeping import levels
from lmprobe.sweeping.jobs import subjects
from lmprobe.vision.convert import write_table
from tests.conftest import Made, Run


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 5000 + "]" * 5000, "nested more than 100 deep"),
        ("[" * 150 + "]" * 150, "nested more than 100 deep"),
        ("1" * 5000, "thousands of digits"),
        ("[1e999]", "too large"),
        ("9" * 400, "too large"),
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


NAMED: dict[str, Any] = {"name": "n", "title": "t", "alternative": "a"}
Changed = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda one: one["rows"][0].update(value=0.9), r"rows\[0\].value is 0.9"),
        (lambda one: one["rows"][0].update(base=5), r"base must be str, found 5"),
        (lambda one: one["rows"][0]["interval"].update(low="0.5"), "interval.low is '0.5'"),
        (lambda one: one["rows"][0]["predicted"][0][0].__setitem__(0, 1e300), "between 0 and 1"),
        (lambda one: one.update(split_words={"a": []}), "split_words.a must be int"),
        (lambda one: one.update(perplexity=[1]), "perplexity must be"),
        (lambda one: one.update(templates=[1] * 9), r"templates|families"),
    ],
)
def test_a_changed_result_is_refused(made: Made, change: Changed, why: str) -> None:
    document = json.loads(made().to_json())
    change(document)
    with pytest.raises(DataFileError, match=why):
        lmprobe.load_result(json.dumps(document))


def test_a_document_and_what_was_read_from_it() -> None:
    check_same({"a": [1.0, None], "only": 3}, {"a": [1.0 + 1e-12, None], "more": 4})
    for given in ({"a": True}, {"a": "1"}, {"a": 1.001}, {"a": None}, {"a": [1]}):
        with pytest.raises(ValueError, match="a is "):
            check_same(given, {"a": 1})
    check_same({"a": "one"}, {"a": "two"})


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "memory"])
def test_columns_that_differ_in_case_alone_are_refused(kind: str, tmp_path: Path) -> None:
    """DuckDB would give the first of them for both."""
    frame = pd.DataFrame({"a": [1, 3], "A": [2, 4]})
    table: Any = frame
    if kind != "memory":
        table = tmp_path / f"t.{kind}"
        {
            "csv": lambda: frame.to_csv(table, index=False),
            "jsonl": lambda: frame.to_json(table, orient="records", lines=True),
            "parquet": lambda: frame.to_parquet(table),
        }[kind]()
    with pytest.raises(LmprobeError, match='"a" and "A" differ in case alone'):
        read_columns(table)


def test_a_hexadecimal_word_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n0x1F,1\n2,3\n")
    assert read_columns(path).to_dict("list") == {"a": ["0x1F", "2"], "b": [1, 3]}


def test_a_column_name_ends_at_no_nul() -> None:
    with pytest.raises(InputError, match="NUL"):
        read_columns(pd.DataFrame({"a\0b": [1]}))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, command: Callable[..., Run]) -> None:
    for name in ("result.json", "table.csv", "table.jsonl", "table.parquet", "list.json"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(DataFileError, match="no regular file"):
        lmprobe.load_result(tmp_path / "result.json")
    with pytest.raises(DataFileError, match="no regular file"):
        lmprobe.load_result(tmp_path)
    for name in ("table.csv", "table.jsonl", "table.parquet"):
        with pytest.raises(DataFileError, match="no regular file"):
            read_columns(tmp_path / name)
    with pytest.raises(DataFileError, match="no regular file"):
        lmprobe.vision.imsitu(tmp_path / "list.json")
    os.mkfifo(tmp_path / "models.txt")
    with pytest.raises(DataFileError, match="no regular file"):
        subjects([tmp_path / "models.txt"])
    text = tmp_path / "corpus"
    text.write_text("She is a nurse.\n")
    code, _, message = command("count")(
        text, "--tasks", "nurse,cook", "--checkpoint", tmp_path / "list.json"
    )
    assert (code, "no regular file" in message) == (2, True)


def test_a_file_in_a_folder_whose_name_is_not_utf8(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")).write_text("a,b\n1,2\n")
    with pytest.raises(DataFileError, match=r"is not valid UTF-8; rename the file"):
        read_columns(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"planted_amplification": 1},
        {"planted_amplification": {}},
        {"planted_amplification": {"base": "labor", "attributes": 3}},
        {"planted_amplification": {"base": "labor", "attributes": ["he", "she"], "values": []}},
        {"planted_amplification": {"base": "labor", "attributes": ["he", "she"], "values": None}},
        [],
    ],
)
def test_the_truth_of_a_strange_model_says_nothing(
    change: object, tmp_path: Path, made: Made
) -> None:
    known = {"schema": TRUTH_SCHEMA, **change} if isinstance(change, dict) else change
    (tmp_path / TRUTH_FILE).write_text(json.dumps(known))
    row = made(tasks=("nurse", "cook"), bases=("labor",), templates=("a", "b")).rows[0]
    assert levels._planted(str(tmp_path), row) is None


def test_a_page_of_very_many_templates_stays_readable(made: Made) -> None:
    """At most 500 dots a strip, each with how many values it stands for; all are in the JSON."""
    sentences = [f"[pronoun] is a word{number} [task]." for number in range(10_000)]
    result = made(tasks=("nurse", "cook", "lawyer"), bases=("labor",), templates=sentences)
    page = result.to_html()
    assert len(page) < 2_000_000
    assert "and 9,500 more" in page
    assert "20 values, " in page
    (strip,) = result.figure("templates-task_to_attribute").figure.strips
    shown = list(_shown(strip))
    assert len(shown) == 500
    assert sum(value for value, _ in shown) / 500 == pytest.approx(strip.mean)


def test_names_that_are_not_utf_8_are_refused(command: Callable[..., Run]) -> None:
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


def test_other_shapes_than_the_configuration_says() -> None:
    advice = "You set `ignore_mismatched_sizes` to `False`, thus raising an error"
    assert "ignore" not in first_line(RuntimeError(advice))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_table_of_very_many_columns(suffix: str, tmp_path: Path) -> None:
    """The columns asked for are those that pandas finds; the answer of `amplify` is the same."""
    people = pd.DataFrame(
        {
            "gender": ["man", "woman", "man", "woman", "", "man"],
            "task": ["a,b", 'c"', "a,b", "a,b", 'c"', 'c"'],
            "guess": ["a,b", "a,b", "a,b", 'c"', 'c"', 'c"'],
        }
    )
    extra = pd.DataFrame(1, index=people.index, columns=[f"c{number}" for number in range(30_000)])
    extra["c29999"] = range(6)
    wide, narrow = tmp_path / f"wide{suffix}", tmp_path / "narrow.csv"
    pd.concat([people, extra], axis=1).to_csv(wide, index=False)
    people.to_csv(narrow, index=False)
    found = read_columns(wide, ["gender", "c29999", "task"])
    assert found["c29999"].tolist() == [0, 1, 2, 3, 4, 5]
    assert found["task"].tolist() == people["task"].tolist()
    assert found["gender"].isna().tolist() == [False] * 4 + [True, False]
    columns = {"attribute": "gender", "task": "task", "task_prediction": "guess"}
    with pytest.raises(DataFileError) as of_narrow:
        lmprobe.amplify(narrow, **columns)
    with pytest.raises(DataFileError) as of_wide:
        lmprobe.amplify(wide, **columns)
    assert str(of_wide.value) == str(of_narrow.value).replace(str(narrow), str(wide))


@pytest.mark.parametrize("threads", [math.inf, None, [], "one"])
def test_a_cache_entry_with_a_right_checksum_and_wrong_content(threads: object) -> None:
    content = {"model": "m", "threads": threads, "numbers": {"log": [-1.0]}}
    assert Entry.from_json(seal(content, "key"), "key") is None
    right = seal({**content, "threads": 2}, "key")
    assert Entry.from_json(right, "key") == Entry("m", {"log": (-1.0,)}, 2)


def test_an_adapter_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("[" * 5000)
    with pytest.raises(ModelError, match="does not name its base model"):
        lmprobe.load_model(tmp_path)


def test_lists_of_other_lengths() -> None:
    check_same({"limits": ["one"]}, {"limits": ["one", "two"]})
    for given in ([1.0], [[1.0, 2.0]], "nan"):
        with pytest.raises(ValueError, match="a is "):
            check_same({"a": given}, {"a": None if given == "nan" else [*given, 2.0]})


def test_rows_that_are_one_too_many() -> None:
    """Of a list of other length, sentences may be new; objects with numbers in them may not."""
    row = {"task": "nurse", "he": 1}
    with pytest.raises(ValueError, match="rows is "):
        check_same({"rows": [row, row]}, {"rows": [row]})
    note = {"kind": "data", "text": "new in this version"}
    check_same({"notes": []}, {"notes": [note]})


def test_a_very_long_word_is_shortened_at_once() -> None:
    started = time.process_time()
    assert len(svg_shortened("x" * 1_000_000, 100, 12)) < 50
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: DotPlot(**NAMED, categories=("a", "b"), dots=(Dots("", (1.0,)),), x_label=""),
        lambda: HeatMap(**NAMED, rows=("a",), blocks=(HeatBlock("", ("b",), ((1.0, 2.0),)),)),
        lambda: Strip("", (1.0,), (), 1.0),
        lambda: Series("", (1.0,), (1.0,), low=(0.0, 0.0)),
    ],
)
def test_figures_have_all_their_values(make: Callable[[], object]) -> None:
    with pytest.raises(AssertionError):
        make()


def test_a_compressed_table_whose_checksum_is_wrong(tmp_path: Path) -> None:
    """DuckDB reads it as if nothing had happened."""
    path = tmp_path / "t.csv.gz"
    packed = bytearray(gzip.compress(b"a,b\n1,2\n"))
    packed[-8] ^= 1
    path.write_bytes(packed)
    with pytest.raises(DataFileError, match=r"a whole gzip file: .*data check"):
        read_columns(path)


def test_a_table_where_a_list_belongs() -> None:
    with pytest.raises(ValueError, match=r"rows is \{\}"):
        check_same({"rows": {}}, {"rows": []})
