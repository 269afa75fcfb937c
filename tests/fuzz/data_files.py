"""Readers of template sets, item tables, lexicons, word lists, base rates, results, annotations."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe import load_result, load_templates, vision
from lmprobe.errors import InputError, LmprobeError
from lmprobe.io.table_files import csv_text, write_table as write_labels
from lmprobe.io.tables import read_columns
from lmprobe.report.terminal import table_text
from lmprobe.sources.counting.count import count_words
from lmprobe.sources.counting.lexicon import read_words
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.validation import validate_files
from lmprobe.tabular.annotations import convert
from lmprobe.templates import load_lexicon, words_by_label
from tests.fuzz.mutations import Mutation, damage_json, damage_lines
from tests.fuzz.reader import SEEDS, Reader, WrongNumber, stored

_EARLIER = ("../../golden/probe-v1.json", "../../golden/probe-v2-uneven.json")


_ITEMS = (
    "task,template,item,cluster,he,she\n"
    "nurse,one,a,x,He is a nurse.,She is a nurse.\n"
    'nurse,two,a,x,"He, my nurse, sleeps.","She, my kind nurse, sleeps."\n'
    "厨师,one,1,y,他是厨师。,她是厨师。\n"
    "厨师,two,1,y,He's a cook.,She's a cook.\n"
).encode()
_PAIRS = (
    b",sent_more,sent_less,stereo_antistereo,bias_type,anon_writer\n"
    b"0,Old cats sleep.,Young cats sleep.,stereo,age,a1\n"
    b"1,Old cats hunt.,Young cats hunt.,antistereo,age,a2\n"
)


def readers() -> list[Reader]:
    """Return the readers of this file; one of results for every job, and of earlier ones."""
    results = [f"results/{path.name}" for path in sorted((SEEDS / "results").glob("*.json"))]
    return [
        Reader("templates", "set.toml", stored("templates.toml"), damage_lines, read_templates),
        Reader("items", "items.csv", lambda: (_ITEMS,), damage_lines, read_items, 0.3),
        Reader("pairs", "pairs.csv", lambda: (_PAIRS,), damage_lines, read_pairs, 0.3),
        Reader("lexicon", "words.toml", stored("lexicon.toml"), damage_lines, read_lexicon),
        Reader("base-csv", "base.csv", stored("base.csv"), damage_lines, read_base_table),
        Reader("base-toml", "base.toml", stored("base.toml"), damage_lines, read_base_description),
        Reader("word-list", "words.txt", stored("words.txt"), damage_lines, read_word_list),
        *(_result(name) for name in [*results, *_EARLIER]),
        _annotations("coco-instances", "instances.json", damage_json),
        _annotations("coco-captions", "captions.json", damage_json),
        _annotations("imsitu", "imsitu.json", damage_json),
        _annotations("celeba", "celeba.txt", damage_lines),
        _annotations("celeba-partition", "partition.txt", damage_lines),
        _annotations("generated-captions", "generated.json", damage_json),
    ]


def _result(seed: str) -> Reader:
    name = f"result-{Path(seed).stem}"
    return Reader(name, "result.json", stored(seed), damage_json, read_result, 0.2)


def _annotations(name: str, file: str, damage: Mutation) -> Reader:
    return Reader(name, file, stored(f"vision/{file}"), damage, read_annotations, 0.15)


def read_templates(path: Path) -> None:
    (checked,) = validate_files([path])
    try:
        result = load_templates(path)
    except LmprobeError:
        if not checked.mistakes:
            raise WrongNumber("validate finds nothing in a file that cannot be loaded") from None
        raise
    for template in result.templates:
        for attribute in result.all_attributes:
            template.sentence(
                result.attribute_words[attribute][0], result.task_words[result.tasks[0]][0]
            )


def read_items(path: Path) -> None:
    """Read an item table, write it, and read it again."""
    table = load_templates(path).with_words()
    texts = [sentence.text for sentence in table.sentences()]
    for item in range(len(table.items)):
        table.shown(item)
    written = path.with_name("again.parquet")
    write_labels(table.item_table(), written)
    again = load_templates(written).with_words(table.attributes)
    if [sentence.text for sentence in again.sentences()] != texts:
        raise WrongNumber("the sentences change when they are written and read again")


def read_pairs(path: Path) -> None:
    convert("crows-pairs", [path], path.with_name("items.csv"))
    load_templates(path.with_name("items.csv")).with_words()


def read_lexicon(path: Path) -> None:
    words_by_label(load_lexicon(path).entries, forms=True)


def read_word_list(path: Path) -> None:
    count_words(attributes={"he": ["he"], "she": ["she"]}, tasks=read_words(str(path)))


def read_base_table(path: Path) -> None:
    """Compare with the csv module, then write the table and read it back."""
    table = read_table(path)
    # A letter and its accent are one character, however they were written.
    text = unicodedata.normalize("NFC", path.read_bytes().decode("utf-8-sig"))
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text, newline=""))]
    header, *body = [row for row in rows if any(row)]
    own = {row[0]: [float(cell) for cell in row[1:]] for row in body}
    if header[1:] != list(table.attributes) or own != _columns(table):
        raise WrongNumber("the table has other numbers than the file")
    again = read_table(write_table(table, path.with_name("again.csv")))
    if again.attributes != table.attributes or _columns(again) != own:
        raise WrongNumber("the table changes when it is written and read again")


def _columns(table: Any) -> dict[str, list[float]]:
    return dict(zip(table.tasks, table.counts.T.tolist(), strict=True))


def read_base_description(path: Path) -> None:
    beside = path.with_suffix(".csv")
    beside.write_bytes((SEEDS / "base.csv").read_bytes())
    table = read_table(beside)
    again = read_table(write_table(table, path.with_name("again.csv")))
    words = [(item.aliases, item.units) for item in (again, table)]
    if words[0] != words[1] or {**again.provenance, "sha256": 0} != {
        **table.provenance, "sha256": 0
    }:  # fmt: skip
        raise WrongNumber("the description changes when it is written and read again")


def read_result(path: Path) -> None:
    """Open a result, make every form of it, and compare its JSON with itself read again."""
    result = load_result(path)
    text = result.to_json()
    if load_result(text).to_dict() != json.loads(text):
        raise WrongNumber("the result changes when it is written and read again")
    result.to_html()
    result.to_markdown()
    result.to_latex()
    repr(result)
    for frame in result.frames().values():
        csv_text(frame)
    for table in result.tables():
        table_text(table)
    with contextlib.suppress(InputError):
        result.claims()


def read_annotations(path: Path) -> None:
    """Convert the file, write the table in every format and read it back."""
    frame = _converted(path)
    for suffix in (".csv", ".parquet", ".jsonl"):
        written = path.with_name(f"converted{suffix}")
        write_labels(frame, written)
        again = read_columns(written, text=["image_id"])
        if len(again) != len(frame) or [name.lstrip("'") for name in again.columns] != [
            str(name).lstrip("'") for name in frame.columns
        ]:
            raise WrongNumber(f"{suffix}: the table changes when it is written and read again")


def _converted(path: Path) -> Any:
    beside = SEEDS / "vision"
    match path.stem:
        case "instances":
            return vision.coco(path, beside / "captions.json", boxes=True)
        case "captions":
            return vision.coco(beside / "instances.json", path)
        case "imsitu":
            return vision.imsitu(path)
        case "celeba":
            return vision.celeba(path)
        case "partition":
            return vision.celeba(beside / "celeba.txt", partition=path)
    labels = {"image_id": [9, 25], "gender": ["man", "woman"], "object.tie": [1, 0]}
    return vision.captions(path, pd.DataFrame(labels), keep_unclear=True)
