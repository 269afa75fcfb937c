"""Opens the JSON document of a result: where it lies, and whether this lmprobe can read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.documents import parse_json, refuse_pipe

SCHEMA = "lmprobe.result/2"
RESULT_FILE = "result.json"
"""What a result is called in the folder of a run."""
FILES = (RESULT_FILE, "sweep.json", "comparison.json")
"""What a folder may keep its result as."""

_FAMILY, _, _VERSION = SCHEMA.partition("/")


def read_document(
    text_or_path: str | Path, *, kind: str | None = None
) -> tuple[dict[str, Any], str]:
    """Return the document and where it was found; another schema or kind is refused.

    Version 1 knew only probes and had no `kind`: it is added.
    """
    if not isinstance(text_or_path, str | Path):
        raise InputError(f"a result, its JSON or its path is expected: found {text_or_path!r}")
    text, where = _text_of(text_or_path)
    try:
        document = parse_json(text)
    except ValueError as problem:
        raise DataFileError(f"{where}: not a JSON document ({problem})") from problem
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == f"{_FAMILY}/1":
        document["kind"] = "probe"
    elif schema != SCHEMA:
        raise DataFileError(f"{where}: {_refusal(schema)}")
    if kind is not None and document.get("kind") != kind:
        raise DataFileError(
            f"{where}: the result of another job, {document.get('kind')!r}; expected {kind!r}"
        )
    return document, where


def _text_of(text_or_path: str | Path) -> tuple[str, str]:
    if isinstance(text_or_path, str) and text_or_path.lstrip().startswith(("{", "[")):
        return text_or_path, "result"
    path = Path(text_or_path)
    if path.is_dir():
        path = next((path / name for name in FILES if (path / name).exists()), path / RESULT_FILE)
    refuse_pipe(path)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except FileNotFoundError as problem:
        raise DataFileError(f"{path}: no such result file") from problem
    except (OSError, ValueError) as problem:
        raise DataFileError(f"{path}: cannot be read ({problem})") from problem


def _refusal(schema: object) -> str:
    """Return why a document of this schema is not read, and what to do."""
    family, _, version = str(schema).partition("/")
    if family != _FAMILY:
        return f"not a result of lmprobe: its schema is {schema!r}, not {SCHEMA!r}"
    newer = version.isdecimal() and int(version) > int(_VERSION)
    advice = "a newer lmprobe made it" if newer else "make the result again"
    return f"its schema is {schema!r}, this lmprobe reads {SCHEMA!r}; {advice}"
