"""Reads columns of CSV, Parquet and JSON Lines files, whole or in chunks.

Every way in which such a file can be wrong is one `DataFileError` that names the file.
CSV and JSON Lines may be compressed with gzip (`.csv.gz`).
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pandas as pd

from lmprobe.errors import DataFileError, did_you_mean

_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
# Rows held at a time: 80 columns of them are about 40 MB.
ROWS = 65_536
# Bytes of CSV parsed at a time; a chunk never comes from more than one of these blocks.
# Arrow reads 32 blocks ahead, so that this times 32 is held.
_BLOCK = 1 << 20
# How Arrow says that a value is not of its column's type; it counts columns from 0.
_MISFIT = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+):.*value ('.*')"
)


def column_names(path: str | Path) -> tuple[str, ...]:
    """Return the names of the file's columns, in order; of JSON Lines, the first row's keys."""
    path = Path(path)
    kind = _kind(path)
    with _explaining(path):
        if kind == "parquet":
            from pyarrow import parquet

            names = list(parquet.read_schema(path).names)
        elif kind == "csv":
            with _text(path) as lines:
                names = next(csv.reader(lines, delimiter=_delimiter(path)), [])
        else:
            names = list(next(_objects(path), (0, {}))[1])
    if not names:
        raise DataFileError(f"{path}: the file is empty; it needs named columns and rows")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataFileError(f'{path}: the column "{twice[0]}" appears twice; rename one')
    return tuple(names)


def read_columns(
    path: str | Path, columns: Sequence[str] | None = None, *, text: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the named columns (all when None) of the whole file, in the order given.

    Numbers come as numbers unless their column is named in `text`; an empty CSV field is a
    missing value, and "NA" or "None" is a word like any other.
    """
    path = Path(path)
    wanted = _known(path, columns)
    if _kind(path) == "csv":
        from pyarrow import csv as arrow

        with _explaining(path):
            # Unlike a stream of blocks, one read finds the type that fits all rows.
            table = arrow.read_csv(_bytes(path), **_csv_options(path, wanted, text))
        frame = _frame(table, path)
    else:
        parts = list(read_chunks(path, columns, text=text))
        frame = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    if frame.empty:
        raise DataFileError(f"{path}: there is no row below the column names")
    return frame[list(wanted)]


def read_chunks(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    rows: int = ROWS,
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Iterator[pd.DataFrame]:
    """Yield the named columns (all when None) in frames of at most `rows` rows.

    Name every column of categories in `text` and every one of fractions in `numbers`: in a
    CSV the type of the others is that of their first rows, and a later row that does not
    fit is an error.
    """
    path = Path(path)
    wanted = _known(path, columns)
    kind = _kind(path)
    empty = True
    with _explaining(path):
        if kind == "csv":
            frames = _csv_chunks(path, rows, _csv_options(path, wanted, text, numbers))
        else:
            read = _parquet_chunks if kind == "parquet" else _jsonl_chunks
            frames = read(path, wanted, rows, tuple(text))
        for frame in frames:
            if len(frame):
                empty = False
                yield frame[list(wanted)]
    if empty:
        raise DataFileError(f"{path}: there is no row below the column names")


def refuse_missing(frame: pd.DataFrame, path: Path, before: int = 0) -> None:
    """Say in which column and row a value is missing; `before` rows came in earlier chunks."""
    missing = frame.isna()
    if missing.to_numpy().any():
        name = missing.any().idxmax()
        row = before + int(missing[name].to_numpy().argmax()) + 1
        raise DataFileError(
            f'{path}: the column "{name}" has no value in row {row}; remove or impute it'
        )


def _csv_chunks(path: Path, rows: int, options: dict[str, Any]) -> Iterator[pd.DataFrame]:
    from pyarrow import csv as arrow

    with arrow.open_csv(_bytes(path), **options) as stream:
        for block in stream:
            for start in range(0, block.num_rows, rows):
                yield _frame(block.slice(start, rows), path)


def _parquet_chunks(
    path: Path, columns: tuple[str, ...], rows: int, text: tuple[str, ...]
) -> Iterator[pd.DataFrame]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as stored:
        for batch in stored.iter_batches(batch_size=rows, columns=list(columns)):
            yield _as_text(_frame(batch, path), text)


def _jsonl_chunks(
    path: Path, columns: tuple[str, ...], rows: int, text: tuple[str, ...]
) -> Iterator[pd.DataFrame]:
    kept: list[dict[str, Any]] = []
    for _, row in _objects(path):
        # A key that a row leaves out is a missing value there.
        kept.append({name: row.get(name) for name in columns})
        if len(kept) == rows:
            yield _as_text(pd.DataFrame(kept), text)
            kept = []
    if kept:
        yield _as_text(pd.DataFrame(kept), text)


def _as_text(frame: pd.DataFrame, text: tuple[str, ...]) -> pd.DataFrame:
    for name in text:
        if name in frame:
            frame[name] = frame[name].map(str, na_action="ignore").astype(object)
    return frame


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of each line of JSON Lines that is not blank."""
    with _text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as problem:
                raise DataFileError(f"{path}: line {number} is not JSON: {problem.msg}") from None
            if not isinstance(row, dict):
                raise DataFileError(
                    f"{path}: line {number} must be a JSON object with one key per column, "
                    f"found {type(row).__name__}"
                )
            yield number, row


def _known(path: Path, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns to read, each of which the file has."""
    known = column_names(path)
    for name in columns or ():
        if name not in known:
            raise DataFileError(f'{path}: no column "{name}"; {did_you_mean(name, known)}')
    return known if columns is None else tuple(dict.fromkeys(columns))


def _csv_options(
    path: Path, columns: tuple[str, ...], text: Sequence[str], numbers: Sequence[str] = ()
) -> dict[str, Any]:
    from pyarrow import csv as arrow
    from pyarrow import float64, string

    return {
        "read_options": arrow.ReadOptions(
            block_size=_BLOCK,
            use_threads=False,  # with threads, an error does not say which row
        ),
        "parse_options": arrow.ParseOptions(
            delimiter=_delimiter(path),
            newlines_in_values=True,
        ),
        "convert_options": arrow.ConvertOptions(
            include_columns=list(columns),
            column_types=dict.fromkeys(numbers, float64()) | dict.fromkeys(text, string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def _frame(table: Any, path: Path) -> pd.DataFrame:
    """Return an Arrow table as a frame; bytes that are no text are an error."""
    from pyarrow import types

    for field in table.schema:
        if types.is_binary(field.type):
            raise DataFileError(f'{path}: the column "{field.name}" is not UTF-8 text')
    frame: pd.DataFrame = table.to_pandas()
    return frame


def _kind(path: Path) -> str:
    suffixes = path.suffixes[-2:]
    zipped = suffixes[-1:] == [".gz"]
    ending = (suffixes[:-1] if zipped else suffixes)[-1:]
    kind = _FORMATS.get(ending[0].lower() if ending else "")
    if kind is None or (zipped and kind == "parquet"):
        raise DataFileError(
            f"{path}: unknown kind of file; its name must end in {', '.join(_FORMATS)} "
            "(.csv.gz and .jsonl.gz will do as well)"
        )
    return kind


def _delimiter(path: Path) -> str:
    return "\t" if ".tsv" in path.suffixes else ","


def _bytes(path: Path) -> IO[bytes]:
    from pyarrow import input_stream

    stream: IO[bytes] = input_stream(path, compression="detect")
    return stream


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
        yield lines


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Turn what the readers raise into one error that names the file."""
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError:
        raise DataFileError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataFileError(f"{path}: this is a folder, not a file") from None
    except UnicodeDecodeError as problem:
        raise DataFileError(
            f"{path}: not UTF-8 at byte {problem.start}; save it as UTF-8"
        ) from None
    except (ArrowException, EOFError, gzip.BadGzipFile, csv.Error) as problem:
        said = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        if "UTF8" in said:
            said = "not UTF-8; save it as UTF-8"
        misfit = _MISFIT.search(said)
        if misfit:
            column, row, kind, value = misfit.groups()
            name = column_names(path)[int(column)]
            why = "is not a number" if kind == "double" else f"is not {kind} as the values above"
            said = f'row {row}: {value} in the column "{name}" {why}'
        raise DataFileError(f"{path}: {said.removeprefix('CSV parse error: ')}") from None
    except OSError as problem:
        raise DataFileError(f"{path}: cannot be read: {problem.strerror or problem}") from None
