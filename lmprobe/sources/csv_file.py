"""Reads and writes a base-rate table: NAME.csv, and NAME.toml beside it with its provenance."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe import atomic
from lmprobe.errors import DataFileError, InputError, did_you_mean
from lmprobe.sources.source import PROVENANCE, Provenance
from lmprobe.sources.table import Table, provenance_of

# Narrower than float(): no underscores, no "nan", no "inf", no digits of other scripts.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# A spreadsheet that opens the file would run a cell that starts like this.
_FORMULA = tuple("=+-@")
# What an entry of the TOML must be; text where nothing else is said.
_KINDS = {
    "year": "a whole number or text",
    "notes": "text or a list of texts",
    "aliases": "a table of words, each with the task it means",
}


class TableError(DataFileError):
    """A table with mistakes in its lines: `mistakes` holds them all."""

    def __init__(self, path: Path, mistakes: list[str]) -> None:
        """Show the first one and say how many more there are."""
        self.mistakes = tuple(mistakes)
        more = f" ({len(mistakes) - 1} more; `lmprobe validate {path}` shows all)"
        super().__init__(mistakes[0] + more * (len(mistakes) > 1))


def read_table(path: Path, name: str | None = None) -> Table:
    """Read a base-rate CSV and the TOML beside it, if there is one."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise DataFileError(f"{path}: {problem.strerror}") from problem
    attributes, rows = _read_rows(path, _decode(path, raw))
    sha256 = hashlib.sha256(raw).hexdigest()
    found = _read_toml(path.with_suffix(".toml"), sha256)
    aliases = found.pop("aliases", {})
    unknown = [word for word in aliases.values() if word not in rows]
    if unknown:
        raise DataFileError(
            f'{path.with_suffix(".toml")}: an alias means "{unknown[0]}", which is no task of '
            f"{path.name}; {did_you_mean(unknown[0], rows)}"
        )
    return Table(
        name or path.stem,
        attributes,
        tuple(rows),
        np.array(list(rows.values())).T,
        provenance_of(found, title=path.name, sha256=sha256),
        aliases,
    )


def write_table(table: Table, path: str | Path) -> Path:
    """Write a table as a base-rate CSV with its TOML beside it; return the CSV's path."""
    path = Path(path)
    if path.suffix != ".csv":
        raise InputError(f"{path}: the name of a base-rate table must end in .csv")
    for label in (*table.attributes, *table.tasks):
        if label.lstrip().startswith(_FORMULA):
            raise InputError(f'{path}: "{label}" looks like a formula; rename the label')
    text = table.csv()
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    # The TOML of an older table must never sit beside a newer CSV, so it goes first.
    path.with_suffix(".toml").unlink(missing_ok=True)
    atomic.write_text(path, text)
    facts = {**table.provenance, "sha256": sha256}
    atomic.write_text(path.with_suffix(".toml"), _toml(facts, table.aliases))
    return path


def _decode(path: Path, raw: bytes) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise DataFileError(
            f"{path}, line {line}: byte 0x{raw[problem.start]:02x} is not UTF-8; "
            "save the table as UTF-8"
        ) from None
    if not text.strip():
        raise DataFileError(f"{path}: the file is empty; it needs a header such as task,he,she")
    return text


def _read_rows(path: Path, text: str) -> tuple[tuple[str, ...], dict[str, list[float]]]:
    """Return the attributes and, for each task, its numbers."""
    lines = _cells(path, text)
    line, header = next(lines)
    attributes = _checked_header(f"{path}, line {line}", header)
    rows: dict[str, list[float]] = {}
    first: dict[str, int] = {}
    mistakes: list[str] = []
    for line, cells in lines:
        wrong = [f"{path}, line {line}{what}" for what in _mistakes(header, cells, first)]
        first.setdefault(cells[0], line)
        mistakes += wrong
        if not wrong:
            rows[cells[0]] = [float(cell) for cell in cells[1:]]
    if mistakes:
        raise TableError(path, mistakes)
    if not rows:
        raise DataFileError(f"{path}: there is a header but no task below it")
    return attributes, rows


def _mistakes(header: list[str], cells: list[str], first: Mapping[str, int]) -> Iterator[str]:
    """Yield what is wrong with a line; `first` is the line on which each task stands."""
    if len(cells) != len(header):
        yield f": found {len(cells)} cells, the header has {len(header)}"
        return
    task = cells[0]
    if not task:
        yield ": the task has no name"
    elif task.startswith(_FORMULA):
        yield f': "{task}" looks like a formula, not like a word'
    elif task in first:
        yield f': the task "{task}" is already on line {first[task]}; keep one of them'
    for attribute, cell in zip(header[1:], cells[1:], strict=True):
        if not _NUMBER.fullmatch(cell):
            what = "looks like a formula" if cell.startswith(_FORMULA) else "is not a number"
            yield f', column "{attribute}": "{cell}" {what}; write a count such as 12 or 0.5'
        elif not 0 <= float(cell) < np.inf:
            yield f', column "{attribute}": found {cell}; counts must be finite and not negative'


def _cells(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each line that is not blank, with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield reader.line_num, stripped
    except csv.Error as problem:
        raise DataFileError(f"{path}, line {reader.line_num}: {problem}") from None


def _checked_header(where: str, header: list[str]) -> tuple[str, ...]:
    if header[0] != "task":
        raise DataFileError(
            f'{where}: the first column must be called "task", found "{header[0]}"; '
            "a base-rate table starts with a line such as task,he,she"
        )
    attributes = tuple(header[1:])
    if len(attributes) < 2:
        raise DataFileError(
            f"{where}: found {len(attributes)} attribute columns; rates need at least two, "
            "such as task,he,she"
        )
    for number, attribute in enumerate(attributes, start=2):
        if not attribute:
            raise DataFileError(f"{where}: column {number} has no name")
        if attribute.startswith(_FORMULA):
            raise DataFileError(f'{where}: "{attribute}" looks like a formula, not like a word')
        if attributes.count(attribute) > 1:
            raise DataFileError(f'{where}: the column "{attribute}" appears twice')
    return attributes


def _read_toml(path: Path, sha256: str) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise DataFileError(f"{path}: {problem}") from None
    for key in found:
        if key not in (*PROVENANCE, "aliases"):
            known = did_you_mean(key, (*PROVENANCE, "aliases"))
            raise DataFileError(f'{path}: no entry is called "{key}"; {known}')
        if not _fits(key, found[key]):
            raise DataFileError(f"{path}: {key} must be {_KINDS.get(key, 'text')}")
    if found.get("sha256", sha256) != sha256:
        raise DataFileError(
            f"{path}: the table beside it has changed: its sha256 is {sha256}, written down is "
            f"{found['sha256']}; get the old table back, or correct the provenance and its sha256"
        )
    return found


def _fits(key: str, value: Any) -> bool:
    if key == "aliases":
        return isinstance(value, dict) and all(isinstance(word, str) for word in value.values())
    if key == "notes" and isinstance(value, list):
        return all(isinstance(note, str) for note in value)
    return isinstance(value, str) or (key == "year" and type(value) is int)


def _toml(facts: Provenance, aliases: Mapping[str, str]) -> str:
    """Return TOML; its strings are written as JSON's, which TOML reads alike."""
    lines = []
    for key in PROVENANCE:
        value = facts.get(key)
        if isinstance(value, tuple | list):
            lines += [f"{key} = [", *(f"  {_quoted(one)}," for one in value), "]"]
        elif value is not None:
            lines.append(f"{key} = {_quoted(value)}")
    if aliases:
        lines += ["", "[aliases]", *(f"{_quoted(a)} = {_quoted(b)}" for a, b in aliases.items())]
    return "\n".join(lines) + "\n"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
