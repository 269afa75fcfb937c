"""Readers of template sets, lexicons, word lists and base-rate tables."""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path
from typing import Any

from tests.fuzz import mutations
from tests.fuzz.reader import SEEDS, Reader, WrongNumber, stored


def readers() -> list[Reader]:
    """Return the readers of this file."""
    lines = mutations.damage_lines
    return [
        Reader("templates", "set.toml", stored("templates.toml"), lines, read_templates),
        Reader("lexicon", "words.toml", stored("lexicon.toml"), lines, read_lexicon),
        Reader("base-csv", "base.csv", stored("base.csv"), lines, read_base_table),
        Reader("base-toml", "base.toml", stored("base.toml"), lines, read_base_description),
        Reader("word-list", "words.txt", stored("words.txt"), lines, read_word_list),
    ]


def read_templates(path: Path) -> None:
    from lmprobe import load_templates
    from lmprobe.errors import LmprobeError
    from lmprobe.sources.validation import validate_files

    (checked,) = validate_files([path])
    try:
        found = load_templates(path)
    except LmprobeError:
        if not checked.mistakes:
            raise WrongNumber("validate finds nothing in a file that cannot be loaded") from None
        raise
    for template in found.templates:
        for attribute in found.all_attributes:
            template.sentence(
                found.attribute_words[attribute][0], found.task_words[found.tasks[0]][0]
            )


def read_lexicon(path: Path) -> None:
    from lmprobe.corpus.lexicon import words_of
    from lmprobe.templates import load_lexicon

    words_of(load_lexicon(path))


def read_word_list(path: Path) -> None:
    from lmprobe.corpus.count import count_words
    from lmprobe.corpus.word_lists import read_words

    count_words(attributes={"he": ["he"], "she": ["she"]}, tasks=read_words(str(path)))


def read_base_table(path: Path) -> None:
    """Compare with the csv module, then write the table and read it back."""
    from lmprobe.sources.csv_file import read_table, write_table

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
    from lmprobe.sources.csv_file import read_table, write_table

    beside = path.with_suffix(".csv")
    beside.write_bytes((SEEDS / "base.csv").read_bytes())
    table = read_table(beside)
    again = read_table(write_table(table, path.with_name("again.csv")))
    if dict(again.aliases) != dict(table.aliases) or {**again.provenance, "sha256": 0} != {
        **table.provenance, "sha256": 0
    }:  # fmt: skip
        raise WrongNumber("the description changes when it is written and read again")
