"""A table in memory as an Arrow table with types that the engine knows."""

from __future__ import annotations

from typing import Any

from lmprobe.errors import InputError


def arrow_table(table: Any) -> Any:
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
