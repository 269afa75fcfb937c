"""A table as CSV that a spreadsheet opens without running anything in it."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

# A spreadsheet takes a cell that starts so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_text(frame: pd.DataFrame) -> str:
    """Return the CSV; undefined is an empty cell, and no word can be taken for a formula.

    Such a word gets an apostrophe before it, the mark by which spreadsheets know text;
    numbers stay numbers, whatever their sign.
    """
    safe = frame.apply(lambda column: column.map(_harmless)).rename(columns=_harmless)
    # Words are quoted always: the writer forgets to when one holds a bare carriage return.
    quoted = csv.QUOTE_NONNUMERIC
    return str(safe.to_csv(index=False, lineterminator="\n", quoting=quoted))


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell
