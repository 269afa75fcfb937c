"""Reads and writes a base-rate table: NAME.csv, and NAME.toml beside it with its provenance."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.atomic import write_texts
from lmprobe.io.documents import FileProblems, Problem, problem_in
from lmprobe.sources.description import (
    check_free,
    description_text,
    read_description,
    sampling_of,
    units_of,
)
from lmprobe.sources.table import UNIT, BaseTable, provenance_of

# Narrower than float(): no underscores, no "nan", no "inf", no digits of other scripts.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# A spreadsheet that opens the file would run a cell that starts like this.
_FORMULA = tuple("=+-@")


def read_table(path: Path, name: str | None = None) -> BaseTable:
    """Read a base-rate CSV and the TOML beside it, if there is one."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise problem_in(path, str(problem.strerror)) from problem
    sha256, beside = hashlib.sha256(raw).hexdigest(), path.with_suffix(".toml")
    attributes, rows, column = _read_rows(path, _decode(path, raw))
    description = read_description(beside, sha256)
    aliases = description.get("aliases", {})
    unknown = [word for word in aliases.values() if word not in rows]
    if unknown:
        raise problem_in(
            beside,
            f'an alias means "{unknown[0]}", which is no task of '
            f"{path.name}; {did_you_mean(unknown[0], rows)}",
        )
    return BaseTable(
        name or path.stem,
        attributes,
        tuple(rows),
        np.array(list(rows.values())).T,
        provenance_of(description, title=path.name, sha256=sha256),
        aliases,
        sampling_of(description, beside, attributes, tuple(rows)),
        column | units_of(description, beside, rows),
    )


def write_table(table: BaseTable, path: str | Path) -> Path:
    """Write a table as a base-rate CSV with its TOML beside it; return the CSV's path.

    Each is replaced whole, one after the other. A writer that was killed in between leaves a
    description whose checksum is not that of the table: reading such a table is an error.
    """
    path = Path(path)
    if path.suffix != ".csv":
        raise InputError(f"{path}: the name of a base-rate table must end in .csv")
    check_labels((*table.attributes, *table.tasks))
    text = table.csv()
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    check_free(path.with_suffix(".toml"))
    write_texts({path: text, path.with_suffix(".toml"): description_text(table, sha256)})
    return path


def check_labels(labels: Iterable[str]) -> None:
    """Refuse a label that a spreadsheet would run as a formula when it opens the table."""
    for label in labels:
        if label.lstrip().startswith(_FORMULA):
            raise InputError(f'"{label}" looks like a formula; rename the label')


def _decode(path: Path, raw: bytes) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        message = f"byte 0x{raw[problem.start]:02x} is not UTF-8; save the table as UTF-8"
        raise problem_in(path, message, line=line) from None
    if not text.strip():
        raise problem_in(path, "the file is empty; it needs a header such as task,he,she")
    return text


def _read_rows(
    path: Path, text: str
) -> tuple[tuple[str, ...], dict[str, list[float]], dict[str, str]]:
    """Return the attributes, the numbers of each task, and the units of those that have one."""
    lines = _cells(path, text)
    line, header = next(lines)
    if message := next(_header_mistakes(header), ""):
        raise problem_in(path, message, line=line)
    rows: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    first: dict[str, int] = {}
    mistakes: list[Problem] = []
    for line, cells in lines:
        wrong = [
            Problem(path, column, message, line)
            for column, message in _mistakes(header, cells, first)
        ]
        first.setdefault(cells[0], line)
        mistakes += wrong
        if not wrong:
            row = dict(zip(header[1:], cells[1:], strict=True))
            if unit := row.pop(UNIT, ""):
                units[cells[0]] = unit
            rows[cells[0]] = [float(cell) for cell in row.values()]
    if mistakes:
        raise FileProblems(mistakes)
    if not rows:
        raise problem_in(path, "there is a header but no task below it")
    return tuple(name for name in header[1:] if name != UNIT), rows, units


def _mistakes(
    header: list[str], cells: list[str], first: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Yield column and message of each mistake; `first` is the line that each task is on."""
    if len(cells) != len(header):
        yield "", f"found {len(cells)} cells, the header has {len(header)}"
        return
    task = cells[0]
    if not task:
        yield "", "the task has no name"
    elif task.startswith(_FORMULA):
        yield "", f'"{task}" looks like a formula, not like a word'
    elif task in first:
        yield "", f'the task "{task}" is already on line {first[task]}; keep one of them'
    for attribute, cell in zip(header[1:], cells[1:], strict=True):
        column = f'column "{attribute}"'
        if attribute == UNIT:
            continue
        if not _NUMBER.fullmatch(cell):
            what = "looks like a formula" if cell.startswith(_FORMULA) else "is not a number"
            yield column, f'"{cell}" {what}; write a count such as 12 or 0.5'
        elif not 0 <= float(cell) < np.inf:
            yield column, f"found {cell}; counts must be finite and not negative"


def _cells(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each line that is not blank, with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            # Composed, as the words of templates are, so that the same word is the same.
            stripped = [unicodedata.normalize("NFC", cell.strip()) for cell in cells]
            if any(stripped):
                yield reader.line_num, stripped
    except csv.Error as problem:
        raise problem_in(path, str(problem), line=reader.line_num) from None


def _header_mistakes(header: list[str]) -> Iterator[str]:
    attributes = header[1:]
    if header[0] != "task":
        yield (
            f'the first column must be called "task", found "{header[0]}"; '
            "a base-rate table starts with a line such as task,he,she, with commas"
        )
    number = len(attributes) - attributes.count(UNIT)
    if number < 2:
        yield f"found {number} attribute columns; rates need at least two, such as task,he,she"
    seen: set[str] = set()
    for number, attribute in enumerate(attributes, start=2):
        if not attribute:
            yield f"column {number} has no name"
        if attribute.startswith(_FORMULA):
            yield f'"{attribute}" looks like a formula, not like a word'
        if attribute in seen:
            yield f'the column "{attribute}" appears twice'
        seen.add(attribute)
