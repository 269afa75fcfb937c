"""Reads and writes JSON, and reads TOML: what a hostile document can do is refused here, once."""

from __future__ import annotations

import json
import math
import re
import tomllib
from typing import Any, NoReturn

MOST_DEPTH = 100
"""Deeper documents are refused: every function that walks one could run out of stack."""

# What must be looked at value by value: half a character, numbers that no float can be.
_SUSPECT = re.compile(r"\\u[dD][89a-fA-F]|[eE][+]?[0-9]{3}|[0-9]{300}")
# JSON escapes the first 32 characters; these command a terminal too, or cannot be written.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; a `ValueError` of one line says why there is none.

    Refused is what JSON does not have (NaN, infinities) and what no reader can use: deep
    nesting, numbers beyond every float, half of a surrogate pair.
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as problem:
        raise ValueError(f"line {problem.lineno}: {problem.msg}") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MOST_DEPTH} deep") from None
    except ValueError as problem:
        raise ValueError(_explained(problem)) from None
    _check_depth(value)
    if _SUSPECT.search(text):
        _check_leaves(value)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text; a `ValueError` of one line says why there is none."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError(f"it is nested more than {MOST_DEPTH} deep") from None
    except ValueError as problem:
        raise ValueError(_explained(problem)) from None
    _check_depth(table)
    return table


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Return the JSON text of a document; no character of it commands a terminal."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _explained(problem: ValueError) -> str:
    # Python limits the digits of a whole number and advises to raise the limit.
    return "a number has thousands of digits" if "digits" in str(problem) else str(problem)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [
            child
            for holder in level
            if isinstance(holder, dict | list)
            for child in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {MOST_DEPTH} deep")


def _check_leaves(value: Any) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            if any("\ud800" <= letter <= "\udfff" for letter in one):
                raise ValueError("a text has half of a surrogate pair in it")
        elif isinstance(one, int | float) and not _is_number(one):
            raise ValueError("a number is too large")


def _is_number(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
