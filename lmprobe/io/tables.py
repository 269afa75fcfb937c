"""Reads columns of tables into memory: CSV, Parquet, JSON Lines, data frames, Arrow tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmprobe.errors import DataFileError
from lmprobe.io.table_source import TableSource, quoted

if TYPE_CHECKING:
    import pandas as pd


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
        wanted = list(source.columns if columns is None else dict.fromkeys(columns))
        cells = ", ".join(
            f"{name}::VARCHAR AS {name}" if one in text else name
            for one, name in zip(wanted, map(quoted, wanted), strict=True)
        )
        found = source.query(wanted, lambda table: f"SELECT {cells} FROM {table.sql}", text=wanted)
        name, typed = source.name, source.files is None or source.files.typed
    if not len(found):
        raise DataFileError(f"{name}: there is no row below the column names")
    if not typed:
        for number, one in enumerate(wanted):
            if one not in text:
                found = found.set_column(number, one, _narrowed(found.column(number)))
    frame: pd.DataFrame = found.to_pandas()
    return frame


def refuse_missing(frame: pd.DataFrame, name: str | Path) -> None:
    """Say in which column and row a value is missing, or a number is infinite."""
    for wrong, what in (
        (frame.isna(), "has no value"),
        (frame.isin([math.inf, -math.inf]), "is infinite"),
    ):
        if wrong.to_numpy().any():
            column = wrong.any().idxmax()
            row = int(wrong[column].to_numpy().argmax()) + 1
            raise DataFileError(
                f'{name}: the column "{column}" {what} in row {row}; remove or impute it'
            )


def refuse_words(
    frame: pd.DataFrame, columns: Sequence[str], name: str | Path, wanted: str
) -> None:
    """Say in which column and row a word is, where numbers are wanted."""
    import pandas as pd

    for column in columns:
        values = frame[column]
        if values.dtype.kind in "biuf":
            continue
        words = pd.to_numeric(values.astype(str), errors="coerce").isna().to_numpy()
        row = int(words.argmax())
        raise DataFileError(
            f'{name}: the column "{column}" must hold {wanted}: found {values.iloc[row]!r} in row '
            f"{row + 1}"
        )


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
