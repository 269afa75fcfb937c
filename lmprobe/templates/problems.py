"""Reads a TOML file and notes what is wrong with it: every mistake, with its place."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmprobe.errors import DataFileError, did_you_mean
from lmprobe.io.documents import Problem, parse_toml


class Findings:
    """The mistakes found so far in one file and in the files it names."""

    def __init__(self, path: Path, text: str = "") -> None:
        """Start with none; `text` is what line numbers are looked up in."""
        self.path = path
        self.text = text
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def add(self, key: str, message: str, *, near: str | None = None, last: bool = False) -> None:
        """Note a mistake; its line is the first (or last) one that has `near`, or else the key."""
        self.problems.append(Problem(self.path, key, message, self._line(key, near, last)))

    def warn(self, key: str, message: str, *, near: str | None = None) -> None:
        """Note what makes results misleading, although the file can be used."""
        line = self._line(key, near, last=False)
        self.warnings.append(Problem(self.path, key, message, line, warning=True))

    def raise_any(self) -> None:
        """Raise the first mistake as an error that says how many more there are."""
        if not self.problems:
            return
        more = len(self.problems) - 1
        rest = f" ({more} more; `lmprobe validate {self.path}` shows all)" if more else ""
        raise DataFileError(f"{self.problems[0]}{rest}")

    def check_keys(self, found: Iterable[str], known: Iterable[str], where: str = "") -> None:
        """Note every key that is none of the known ones."""
        known = tuple(known)
        for key in found:
            if key not in known:
                self.add(f"{where}{key}", f"unknown key; {did_you_mean(key, known)}")

    def text_at(self, table: Mapping[str, Any], key: str) -> str:
        """Return the text under a key that must be there, or note what is wrong and return ""."""
        value = self._value_at(table, key, str, '"..."', "a text in quotes")
        if value is not None and not value.strip():
            self.add(key, "is empty; write something")
        return value or ""

    def list_at(self, table: Mapping[str, Any], key: str) -> list[Any]:
        """Return the list under a key that must be there, or note what is wrong and return []."""
        return self._value_at(table, key, list, "[...]", "a list in square brackets") or []

    def _value_at(
        self, table: Mapping[str, Any], key: str, kind: type, like: str, what: str
    ) -> Any:
        if key not in table:
            self.add(key, f"missing; add a line {key} = {like}")
        elif not isinstance(table[key], kind):
            self.add(key, f"must be {what}, found {found(table[key])}")
        else:
            return table[key]
        return None

    def _line(self, key: str, near: str | None, last: bool) -> int | None:
        # tomllib keeps no positions, so the place is looked up in the text again.
        bare = re.escape(re.sub(r"\[\d+\]$", "", key).rpartition(".")[2])
        named = rf'^\s*\[?"?{bare}"?\s*[\]=]|\b{bare}\s*='
        for pattern in (re.escape(near), named) if near else (named,):
            lines = [
                number
                for number, line in enumerate(self.text.splitlines(), start=1)
                if not line.lstrip().startswith("#") and re.search(pattern, line)
            ]
            if lines:
                return lines[-1] if last else lines[0]
        return None


def found(value: object) -> str:
    """Return a value of a TOML file as an error message names it."""
    match value:
        case None:
            return "nothing"
        case str():
            return f'the text "{value}"'
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "a table"
        case _:
            return f"{type(value).__name__} {value}"


def read_document(path: Path) -> tuple[dict[str, Any], Findings]:
    """Return the content of a TOML file and its findings; unreadable, it is empty with one."""
    raw = path.read_bytes()
    try:
        # Editors on Windows put a byte-order mark first, which TOML itself refuses; some on macOS
        # write letters and accents apart, which are other tokens to a model.
        text = unicodedata.normalize("NFC", raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        findings = Findings(path)
        message = f"is not UTF-8 (byte 0x{raw[error.start]:02x}); save it in that encoding"
        findings.problems.append(Problem(path, "", message, line))
        return {}, findings
    findings = Findings(path, text)
    try:
        return parse_toml(text), findings
    except ValueError as error:
        place = re.search(r"at line (\d+)", str(error))
        # "at end of document" is the only other place that tomllib names.
        line = int(place[1]) if place else len(text.splitlines())
        findings.problems.append(Problem(path, "", f"is not valid TOML: {error}", line))
        return {}, findings
