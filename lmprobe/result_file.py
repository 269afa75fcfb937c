"""Opens the JSON document of a result: where it lies, and whether this lmprobe can read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lmprobe.errors import DataFileError

SCHEMA = "lmprobe.result/1"
RESULT_FILE = "result.json"
"""What a result is called in the folder of a run."""


def read_document(text_or_path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the document and where it was found; another schema is refused with advice."""
    text, where = _text_of(text_or_path)
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise DataFileError(f"{where}: not a JSON document ({problem})") from problem
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise DataFileError(f"{where}: {_refusal(found)}")
    return document, where


def _text_of(text_or_path: str | Path) -> tuple[str, str]:
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith(("{", "[")):
        return text_or_path, "result"
    path = Path(text_or_path)
    if path.is_dir():
        path /= RESULT_FILE
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except FileNotFoundError as problem:
        raise DataFileError(f"{path}: no such result file") from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise DataFileError(f"{path}: cannot be read ({problem})") from problem


def _refusal(schema: object) -> str:
    """Return why a document of this schema is not read, and what to do."""
    kind, _, version = str(schema).partition("/")
    if kind != SCHEMA.partition("/")[0]:
        return f"not a result of `lmprobe run`: its schema is {schema!r}, not {SCHEMA!r}"
    newer = version.isdecimal() and int(version) > int(SCHEMA.partition("/")[2])
    advice = "a newer lmprobe made it" if newer else "make the result again with `lmprobe run`"
    return f"its schema is {schema!r}, this lmprobe reads {SCHEMA!r}; {advice}"
