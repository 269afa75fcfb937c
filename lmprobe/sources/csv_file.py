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
    for line, cells in lines:
        where = f"{path}, line {line}"
        if len(cells) != len(header):
            raise DataFileError(f"{where}: found {len(cells)} cells, the header has {len(header)}")
        task = cells[0]
        if not task:
            raise DataFileError(f"{where}: the task has no name")
        _refuse_formula(where, task)
        if task in rows:
            raise DataFileError(
                f'{where}: the task "{task}" is already on line {first[task]}; keep one of them'
            )
        first[task] = line
        rows[task] = [
            _checked_number(f'{where}, column "{attribute}"', cell)
            for attribute, cell in zip(attributes, cells[1:], strict=True)
        ]
    if not rows:
        raise DataFileError(f"{path}: there is a header but no task below it")
    return attributes, rows


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
        _refuse_formula(where, attribute)
        if attributes.count(attribute) > 1:
            raise DataFileError(f'{where}: the column "{attribute}" appears twice')
    return attributes


def _refuse_formula(where: str, text: str) -> None:
    if text.startswith(_FORMULA):
        raise DataFileError(f'{where}: "{text}" looks like a formula, not like a word')


def _checked_number(where: str, cell: str) -> float:
    if not _NUMBER.fullmatch(cell):
        what = "looks like a formula" if cell.startswith(_FORMULA) else "is not a number"
        raise DataFileError(f'{where}: "{cell}" {what}; write a count such as 12 or 0.5')
    value = float(cell)
    if not np.isfinite(value) or value < 0:
        raise DataFileError(f"{where}: found {cell}; counts must be finite and not negative")
    return value


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
    if found.get("sha256", sha256) != sha256:
        raise DataFileError(
            f"{path}: the table beside it has changed: its sha256 is {sha256}, written down is "
            f"{found['sha256']}; get the old table back, or correct the provenance and its sha256"
        )
    return found


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
