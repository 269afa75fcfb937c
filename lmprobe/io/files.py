"""Files: where they are, JSON and TOML read safely, everything written whole or not at all.

The data files of lmprobe (templates, lexicons, base-rate tables) lie at the top of a checkout, and
so of an editable install, and inside the package in a wheel; nothing else knows the difference.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lmprobe.errors import Argument, DataFileError, InputError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

if sys.platform != "win32":
    import fcntl

_NAME = "lmprobe"
_PACKAGE = Path(__file__).resolve().parents[1]


def cache_folder() -> Path:
    """Return where scores are kept: $LMPROBE_CACHE, or the platform's folder for caches."""
    import platformdirs

    return _from_environment("LMPROBE_CACHE") or platformdirs.user_cache_path(_NAME, False)


def base_rates_folder() -> Path:
    """Return the folder of the user's own named tables.

    It is $LMPROBE_BASE_RATES, or `base_rates` in the platform's folder for the data of programs.
    """
    import platformdirs

    folder = _from_environment("LMPROBE_BASE_RATES")
    return folder or platformdirs.user_data_path(_NAME, False) / "base_rates"


def _from_environment(variable: str) -> Path | None:
    folder = os.environ.get(variable)
    return Path(folder).expanduser() if folder else None


def shipped_folder(name: str) -> Path:
    """Return the folder of that name, such as `templates` or `base_rates`."""
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise DataFileError(
        f'the folder "{name}" that belongs to lmprobe is missing beside {_PACKAGE}; '
        "install lmprobe again"
    )


def shipped_names(kind: str, suffix: str) -> tuple[str, ...]:
    """Return the names of the shipped files of a kind, without their suffix."""
    return tuple(sorted(path.stem for path in shipped_folder(kind).glob(f"*{suffix}")))


_KINDS = {"templates": "template set", "base_rates": "base rates"}


def find_shipped(
    name_or_path: str | Path,
    kind: str,
    suffix: str,
    names: Callable[[], Iterable[str]] | None = None,
) -> Path:
    """Return the file that a name or a path means.

    A word without a suffix or a slash is the name of a shipped file; all else is a path. `names`
    are those that a name which is not found was meant to be, by default those of shipped files.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and "/" not in text and not text.endswith(suffix):
        shipped = shipped_folder(kind) / f"{text}{suffix}"
        if shipped.is_file():
            return shipped
        if not Path(text).exists() or not text:
            if "," in text:
                raise DataFileError(
                    f'"{text}" is taken for one name; give each by itself (a list in Python, the '
                    "option once for each on the command line)"
                )
            what = _KINDS.get(kind, kind.rpartition("/")[2].rstrip("s"))
            existing = shipped_names(kind, suffix) if names is None else names()
            raise DataFileError(
                f'no {what} called "{text}"; {did_you_mean(text, existing)}; or give the path of a '
                f"{suffix} file"
            )
    path = Path(text)
    if path.is_dir():
        raise DataFileError(f"{path} is a folder; give the {suffix} file in it")
    if not path.is_file():
        raise DataFileError(f"{path}: no such file")
    return path


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
        """Keep all mistakes, for a list of them."""
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


def toml_text(value: Any) -> str:
    """Return a value as TOML on one line, which is JSON but for tables.

    >>> print(toml_text({"word": "er", "forms": {"dative case": "ihm"}, "tags": ["a"]}))
    { word = "er", forms = { "dative case" = "ihm" }, tags = ["a"] }
    """
    if isinstance(value, Mapping):
        pairs = [f"{toml_key(key)} = {toml_text(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def toml_key(name: str) -> str:
    """Return a key of TOML, in quotes where it needs them."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_text(name)


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


def seal(content: Mapping[str, Any], name: str = "") -> str:
    """Return the text of a file: a checksum of the content and of the name, then the content."""
    return json.dumps({"sha256": _checksum(content, name), **content})


def _checksum(content: Mapping[str, Any], name: str) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any], name: str = "") -> None:
    """Write a document with its checksum, whole or not at all."""
    write_text(path, seal(content, name))


def read_sealed(path: Path, name: str = "", *, strict: bool = False) -> dict[str, Any] | None:
    """Return what `write_sealed` wrote under this name; None if it is missing or was changed.

    A file that cannot be read counts as missing, or with `strict` is a `DataFileError`.
    """
    try:
        content = parse_json(path.read_text(encoding="utf-8", errors="replace"))
        return content if content.pop("sha256") == _checksum(content, name) else None
    except OSError as problem:
        if strict:
            raise DataFileError(f"{path}: {problem.strerror}") from None
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


# The ending of the names of temporary files, which no other program uses.
_SUFFIX = ".lmprobe-tmp"


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place when the block succeeds.

    A reader sees the old file or the new one, never half of one; on an error the
    temporary file is removed and the old file stays. An error of the disk is an `InputError`.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent)
        with _temporary(target) as temporary:
            yield temporary
            # mkstemp makes files that only their owner reads; a report is for everybody.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
    except OSError as problem:
        raise InputError(f"cannot write {target}: {problem.strerror or problem}") from problem


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Give a new file that is locked until this process is done with it, or gone."""
    exists = False
    while not exists:
        handle, name = tempfile.mkstemp(_SUFFIX, f".{target.name}.", target.parent)
        # Before it was locked, another process may have removed it as a leftover.
        _lock(handle, wait=True)
        exists = os.fstat(handle).st_nlink > 0
        if not exists:
            os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(handle)


def remove_leftovers(folder: Path) -> list[int]:
    """Remove temporary files whose writer was killed; return their sizes."""
    sizes = []
    for path in folder.glob(f".*{_SUFFIX}"):
        with suppress(OSError), path.open("rb+") as stream:
            if _lock(stream.fileno(), wait=False):
                size = path.stat().st_size
                path.unlink()
                sizes.append(size)
    return sizes


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file; where the system has no locks, no file counts as a leftover."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def check_folder(folder: Path, option: str = "output") -> Path:
    """Return the folder; raise if no file can be written there, and leave nothing behind."""
    existing, argument = folder.absolute(), Argument(option)
    try:
        if existing.is_file():
            raise InputError(argument, f" {folder}: this is a file, not a folder")
        while not _is_there(existing):
            existing = existing.parent
        with tempfile.TemporaryFile(dir=existing):
            return folder
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise InputError(argument, f" {folder}: the folder cannot be written: {reason}") from None


def _is_there(path: Path) -> bool:
    """Tell whether there is something of that name, be it a link to nothing."""
    with suppress(FileNotFoundError):
        path.lstat()
        return True
    return False


def write_text(path: str | Path, text: str) -> Path:
    """Write `text` to `path` in UTF-8, whole or not at all."""
    return write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path`, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Path(path)


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files in UTF-8; none takes its place before all are on the disk."""
    with ExitStack() as stack:
        for path, text in texts.items():
            stack.enter_context(replacing(path)).write_bytes(text.encode())


# A spreadsheet takes a cell that starts so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(frame: pd.DataFrame, delimiter: str = ",") -> str:
    """Return the CSV; undefined is an empty cell, and no word can be taken for a formula.

    Such a word gets an apostrophe before it, the mark by which spreadsheets know text;
    numbers stay numbers, whatever their sign.
    """
    safe = frame.apply(lambda column: column.map(_harmless)).rename(columns=_harmless)
    # Words are quoted always: the writer forgets to when one holds a bare carriage return.
    options: dict[str, Any] = {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC}
    return str(safe.to_csv(index=False, sep=delimiter, **options))


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell
