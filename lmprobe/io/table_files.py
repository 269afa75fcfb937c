"""Which files a table is made of: one file, a folder or a pattern, all of one format."""

from __future__ import annotations

import csv
import glob
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from lmprobe.errors import DataFileError
from lmprobe.io.documents import parse_json, refuse_pipe, refuse_unnamable

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_PACKED = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Files with the same columns, in order."""

    paths: tuple[Path, ...]
    kind: str
    """`csv`, `parquet` or `jsonl`."""
    columns: tuple[str, ...]
    parallel: bool = True
    """Whether several threads may share a CSV file."""

    @property
    def typed(self) -> bool:
        """Whether the files say of what type each column is."""
        return self.kind == "parquet"

    @property
    def delimiter(self) -> str:
        """What separates the cells of a CSV."""
        return _delimiter(self.paths[0])


def find_files(source: str | Path) -> TableFiles:
    """Return the files that a path, a folder or a pattern such as `run-*.csv` names."""
    paths = _paths(source)
    for path in paths:
        refuse_unnamable(path)
    kinds = {_kind(path) for path in paths}
    if len(kinds) > 1 or len(set(map(_delimiter, paths))) > 1:
        raise DataFileError(f"{source}: the files have different formats; name those of one")
    kind = kinds.pop()
    first = _column_names(paths[0], kind)
    for path in paths[1:]:
        names = _column_names(path, kind)
        # A CSV has its columns by place, and a JSON object may leave keys out.
        same = names == first if kind == "csv" else kind == "jsonl" or set(names) == set(first)
        if not same:
            other = sorted(set(first) ^ set(names)) or ["their order"]
            raise DataFileError(f"{path}: other columns than {paths[0]} has ({other[0]})")
    return TableFiles(paths, kind, first)


def _paths(source: str | Path) -> tuple[Path, ...]:
    path = Path(source)
    if path.is_dir():
        inside = sorted(one for one in path.rglob("*") if one.is_file() and _format(one))
        # Such as `_SUCCESS` of Spark, and the copies in `.ipynb_checkpoints` of Jupyter.
        shown = [
            one
            for one in inside
            if not any(part.startswith((".", "_")) for part in one.relative_to(path).parts)
        ]
        if not shown:
            raise DataFileError(f"{path}: this folder holds no table ({', '.join(_FORMATS)})")
        return tuple(shown)
    if not path.exists() and glob.has_magic(str(source)):
        found = sorted(Path(one) for one in glob.glob(str(source), recursive=True))
        if not found:
            raise DataFileError(f"{source}: no file matches")
        return tuple(found)
    if not path.exists():
        raise DataFileError(f"{path}: no such file")
    return (path,)


def _endings(path: Path) -> tuple[str, str]:
    """Return the ending that says the format, and that of the compression or nothing."""
    endings = ["", "", *map(str.lower, path.suffixes)]
    return (endings[-2], endings[-1]) if endings[-1] in _PACKED else (endings[-1], "")


def _delimiter(path: Path) -> str:
    return "\t" if _endings(path)[0] == ".tsv" else ","


def _format(path: Path) -> str | None:
    ending, packed = _endings(path)
    kind = _FORMATS.get(ending)
    return None if packed and kind == "parquet" else kind


def _kind(path: Path) -> str:
    kind = _format(path)
    if kind is None:
        raise DataFileError(
            f"{path}: unknown kind of file; its name must end in {', '.join(_FORMATS)} "
            "(CSV and JSON Lines may be compressed: .csv.gz, .jsonl.zst)"
        )
    return kind


def _column_names(path: Path, kind: str) -> tuple[str, ...]:
    """Return the names of the columns, in order; of JSON Lines, the first row's keys."""
    with explaining(path):
        if _endings(path)[1] and path.is_file():
            facts = path.stat()
            _check_packed(path, facts.st_size, facts.st_mtime_ns)
        if kind == "parquet":
            from pyarrow import parquet

            refuse_pipe(path)
            names = list(parquet.read_schema(path).names)
        elif kind == "csv":
            with open_text(path) as lines:
                first = next(csv.reader(lines, delimiter=_delimiter(path)), None)
            if first == []:
                raise DataFileError(f"{path}: the first line is blank; it must name the columns")
            names = _named(first or [])
        else:
            names = list(next(json_objects(path), {}))
    if not names:
        raise DataFileError(f"{path}: the file is empty; it needs named columns and rows")
    problem = name_problem(names)
    if problem:
        raise DataFileError(f"{path}: {problem}")
    return tuple(names)


def _named(names: list[str]) -> list[str]:
    """Return the names, with one for each column that has none, such as pandas' index.

    >>> _named(["", "sex", ""])
    ['Unnamed: 0', 'sex', 'Unnamed: 2']
    """
    found: list[str] = []
    for place, name in enumerate(names):
        new = name or f"Unnamed: {place}"
        while not name and new in names:
            new += ".1"
        found.append(new)
    return found


@lru_cache(maxsize=1024)
def _check_packed(path: Path, size: int, changed: int) -> None:
    """Read a compressed file to its end: DuckDB takes one that is cut off, or changed, for whole.

    A file of the same size and time of change is read once.
    """
    import pyarrow as pa

    how = _PACKED[_endings(path)[1]]
    try:
        with pa.input_stream(str(path), compression=how) as stream:
            while stream.read(1_000_000):
                pass
    except OSError as problem:
        why = problem.strerror or problem
        raise DataFileError(f"{path}: cannot be read as a whole {how} file: {why}") from None


def name_problem(names: Sequence[str]) -> str:
    """Return why columns of these names cannot be told apart; nothing if they can.

    DuckDB takes two names for one if they differ in case alone, and ends one at a NUL.
    """
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        return f'the column "{twice[0]}" appears twice; rename one'
    if any("\0" in name for name in names):
        return "the name of a column has a NUL character in it; rename it"
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            return f'the columns "{other}" and "{name}" differ in case alone; rename one'
    return ""


def json_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the object of each line of JSON Lines that is not blank; say which line is not one."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line.strip())
            except ValueError as problem:
                raise DataFileError(f"{path}: line {number} is not JSON: {problem}") from None
            if not isinstance(row, dict):
                raise DataFileError(
                    f"{path}: line {number} must be a JSON object with one key per column, "
                    f"found {type(row).__name__}"
                )
            yield row


def is_sound_csv(files: TableFiles) -> bool:
    """Tell whether all quotes of CSV files have an end and all rows as many cells as names.

    It is slow, and for files that DuckDB could not read.
    """
    if files.kind != "csv":
        return False
    width = len(files.columns)
    for path in files.paths:
        with explaining(path), open_text(path) as lines:
            rows = csv.reader(lines, delimiter=files.delimiter, strict=True)
            try:
                if any(row and len(row) != width for row in rows):
                    return False
            except csv.Error:
                return False
    return True


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file, compressed or not."""
    refuse_pipe(path)
    how: dict[str, Any] = {"encoding": "utf-8-sig", "newline": ""}
    packed = _endings(path)[1]
    if packed == ".zst":
        import zstandard

        with zstandard.open(path, "rt", **how) as lines:
            yield lines
        return
    opened = gzip.open if packed == ".gz" else open
    with opened(path, "rt", **how) as lines:
        yield lines


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn what goes wrong with opening a file into one error that names it."""
    from pyarrow import ArrowException
    from zstandard import ZstdError

    try:
        yield
    except FileNotFoundError:
        raise DataFileError(f"{path}: no such file") from None
    except UnicodeDecodeError as problem:
        raise DataFileError(
            f"{path}: not UTF-8 at byte {problem.start}; save it as UTF-8"
        ) from None
    except (
        ArrowException,
        EOFError,
        gzip.BadGzipFile,
        zlib.error,
        ZstdError,
        csv.Error,
    ) as problem:
        text = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise DataFileError(f"{path}: {text}") from None
    except OSError as problem:
        raise DataFileError(f"{path}: cannot be read: {problem.strerror or problem}") from None
