"""Reads columns of tables into memory: CSV, Parquet, JSON Lines, data frames, Arrow tables."""

from __future__ import annotations

import math
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmprobe.errors import Argument, DataFileError, InputError, did_you_mean
from lmprobe.io.table_files import (
    TableFiles,
    check_csv,
    explaining,
    find_files,
    json_objects,
    name_problem,
    place_of_row,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

PEEK = 20_480
"""Rows that decide what a column of a CSV most likely holds."""
FILE, ROW = "__lmprobe_file", "__lmprobe_row"
"""The number of the file and of the row in it, counted from 0, where a query asks for them."""

# How DuckDB says that a CSV is to blame; its numbers of lines count rows.
_CSV_LINE = re.compile(r"CSV Error on Line: (\d+)")
_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)
_TEXT = "VARCHAR"
_FLOATS = ("FLOAT", "DOUBLE")
_WHOLE = tuple(
    sign + size for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as a query sees it: the text after FROM, and the type of each column."""

    sql: str
    types: Mapping[str, str]

    def number(self, column: str) -> str:
        """Return the column as a number; NULL where a value is missing or is no number."""
        name, kind = quoted(column), self.types[column]
        if kind == "BOOLEAN":
            return f"{name}::TINYINT"
        if kind in _FLOATS:
            return f"CASE WHEN NOT {_is_nan(name)} THEN {name} END"
        if kind in _WHOLE or kind.startswith("DECIMAL"):
            return name
        word = f"CASE lower({name}::VARCHAR) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
        value = f"coalesce(TRY_CAST({name} AS DOUBLE), {word})"
        return f"CASE WHEN isnan({value}) THEN NULL ELSE {value} END"

    def amount(self, column: str) -> str:
        """Return the column as a number; NaN remains, so that floats are added up as they are."""
        return quoted(column) if self.types[column] in _FLOATS else self.number(column)

    def label(self, column: str) -> str:
        """Return the column as a label; a date or a time becomes text."""
        text = "::VARCHAR" if self.types[column].startswith(("DATE", "TIME")) else ""
        return f"{quoted(column)}{text}"

    def is_whole(self, column: str) -> bool:
        """Tell whether the type allows whole numbers only."""
        return self.types[column] in (*_WHOLE, "BOOLEAN")

    def missing(self, column: str) -> str:
        """Return the condition that a row has no value."""
        name = quoted(column)
        nan = f" OR {_is_nan(name)}" if self.types[column] in _FLOATS else ""
        return f"({name} IS NULL{nan})"


@dataclass(frozen=True, slots=True)
class LocatedCell:
    """A cell and where it is: the file (or table), its line or row such as "line 7", the value."""

    place: str
    row: str
    value: Any


@dataclass(frozen=True, slots=True)
class LackingRows:
    """How many rows of a table lack a value, and how many values each column lacks."""

    table: str
    rows: int
    of: int
    by_column: Mapping[str, int]

    def __str__(self) -> str:
        """Return a sentence such as: people.csv: 2 of 9 rows lack a value ("sex" 2)."""
        most = 5
        cells = [f'"{name}" {number:,}' for name, number in self.by_column.items()]
        more = [f"{len(cells) - most:,} more columns"] if len(cells) > most else []
        lack = "lacks" if self.rows == 1 else "lack"
        return (
            f"{self.table}: {self.rows:,} of {self.of:,} rows {lack} a value "
            f"({', '.join(cells[:most] + more)})"
        )


def _is_nan(name: str) -> str:
    """Return the condition that a number of a column is NaN.

    DuckDB takes the least and largest value that a Parquet file states for those of all rows, NaN
    included, and with them `isnan` for false.
    """
    return f"NOT (isfinite({name}) OR isinf({name}))"


Mistake = tuple[Callable[[Relation, str], str], str]
"""A condition on a column, in SQL, and the message about the first row that meets it."""

NOT_A_NUMBER: Mistake = (
    lambda table, name: f"{table.number(name)} IS NULL",
    '{row}: {value!r} in the column "{column}" is not a number',
)
_NOT_A_DECISION: Mistake = (NOT_A_NUMBER[0], f"{NOT_A_NUMBER[1]}; write yes and no as 1 and 0")
INFINITE: Mistake = (
    lambda table, name: f"isinf(({table.number(name)})::DOUBLE)",
    'the numbers "{column}" must be finite; found {value} in {row}',
)
NOT_A_SHARE: Mistake = (
    lambda table, name: f"{table.number(name)} NOT BETWEEN 0 AND 1",
    "`{column}` must lie in [0, 1]: found {value} in {row}; turn scores into probabilities first",
)
NOT_BINARY: Mistake = (
    lambda table, name: f"coalesce({table.number(name)} NOT IN (0, 1), true)",
    'the column "{column}" must be 0 or 1: found {value!r} in {row}',
)


def rows(answer: Any) -> list[dict[str, Any]]:
    """Return the rows of an answer of DuckDB, by the names of the columns."""
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def arrays(answer: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of an answer of DuckDB; a missing value is masked or NaN."""
    columns: dict[str, NDArray[Any]] = answer.fetchnumpy()
    return columns


_DROP = ("fill it in, or leave such rows out (", Argument("missing_cells", "drop"), ")")


class TableSource:
    """A path, a folder, a pattern, a data frame or an Arrow table that takes queries."""

    def __init__(self, table: Any) -> None:
        """Find the files, or the columns of a table in memory."""
        self.files: TableFiles | None = None
        self._held: Any = None
        if isinstance(table, str | Path):
            self.files = find_files(table)
            self.name = str(table)
            self.columns = self.files.columns
        else:
            self._held = _arrow_table(table)
            self.name = "the table"
            self.columns = tuple(str(name) for name in self._held.column_names)
            if problem := name_problem(self.columns):
                raise InputError(f"the table: {problem}")
        # Whether a column of a CSV that has been read is one of numbers.
        self._numeric: dict[str, bool] = {}
        self.complete: Mapping[str, bool] = {}
        """Rows that lack a value in these columns are left out; true where they are labels."""
        self._connection = _database(os.getpid()).cursor()

    def __enter__(self) -> TableSource:
        """Give the source itself."""
        return self

    def __exit__(self, *problem: object) -> None:
        """Close the connection."""
        self._connection.close()

    def query(
        self,
        columns: Sequence[str],
        build: Callable[[Relation], str],
        *,
        text: Iterable[str] = (),
        position: bool = False,
        fetch: Callable[[Any], Any] = rows,
    ) -> Any:
        """Return the answer to the query that `build` writes for the columns, as `fetch` reads it.

        A column of a CSV is a number if its first rows are and it is not in `text`; if a
        later row does not fit, the query is written again with every column as text.
        """
        for name in columns:
            if name not in self.columns:
                raise DataFileError(f'{self.name}: no column "{name}"; {self._similar(name)}')
            if not name:
                raise DataFileError(f"{self.name}: the column without a name needs one")
        try:
            return self._answer(columns, build, {*text}, position, fetch)
        except DataFileError:
            if self.files is None or not self.files.format.delimiter:
                raise
            check_csv(self.files)
            # Threads that share a CSV may take a line end within quotes for one of a row. One
            # thread does not, but it also takes a quote without an end for the end of the file.
            if not self.files.parallel:
                raise
            self.files = replace(self.files, parallel=False)
            return self._answer(columns, build, {*text}, position, fetch)

    def _answer(
        self,
        columns: Sequence[str],
        build: Callable[[Relation], str],
        text: set[str],
        place: bool,
        fetch: Callable[[Any], Any],
    ) -> Any:
        import duckdb

        read = [*columns, *(name for name in self.complete if name not in columns)]
        text |= {name for name, label in self.complete.items() if label and name not in columns}
        try:
            return self._run(build(self._complete(self._relation(read, text, place))), fetch)
        except duckdb.ConversionException as problem:
            if not _CSV_LINE.search(str(problem)):
                raise
            self._numeric |= dict.fromkeys(read, False)
            return self._run(build(self._complete(self._relation(read, text, place))), fetch)

    def _complete(self, table: Relation) -> Relation:
        """Return the rows that are not left out."""
        if not self.complete:
            return table
        lacks = " OR ".join(_lacks(table, *column) for column in self.complete.items())
        return replace(table, sql=f"(SELECT * FROM {table.sql} WHERE NOT ({lacks}))")

    def missing_cells(self, labels: Sequence[str], numbers: Sequence[str] = ()) -> LackingRows:
        """Count the rows that lack a value in one of the columns, and the values by column."""
        columns = _roles(labels, numbers)

        def build(table: Relation) -> str:
            lacks = [_lacks(table, *column) for column in columns.items()]
            counts = [f"count_if({test}) AS c{place}" for place, test in enumerate(lacks)]
            total = f"count(*) AS n, count_if({' OR '.join(lacks)}) AS bad"
            return f"SELECT {', '.join([total, *counts])} FROM {table.sql}"

        (counts,) = self.query([*columns], build, text=labels)
        by_column = {name: counts[f"c{place}"] for place, name in enumerate(columns)}
        return LackingRows(
            self.name,
            counts["bad"],
            counts["n"],
            {name: number for name, number in by_column.items() if number},
        )

    def refuse_missing(
        self,
        labels: Sequence[str],
        numbers: Sequence[str] = (),
        remedy: Sequence[str | Argument] = _DROP,
    ) -> None:
        """Raise if a row lacks a value in one of the columns, with how many do."""
        missing = self.missing_cells(labels, numbers)
        column = next(iter(missing.by_column), "")
        first = column and self.first_row(
            column, lambda table, name: _lacks(table, name, name in labels)
        )
        if first:
            where = first.row if first.place == self.name else f"{first.row} of {first.place}"
            raise DataFileError(f'{missing}, first "{column}" in {where}; ', *remedy)

    def leave_out_missing(
        self, labels: Sequence[str], numbers: Sequence[str] = ()
    ) -> LackingRows | None:
        """Leave out the rows that lack a value, from now on; return their number, if there are."""
        missing = self.missing_cells(labels, numbers)
        if not missing.rows:
            return None
        if missing.rows == missing.of:
            raise DataFileError(f"{missing}: no row is left")
        self.complete = _roles(labels, numbers)
        return missing

    def refuse(self, column: str, *mistakes: Mistake) -> None:
        """Raise the message of the first mistake that the column has, if any."""
        for condition, message in mistakes:
            if first := self.first_row(column, condition):
                about = message.format(column=column, row=first.row, value=first.value)
                raise DataFileError(f"{first.place}: {about}")

    def read(self, columns: Sequence[str] | None = None, *, text: Sequence[str]) -> pd.DataFrame:
        """Return columns in memory, as `read_columns` does."""
        wanted = list(self.columns if columns is None else dict.fromkeys(columns))
        cells = ", ".join(
            f"{quoted(name)}::VARCHAR AS {quoted(name)}" if name in text else quoted(name)
            for name in wanted
        )
        rows = self.query(
            wanted,
            lambda table: f"SELECT {cells} FROM {table.sql}",
            text=wanted,
            fetch=lambda answer: answer.to_arrow_table(),
        )
        if not len(rows):
            raise DataFileError(f"{self.name}: there is no row below the column names")
        untyped = self.files is not None and not self.files.format.typed
        for number, name in enumerate(wanted if untyped else ()):
            if name not in text:
                rows = rows.set_column(number, name, _narrowed(rows.column(number)))
        frame: pd.DataFrame = rows.to_pandas()
        return frame

    def _similar(self, name: str) -> str:
        """Return which columns there are instead."""
        if self.files and self.files.format.delimiter and len(self.columns) == 1:
            for marks, mark in (("semicolons", ";"), ("tabs", "\t")):
                if mark in self.columns[0]:
                    return f"{marks} separate its cells: save it with commas, or as .tsv with tabs"
        return did_you_mean(name, self.columns)

    def first_row(
        self, column: str, condition: Callable[[Relation, str], str]
    ) -> LocatedCell | None:
        """Return the first row in which the column meets the condition."""

        def build(table: Relation) -> str:
            order = f"{FILE}, {ROW} LIMIT 1"
            return f"SELECT * FROM {table.sql} WHERE {condition(table, column)} ORDER BY {order}"

        for row in self.query([column], build, text=[column], position=True):
            if self.files is None:
                return LocatedCell(self.name, f"row {row[ROW] + 1}", row[column])
            path = self.files.paths[row[FILE]]
            return LocatedCell(str(path), place_of_row(self.files, path, row[ROW]), row[column])
        return None

    def _relation(self, columns: Sequence[str], text: set[str], position: bool) -> Relation:
        wanted = list(dict.fromkeys(columns))
        if self.files is None:
            return self._memory(wanted, position)
        if self.files.format.typed:
            return self._typed(self.files, wanted, position)
        by_place = bool(self.files.format.delimiter)
        types = dict.fromkeys(self.files.columns if by_place else wanted, _TEXT)
        guess = [name for name in wanted if name not in text] if by_place else []
        if unread := [name for name in guess if name not in self._numeric]:
            self._numeric |= self._numbers(self.files, unread, types)
        types |= {name: "DOUBLE" for name in guess if self._numeric[name]}
        shown = {name: types[name] for name in wanted}
        if position:
            return Relation(_numbered(self.files, wanted, types), shown)
        return Relation(_scan(self.files, self.files.paths, types), shown)

    def _numbers(
        self, files: TableFiles, columns: list[str], types: dict[str, str]
    ) -> dict[str, bool]:
        """Tell of which columns the first rows are all numbers."""
        tests = ", ".join(
            f"count({name}) = count(TRY_CAST({name} AS DOUBLE))" for name in map(quoted, columns)
        )
        head = f"SELECT * FROM {_scan(files, files.paths, types)} LIMIT {PEEK}"
        (fits,) = self._run(f"SELECT {tests} FROM ({head})")
        return dict(zip(columns, fits.values(), strict=True))

    def _typed(self, files: TableFiles, columns: list[str], position: bool) -> Relation:
        names = [quoted(name) for name in columns]
        # DuckDB's numbers of files and rows, unless a column of the table has their name.
        if position and {"file_index", "file_row_number"} & set(files.columns):
            sql = _numbered(files, columns, {})
        else:
            names += [f"file_index AS {FILE}", f"file_row_number AS {ROW}"] if position else []
            sql = f"(SELECT {', '.join(names)} FROM {_scan(files, files.paths, {})})"
        return Relation(sql, self._described(sql, columns))

    def _memory(self, columns: list[str], position: bool) -> Relation:
        import numpy as np
        import pyarrow as pa

        table = self._held.select(columns)
        if position:
            table = table.append_column(FILE, pa.array(np.zeros(len(table), dtype=np.int64)))
            table = table.append_column(ROW, pa.array(np.arange(len(table))))
        self._connection.register("held", table)
        return Relation("held", self._described("held", columns))

    def _described(self, sql: str, columns: list[str]) -> dict[str, str]:
        described = self._run(f"DESCRIBE SELECT {', '.join(map(quoted, columns))} FROM {sql}")
        types = {row["column_name"]: row["column_type"] for row in described}
        for name, kind in types.items():
            if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
                raise DataFileError(
                    f'{self.name}: the column "{name}" holds lists or objects, where one value per '
                    "row is wanted; make a column of each part"
                )
        return types

    def _run(self, sql: str, fetch: Callable[[Any], Any] = rows) -> Any:
        import duckdb

        try:
            return fetch(self._connection.sql(sql))
        except duckdb.ConversionException:
            raise
        except (duckdb.Error, UnicodeDecodeError) as problem:
            raise DataFileError(self._explained(str(problem))) from None

    def _explained(self, text: str) -> str:
        """Return what is wrong with a file in one line."""
        files = self.files
        for path in files.paths if files and files.format.name == "JSON Lines" else ():
            try:
                with explaining(path):
                    for _ in json_objects(path):
                        pass
            except DataFileError as mistake:
                return str(mistake)
        return _explained(text, self.name)


@cache
def _database(process: int) -> Any:
    """Return the engine of this process: one, so that all tables share its memory limit.

    A forked child starts its own, because the threads of its parent are not in it.
    """
    import duckdb

    # DuckDB makes this folder when memory is short and removes it at its end. It gives its
    # files the same names in every process, so each needs a folder of its own.
    folder = Path(tempfile.gettempdir(), f"lmprobe-{uuid.uuid4().hex}")
    return duckdb.connect(
        config={"autoinstall_known_extensions": "false", "temp_directory": str(folder)}
    )


def _scan(files: TableFiles, paths: Sequence[Path], types: Mapping[str, str]) -> str:
    """Return the table function that reads the files."""
    # Brackets keep a star in a file's name from being a pattern.
    names = [re.sub(r"([*?\[])", r"[\1]", str(path)) for path in paths]
    # Else a folder called `sex=f` would replace what the column `sex` holds.
    listed = f"[{', '.join(map(literal, names))}], hive_partitioning=false"
    columns = ", ".join(f"{literal(name)}: '{kind}'" for name, kind in types.items())
    parallel = str(files.parallel).lower()
    return files.format.scan.format(files=listed, columns=columns, parallel=parallel)


def _numbered(files: TableFiles, columns: Sequence[str], types: Mapping[str, str]) -> str:
    """Return the query of the columns with the numbers of the file and of the row."""
    names = ", ".join(map(quoted, columns))
    parts = [
        f"SELECT {number} AS {FILE}, row_number() OVER () - 1 AS {ROW}, {names} "
        f"FROM {_scan(files, (path,), types)}"
        for number, path in enumerate(files.paths)
    ]
    return f"({' UNION ALL '.join(parts)})"


def _explained(message: str, name: str) -> str:
    """Return what DuckDB says is wrong with a table in one line that names the file."""
    place = _FILE.search(message)
    name = place[1].strip() if place else name
    if "utf-8" in message.lower():
        return f"{name}: not UTF-8; save it as UTF-8"
    if "state machine" in message:
        return (
            f"{name}: not a CSV as RFC 4180 has it: check that all lines end alike (LF or CRLF) "
            "and that quotes come in pairs"
        )
    lines = [text for text in message.splitlines() if text and not text.startswith("Original")]
    plain = " ".join(lines[: 2 if _CSV_LINE.search(message) else 1])
    return f"{name}: {re.sub(r'^[A-Z][A-Za-z ]* Error: ', '', plain)}"


def _arrow_table(table: Any) -> Any:
    """Return the Arrow table of a data frame, or of what can become one."""
    import pyarrow as pa

    if hasattr(table, "iloc") and hasattr(table, "columns"):
        names = [str(name) for name in table.columns]
        arrays = [_array(table.iloc[:, number]) for number in range(len(names))]
        table = pa.Table.from_arrays(arrays, names=names)
    elif hasattr(table, "__arrow_c_stream__"):
        table = pa.table(table)
    else:
        raise InputError(
            "a table must be a path, a folder, a data frame or an Arrow table, "
            f"found {type(table).__name__}"
        )
    # DuckDB has no half precision.
    for number, field in enumerate(table.schema):
        if pa.types.is_float16(field.type):
            wide = table.column(number).cast(pa.float32())
            table = table.set_column(number, field.name, wide)
    return table


def _array(column: Any) -> Any:
    """Return a column of a data frame; values of several types become their words."""
    import pyarrow as pa

    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array(column.map(str, na_action="ignore"), from_pandas=True)


def quoted(name: str) -> str:
    """Return the name of a column as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def column_names(table: Any) -> tuple[str, ...]:
    """Return the names of the columns, in order; of JSON Lines, the first row's keys."""
    with TableSource(table) as source:
        return source.columns


def read_columns(
    table: Any, columns: Sequence[str] | None = None, *, text: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the named columns (all when None) of the whole table, in the order given.

    Numbers come as numbers unless their column is named in `text`; an empty CSV field is a
    missing value, and "NA" or "None" is a word like any other.
    """
    with TableSource(table) as source:
        return source.read(columns, text=text)


def refuse_unusable(source: TableSource, frame: pd.DataFrame, labels: Sequence[str]) -> None:
    """Say where a value is missing, a number is infinite, or a word is where numbers are wanted.

    The frame was read from the source; all its columns but the labels are numbers.
    """
    columns = [str(name) for name in frame]
    if frame.isna().to_numpy().any():
        source.refuse_missing(
            [name for name in columns if name in labels],
            [name for name in columns if name not in labels],
        )
    for column in columns:
        values = frame[column]
        if values.dtype.kind == "f" and values.isin([math.inf, -math.inf]).any():
            source.refuse(column, INFINITE)
        elif column not in labels and values.dtype.kind not in "biuf":
            source.refuse(column, _NOT_A_DECISION)


def _roles(labels: Sequence[str], numbers: Sequence[str]) -> dict[str, bool]:
    return dict.fromkeys(labels, True) | {name: name in labels for name in numbers}


def _lacks(table: Relation, column: str, label: bool) -> str:
    """Return the condition that a row has no value; the word nan is none where numbers are."""
    if label or table.types[column] != _TEXT:
        return table.missing(column)
    name = quoted(column)
    return f"({name} IS NULL OR lower(trim({name})) IN ('nan', '-nan'))"


def _narrowed(column: Any) -> Any:
    """Return the words of a column as whole numbers, numbers or truth values if all are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Arrow takes 0x1F for 31; here it is a word like any other.
    if pc.any(pc.match_substring_regex(column, r"^\s*[+-]?0[xX]")).as_py():
        return column
    for kind in (pa.int64(), pa.float64(), pa.bool_()):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column
