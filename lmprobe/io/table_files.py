"""The formats of table files, and the files that a table is made of: one, a folder, a pattern."""

from __future__ import annotations

import csv
import glob
import gzip
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from lmprobe.errors import DataFileError, InputError, plural, refuse_unnamable
from lmprobe.io.files import (
    check_folder,
    csv_text,
    parse_json,
    problem_in,
    refuse_pipe,
    replacing,
)

if TYPE_CHECKING:
    import pandas as pd

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""The endings of compressed files, and what Arrow calls the compression."""
BLOCK = 1 << 17
"""Bytes read at a time: large enough to be fast, small enough to stay in the core's cache."""


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of tables: its name and endings, how it is read and how it is written."""

    name: str
    suffixes: tuple[str, ...]
    scan: str
    """The table function of DuckDB, with the places `files`, `columns` and `parallel`."""
    read_names: Callable[[Path], list[str]]
    write: Callable[[pd.DataFrame, Path], object]
    compressible: bool = True
    delimiter: str = ""
    """What separates the cells of a CSV."""
    typed: bool = False
    """Whether a file says of what type each column is."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Files with the same columns, in order."""

    paths: tuple[Path, ...]
    format: TableFormat
    columns: tuple[str, ...]
    parallel: bool = True
    """Whether several threads may share a CSV file."""

    @property
    def sha256(self) -> str:
        """That of the files, one after the other."""
        whole = hashlib.sha256()
        for path in self.paths:
            with path.open("rb") as file:
                hashlib.file_digest(file, lambda: whole)
        return whole.hexdigest()


def find_files(source: str | Path) -> TableFiles:
    """Return the files that a path, a folder or a pattern such as `run-*.csv` names."""
    paths = _paths(source)
    for path in paths:
        refuse_unnamable(path)
    formats = {_required_format(path) for path in paths}
    if len(formats) > 1:
        raise DataFileError(f"{source}: the files have different formats; name those of one")
    form = formats.pop()
    first = _column_names(paths[0], form)
    for path in paths[1:]:
        names = _column_names(path, form)
        # A CSV has its columns by place, and a JSON object may leave keys out.
        same = names == first if form.delimiter else not form.typed or set(names) == set(first)
        if not same:
            other = sorted(set(first) ^ set(names)) or ["their order"]
            raise DataFileError(f"{path}: other columns than {paths[0]} has ({other[0]})")
    return TableFiles(paths, form, first)


def write_table(frame: pd.DataFrame, path: Path, *, description: str = "") -> None:
    """Write a table in the format that its name ends in, whole or not at all.

    A `description` is written as the TOML beside it, when the table is on the disk.
    """
    check_target(path)
    with ExitStack() as stack:
        temporary = stack.enter_context(replacing(path))
        _required_format(path).write(frame, temporary)
        if description:
            beside = stack.enter_context(replacing(path.with_suffix(".toml")))
            beside.write_text(description, encoding="utf-8")


def check_target(path: Path) -> None:
    """Raise if no table can be written there, before long work is done for it."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: the table's name must end in {', '.join(SUFFIXES)}")
    if path.is_dir():
        raise InputError(f"{path}: this is a folder; give the name of a file")
    check_folder(path.parent, "table")


def _paths(source: str | Path) -> tuple[Path, ...]:
    path = Path(source)
    if path.is_dir():
        # Not `_SUCCESS` of Spark, nor the copies in `.ipynb_checkpoints` of Jupyter.
        shown = [
            file
            for file in sorted(path.rglob("*"))
            if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
            and file.is_file()
            and _format(file)
        ]
        if not shown:
            raise DataFileError(f"{path}: this folder holds no table ({', '.join(SUFFIXES)})")
        return tuple(shown)
    if not path.exists() and glob.has_magic(str(source)):
        matches = sorted(map(Path, glob.glob(str(source), recursive=True)))
        if not matches:
            raise DataFileError(f"{source}: no file matches")
        return tuple(matches)
    if not path.exists():
        raise DataFileError(f"{path}: no such file")
    return (path,)


def endings(path: Path) -> tuple[str, str]:
    """Return the ending that says the format, and that of the compression or nothing."""
    parts = ["", "", *map(str.lower, path.suffixes)]
    return (parts[-2], parts[-1]) if parts[-1] in COMPRESSIONS else (parts[-1], "")


def _format(path: Path) -> TableFormat | None:
    ending, packed = endings(path)
    form = next((form for form in FORMATS if ending in form.suffixes), None)
    return None if packed and form and not form.compressible else form


def _required_format(path: Path) -> TableFormat:
    form = _format(path)
    if form is None:
        raise DataFileError(
            f"{path}: unknown kind of file; its name must end in {', '.join(SUFFIXES)} "
            "(CSV and JSON Lines may be compressed: .csv.gz, .jsonl.zst)"
        )
    return form


def _column_names(path: Path, form: TableFormat) -> tuple[str, ...]:
    """Return the names of the columns, in order; of JSON Lines, the first row's keys."""
    with explaining(path):
        if endings(path)[1] and path.is_file():
            facts = path.stat()
            _check_packed(path, facts.st_size, facts.st_mtime_ns)
        names = form.read_names(path)
    if not names:
        raise DataFileError(f"{path}: the file is empty; it needs named columns and rows")
    problem = name_problem(names)
    if problem:
        raise DataFileError(f"{path}: {problem}")
    return tuple(names)


def _csv_names(delimiter: str, path: Path) -> list[str]:
    """Return the names, with one for each column that has none, such as pandas' index."""
    with open_text(path) as lines:
        _, cells = next(csv_rows(lines, delimiter, blank=True), (0, None))
    if cells == []:
        raise DataFileError(f"{path}: the first line is blank; it must name the columns")
    names = list(cells or ())
    for place, name in enumerate(names):
        if not name:
            names[place] = f"Unnamed: {place}"
            while names[place] in (cells or ()):
                names[place] += ".1"
    return names


def _json_names(path: Path) -> list[str]:
    return list(next(json_objects(path), {}))


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import ArrowException, parquet

    refuse_pipe(path)
    try:
        return list(parquet.read_schema(path).names)
    except ArrowException as problem:
        raise DataFileError(f"{path}: {str(problem).splitlines()[0]}") from None


@lru_cache(maxsize=1024)
def _check_packed(path: Path, size: int, changed: int) -> None:
    """Read a compressed file to its end: DuckDB takes one that is cut off, or changed, for whole.

    A file of the same size and time of change is read once.
    """
    import pyarrow as pa

    how = COMPRESSIONS[endings(path)[1]]
    try:
        with pa.input_stream(str(path), compression=how) as stream:
            while stream.read(1_000_000):
                pass
    except OSError as problem:
        why = problem.strerror or problem
        raise DataFileError(f"{path}: cannot be read as a whole {how} file: {why}") from None


def name_problem(names: Sequence[str]) -> str:
    """Return why columns of these names cannot be distinguished; nothing if they can.

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


class CsvError(csv.Error):
    """Quotes that do not come in pairs, and the line of the row in which they are."""

    def __init__(self, line: int, text: str) -> None:
        """Keep the line."""
        super().__init__(text)
        self.line = line


def csv_rows(
    lines: Iterable[str], delimiter: str = ",", *, blank: bool = False, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a CSV, names included, with the line of the file in which it begins.

    A quoted cell may have line ends in it. Blank lines are no rows, unless `blank`.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=strict)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            raise CsvError(line, str(problem)) from None
        if cells or blank:
            yield line, cells


def check_csv(files: TableFiles) -> None:
    """Raise for the first quote without an end, or row with more or fewer cells than names.

    It is slow, and for files that DuckDB could not read: it gives other numbers of lines.
    """
    width = len(files.columns)
    for path in files.paths if files.format.delimiter else ():
        with explaining(path), open_text(path) as lines:
            try:
                for line, cells in csv_rows(lines, files.format.delimiter, strict=True):
                    if len(cells) != width:
                        message = f"found {plural(len(cells), 'cell')}, the header has {width}"
                        raise problem_in(path, message, line=line)
            except CsvError as problem:
                if "limit" in str(problem):  # of Python's reader, which says nothing of the file
                    return
                message = (
                    "a quoted cell has no end, or text after it; a quote within a cell is "
                    'written ""'
                )
                raise problem_in(path, message, line=problem.line) from None


def place_of_row(files: TableFiles, path: Path, row: int) -> str:
    """Return the line of the file in which a row, counted from 0, begins.

    Formats without lines have the number of the row, counted from 1.
    """
    with suppress(CsvError, StopIteration), open_text(path) as lines:
        if files.format.delimiter:
            # Where there is one column, a blank line is a row without a value.
            blank = len(files.columns) == 1
            rows = csv_rows(lines, files.format.delimiter, blank=blank)
            return f"line {next(islice(rows, row + 1, None))[0]}"
        if not files.format.typed:
            numbers = (number for number, line in enumerate(lines, start=1) if line.strip())
            return f"line {next(islice(numbers, row, None))}"
    return f"row {row + 1}"


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, decompressed as its name says."""
    packed = endings(path)[1]
    with path.open("rb") as raw:
        if packed == ".gz":
            with gzip.open(raw) as stream:
                yield stream  # type: ignore[misc]
        elif packed == ".zst":
            import zstandard

            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            with io.BufferedReader(reader, BLOCK) as stream:
                yield stream
        else:
            yield raw


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """Open a text file, compressed or not."""
    refuse_pipe(path)
    with (
        open_binary(path) as stream,
        io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as lines,
    ):
        yield lines


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn what goes wrong with reading a file into one error that names it."""
    from zstandard import ZstdError

    try:
        yield
    except FileNotFoundError:
        raise DataFileError(f"{path}: no such file") from None
    except UnicodeDecodeError:
        raise DataFileError(f"{path}: not UTF-8; save it as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error, ZstdError) as problem:
        raise DataFileError(f"{path}: the compressed data is broken: {problem}") from None
    except csv.Error as problem:
        raise DataFileError(f"{path}: {problem}") from None
    except OSError as problem:
        raise DataFileError(f"{path}: cannot be read: {problem.strerror or problem}") from None


def _csv_format(suffix: str, delimiter: str) -> TableFormat:
    scan = (
        f"read_csv({{files}}, header=true, auto_detect=false, delim='{delimiter}', "
        "quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, "
        "parallel={parallel}, columns={{{columns}}})"
    )

    def write(frame: pd.DataFrame, path: Path) -> None:
        path.write_text(csv_text(frame, delimiter), encoding="utf-8")

    names = partial(_csv_names, delimiter)
    return TableFormat("CSV", (suffix,), scan, names, write, delimiter=delimiter)


FORMATS = (
    _csv_format(".csv", ","),
    _csv_format(".tsv", "\t"),
    TableFormat(
        "Parquet",
        (".parquet", ".pq"),
        "read_parquet({files}, union_by_name=true)",
        _parquet_names,
        lambda frame, path: frame.to_parquet(path, index=False),
        compressible=False,
        typed=True,
    ),
    TableFormat(
        "JSON Lines",
        (".jsonl", ".ndjson"),
        "read_json({files}, format='newline_delimited', columns={{{columns}}})",
        _json_names,
        lambda frame, path: frame.to_json(path, orient="records", lines=True),
    ),
)
"""Every format that tables are read and written in."""
SUFFIXES = tuple(suffix for form in FORMATS for suffix in form.suffixes)
FORMAT_NAMES = " or ".join(", ".join(dict.fromkeys(form.name for form in FORMATS)).rsplit(", ", 1))
"""For help texts: CSV, Parquet or JSON Lines."""
