"""One mistake in a data file, with its place; and the error that carries all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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


def refuse_pipe(path: Path) -> None:
    """Refuse what is there and is no file: reading a pipe would wait for ever."""
    if path.exists() and not path.is_file():
        raise DataFileError(f"{path}: this is no regular file; give a file")


def refuse_unnamable(name: str | Path) -> None:
    """Refuse a name that is not UTF-8: no table, result or page could name the file."""
    if any("\ud800" <= letter <= "\udfff" for letter in str(name)):
        raise DataFileError(f'"{name}" is not valid UTF-8; rename the file')
