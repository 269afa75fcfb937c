"""Reads and writes JSON, and reads TOML: what a hostile document can do is refused here, once."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lmprobe.errors import DataFileError


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file: where it is, what was found and what would do.

    A warning is about a file that can be used, with results that may mislead.
    """

    path: Path
    key: str
    message: str
    line: int | None = None
    warning: bool = False

    def __str__(self) -> str:
        """Return `file:line: key: message`, the form that editors jump to."""
        place = str(self.path) if self.line is None else f"{self.path}:{self.line}"
        kind = "warning" if self.warning else ""
        return ": ".join(part for part in (place, kind, self.key, self.message) if part)


class FileProblems(DataFileError):
    """A data file with mistakes; the message is the first one and how many more there are."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep the mistakes for whoever lists them all."""
        self.problems = tuple(problems)
        first, more = problems[0], len(problems) - 1
        line = "" if first.line is None else f"line {first.line}"
        place = ", ".join(part for part in (str(first.path), line, first.key) if part)
        rest = f" ({more} more; `lmprobe validate {first.path}` shows all)" if more else ""
        super().__init__(f"{place}: {first.message}{rest}")


def problem_in(path: Path, message: str, *, line: int | None = None) -> FileProblems:
    """Return the error of a single mistake."""
    return FileProblems([Problem(path, "", message, line)])


# Half of a surrogate pair: no character, and Python's sign for a byte that is not UTF-8.
_HALF = re.compile("[\ud800-\udfff]")


def refuse_pipe(path: Path) -> None:
    """Refuse what is there and is no file: reading a pipe would wait for ever."""
    if path.exists() and not path.is_file():
        raise DataFileError(f"{path}: this is no regular file; give a file")


def refuse_unnamable(name: str | Path) -> None:
    """Refuse a name that is not UTF-8: no table, result or page could name the file."""
    if _HALF.search(str(name)):
        raise DataFileError(f'"{name}" is not valid UTF-8; rename the file')


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
    value = _parsed(lambda: json.loads(text, parse_constant=_refuse))
    if _SUSPECT.search(text):
        _check_leaves(value)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text; a `ValueError` of one line says why there is none."""
    table: dict[str, Any] = _parsed(lambda: tomllib.loads(text))
    return table


def _parsed(parse: Callable[[], Any]) -> Any:
    try:
        value = parse()
    except json.JSONDecodeError as problem:
        raise ValueError(f"line {problem.lineno}: {problem.msg}") from None
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError(f"it is nested more than {MOST_DEPTH} deep") from None
    except ValueError as problem:
        # Python limits the digits of a whole number and advises to raise the limit.
        long = "digits" in str(problem)
        raise ValueError("a number has thousands of digits" if long else str(problem)) from None
    _check_depth(value)
    return value


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Return the JSON text of a document; no character of it commands a terminal."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


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
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str):
            if _HALF.search(item):
                raise ValueError("a text has half of a surrogate pair in it")
        elif isinstance(item, int | float) and not abs(item) <= sys.float_info.max:
            raise ValueError("a number is too large")
