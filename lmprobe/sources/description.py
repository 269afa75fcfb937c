"""The TOML beside a base-rate table: where its numbers come from and how they were sampled."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.documents import parse_toml, problem_in
from lmprobe.sources.source import PROVENANCE, Provenance
from lmprobe.sources.table import BaseTable, Sampling

_KEYS = (*PROVENANCE, "counts", "standard_errors", "units", "rows", "aliases")
# What an entry must be; text where nothing else is listed.
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
_OTHER_FILES = ("sentences", "slots", "entries")


def read_description(path: Path, sha256: str) -> dict[str, Any]:
    """Return the TOML at `path`, checked; empty if there is none or it is about something else."""
    if not path.is_file():
        return {}
    try:
        # Composed, as the words of the table are, so that the same word is the same.
        table = parse_toml(unicodedata.normalize("NFC", path.read_text(encoding="utf-8-sig")))
    except ValueError as problem:
        raise problem_in(path, str(problem)) from None
    if is_other_file(table):
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


def is_other_file(table: Mapping[str, Any]) -> bool:
    """Tell whether a TOML document is a template set or a lexicon."""
    return any(key in table for key in _OTHER_FILES)


def check_free(path: Path) -> None:
    """Refuse to write a description where a template set or a lexicon is."""
    try:
        table = parse_toml(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    except ValueError:
        return
    if is_other_file(table):
        raise InputError(
            f"{path} is a template set or a lexicon, and the description of the table would be "
            "written there; choose another name"
        )


def units_of(table: Mapping[str, Any], path: Path, tasks: Collection[str]) -> dict[str, str]:
    """Return the row of the source that each task was read from, where the TOML says so.

    Tables written before `units` have them as `rows`.
    """
    key = "units" if "units" in table else "rows"
    units: dict[str, str] = table.get(key, {})
    unknown = [task for task in units if task not in tasks]
    if unknown:
        hint = did_you_mean(unknown[0], tasks)
        raise problem_in(path, f'{key}: no task "{unknown[0]}" in the table; {hint}')
    return units


def sampling_of(
    table: Mapping[str, Any], path: Path, attributes: Sequence[str], tasks: Sequence[str]
) -> Sampling | None:
    """Return how the numbers of a table were sampled, as its TOML says; None if it does not."""
    if table.get("counts"):
        return Sampling()
    rows = table.get("standard_errors")
    if rows is None:
        return None
    for task, row in rows.items():
        if task not in tasks:
            hint = did_you_mean(task, tasks)
            raise problem_in(path, f'standard_errors: no task "{task}" in the table; {hint}')
        if len(row) != len(attributes):
            raise problem_in(
                path,
                f'standard_errors: "{task}" has {len(row)} numbers, the table has '
                f"{len(attributes)} attributes",
            )
    lacking = [task for task in tasks if task not in rows]
    if lacking:
        raise problem_in(path, f'standard_errors: no line for "{lacking[0]}"; add it')
    return Sampling(np.array([rows[task] for task in tasks], dtype=np.float64).T)


def description_text(table: BaseTable, sha256: str) -> str:
    """Return the TOML of a table; its strings are written as JSON's, which TOML reads alike."""
    facts: Provenance = {**table.provenance, "sha256": sha256}
    lines = []
    for key in PROVENANCE:
        value = facts.get(key)
        if isinstance(value, tuple | list):
            lines += [f"{key} = [", *(f"  {_quoted(one)}," for one in value), "]"]
        elif value is not None:
            lines.append(f"{key} = {_quoted(value)}")
    if table.sampling is not None and table.sampling.standard_errors is None:
        lines.append("counts = true")
    elif table.sampling is not None:
        lines += ["", "[standard_errors]"]
        errors = table.sampling.standard_errors
        assert errors is not None
        for task, row in zip(table.tasks, errors.T.tolist(), strict=True):
            lines.append(f"{_quoted(task)} = {row}")
    for key, words in (("units", table.units), ("aliases", table.aliases)):
        if words:
            lines += ["", f"[{key}]"]
            lines += [f"{_quoted(word)} = {_quoted(meant)}" for word, meant in words.items()]
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


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
