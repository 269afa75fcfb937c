"""Reads and writes a base-rate table: NAME.csv, and NAME.toml beside it with its provenance."""

from __future__ import annotations

import hashlib
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.errors import InputError, did_you_mean, plural
from lmprobe.io.files import FileProblems, Problem, parse_toml, problem_in, toml_text, write_texts
from lmprobe.io.table_files import CsvError, csv_rows
from lmprobe.sources.source import PROVENANCE, UNIT, BaseTable, Sampling, provenance_of

# Narrower than float(): no underscores, no "nan", no "inf", no digits of other scripts.
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# A spreadsheet that opens the file would run a cell that starts like this.
_FORMULA = tuple("=+-@")

_KEYS = (*PROVENANCE, "counts", "standard_errors", "units", "rows", "aliases")
# What an entry of the TOML must be; text where nothing else is listed.
_KINDS = {
    "year": "a whole number or text",
    "notes": "text or a list of texts",
    "aliases": "a table of words, each with the task it means",
    "units": "a table of tasks, each with the row of the source that it was read from",
    "rows": "a table of tasks, each with the row of the source that it was read from",
    "counts": "true or false",
    "standard_errors": "a table of tasks, each with a list of numbers, one per attribute",
}
# A file of templates or words that has the name of the table is not about the table.
_OTHER_FILES = {"sentences", "slots", "entries"}


def read_table(path: Path, name: str | None = None) -> BaseTable:
    """Read a base-rate CSV and the TOML beside it, if there is one."""
    try:
        raw = path.read_bytes()
    except OSError as problem:
        raise problem_in(path, str(problem.strerror)) from problem
    sha256, beside = hashlib.sha256(raw).hexdigest(), path.with_suffix(".toml")
    attributes, rows, units = _read_rows(path, _decode(path, raw))
    description = _read_description(beside, sha256)
    aliases = description.get("aliases", {})
    unknown = [word for word in aliases.values() if word not in rows]
    if unknown:
        raise problem_in(
            beside,
            f'an alias means "{unknown[0]}", which is no task of '
            f"{path.name}; {did_you_mean(unknown[0], rows)}",
        )
    # Tables written before `units` have them as `rows`.
    key = "units" if "units" in description else "rows"
    units |= description.get(key, {})
    _check_tasks(description.get(key, {}), key, beside, rows)
    return BaseTable(
        name or path.stem,
        attributes,
        tuple(rows),
        np.array(list(rows.values())).T,
        provenance_of(description, title=path.name, sha256=sha256),
        aliases,
        _sampling(description, beside, attributes, tuple(rows)),
        units,
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
    text, beside = table.csv(), path.with_suffix(".toml")
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    check_free(beside)
    write_texts({path: text, beside: _description_text(table, sha256)})
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
    problems: list[Problem] = []
    for line, cells in lines:
        mistakes = list(_mistakes(header, cells, first))
        problems += [Problem(path, column, message, line) for column, message in mistakes]
        first.setdefault(cells[0], line)
        if not mistakes:
            row = dict(zip(header[1:], cells[1:], strict=True))
            if unit := row.pop(UNIT, ""):
                units[cells[0]] = unit
            rows[cells[0]] = [float(cell) for cell in row.values()]
    if problems:
        raise FileProblems(problems)
    if not rows:
        raise problem_in(path, "there is a header but no task below it")
    return tuple(name for name in header[1:] if name != UNIT), rows, units


def _mistakes(
    header: list[str], cells: list[str], first: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Yield column and message of each mistake; `first` is the line that each task is on."""
    if len(cells) != len(header):
        yield "", f"found {plural(len(cells), 'cell')}, the header has {len(header)}"
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
    try:
        for line, cells in csv_rows(io.StringIO(text, newline=""), strict=True):
            # Composed, as the words of templates are, so that the same word is the same.
            stripped = [unicodedata.normalize("NFC", cell.strip()) for cell in cells]
            if any(stripped):
                yield line, stripped
    except CsvError as problem:
        raise problem_in(path, str(problem), line=problem.line) from None


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
    for number, attribute in enumerate(attributes, start=2):
        if not attribute:
            yield f"column {number} has no name"
        if attribute.startswith(_FORMULA):
            yield f'"{attribute}" looks like a formula, not like a word'
        if attribute in attributes[: number - 2]:
            yield f'the column "{attribute}" appears twice'


def _read_description(path: Path, sha256: str) -> dict[str, Any]:
    """Return the TOML at `path`, checked; empty if there is none or it is about something else."""
    if not path.is_file():
        return {}
    try:
        # Composed, as the words of the table are, so that the same word is the same.
        table = parse_toml(unicodedata.normalize("NFC", path.read_text(encoding="utf-8-sig")))
    except ValueError as problem:
        raise problem_in(path, str(problem)) from None
    if _OTHER_FILES & set(table):
        return {}
    for key in table:
        if key not in _KEYS:
            raise problem_in(path, f'no entry is called "{key}"; {did_you_mean(key, _KEYS)}')
        if not _fits(key, table[key]):
            raise problem_in(path, f"{key} must be {_KINDS.get(key, 'text')}")
    if table.get("counts") and "standard_errors" in table:
        raise problem_in(
            path, "counts and standard_errors exclude each other; keep the one that is known"
        )
    if table.get("sha256", sha256) != sha256:
        raise problem_in(
            path,
            f"the table beside it has changed: its sha256 is {sha256}, written down is "
            f"{table['sha256']}; get the old table back, or correct the provenance and its sha256",
        )
    return table


def check_free(path: Path) -> None:
    """Refuse to write a description where a template set or a lexicon is."""
    try:
        table = parse_toml(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    except ValueError:
        return
    if _OTHER_FILES & set(table):
        raise InputError(
            f"{path} is a template set or a lexicon, and the description of the table would be "
            "written there; choose another name"
        )


def _check_tasks(named: Iterable[str], key: str, path: Path, tasks: Iterable[str]) -> None:
    for task in named:
        if task not in tasks:
            hint = did_you_mean(task, tasks)
            raise problem_in(path, f'{key}: no task "{task}" in the table; {hint}')


def _sampling(
    table: Mapping[str, Any], path: Path, attributes: Sequence[str], tasks: Sequence[str]
) -> Sampling | None:
    """Return how the numbers of a table were sampled, as its TOML says; None if it does not."""
    if table.get("counts"):
        return Sampling()
    rows = table.get("standard_errors")
    if rows is None:
        return None
    _check_tasks(rows, "standard_errors", path, tasks)
    for task in tasks:
        if task not in rows:
            raise problem_in(path, f'standard_errors: no line for "{task}"; add it')
        if len(rows[task]) != len(attributes):
            raise problem_in(
                path,
                f'standard_errors: "{task}" has {len(rows[task])} numbers, the table has '
                f"{len(attributes)} attributes",
            )
    return Sampling(np.array([rows[task] for task in tasks], dtype=np.float64).T)


def _description_text(table: BaseTable, sha256: str) -> str:
    """Return the TOML of a table; its strings are written as JSON's, which TOML reads alike."""
    provenance = {**table.provenance, "sha256": sha256}
    lines = []
    for key in PROVENANCE:
        value = provenance.get(key)
        if isinstance(value, tuple | list):
            lines += [f"{key} = [", *(f"  {toml_text(text)}," for text in value), "]"]
        elif value is not None:
            lines.append(f"{key} = {toml_text(value)}")
    errors = None if table.sampling is None else table.sampling.standard_errors
    if errors is not None:
        lines += ["", "[standard_errors]"]
        for task, row in zip(table.tasks, errors.T.tolist(), strict=True):
            lines.append(f"{toml_text(task)} = {row}")
    elif table.sampling is not None:
        lines.append("counts = true")
    for key, words in (("units", table.units), ("aliases", table.aliases)):
        if words:
            lines += ["", f"[{key}]"]
            lines += [f"{toml_text(word)} = {toml_text(meant)}" for word, meant in words.items()]
    return "\n".join(lines) + "\n"


def _fits(key: str, value: Any) -> bool:
    match key:
        case "aliases" | "units" | "rows":
            return isinstance(value, dict) and all(isinstance(word, str) for word in value.values())
        case "counts":
            return isinstance(value, bool)
        case "standard_errors":
            return isinstance(value, dict) and all(
                isinstance(row, list) and all(_is_error(number) for number in row)
                for row in value.values()
            )
        case "notes" if isinstance(value, list):
            return all(isinstance(note, str) for note in value)
    return isinstance(value, str) or (key == "year" and type(value) is int)


def _is_error(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf
