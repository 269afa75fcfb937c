"""A few columns of a CSV that has very many: DuckDB would take seconds for every query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmprobe.io.table_files import TableFiles, explaining

WIDE = 5_000
"""A CSV with more columns than these is read by Arrow, and only the columns asked for."""

# A block must be larger than a line.
_BLOCK = 64_000_000


def read_wide(files: TableFiles, columns: Sequence[str], file: str, row: str) -> Any:
    """Return the columns as an Arrow table of words; an empty cell is missing.

    The columns `file` and `row` have the number of the file and of the row in it, from 0.
    """
    import numpy as np
    import pyarrow as pa

    tables = []
    for number, path in enumerate(files.paths):
        table = _read(path, files, list(columns))
        table = table.append_column(file, pa.array(np.full(len(table), number)))
        tables.append(table.append_column(row, pa.array(np.arange(len(table)))))
    return pa.concat_tables(tables)


def _read(path: Path, files: TableFiles, columns: list[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    convert = csv.ConvertOptions(
        include_columns=columns,
        column_types=dict.fromkeys(columns, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    how = csv.ParseOptions(delimiter=files.delimiter, newlines_in_values=True)
    with explaining(path):
        # Arrow opens compressed files by their suffix.
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            parse_options=how,
            convert_options=convert,
        )
