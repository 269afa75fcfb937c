"""Writes a result, its page and its tables as CSV to a folder."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmprobe.io.atomic import write_texts

if TYPE_CHECKING:
    import pandas as pd

    from lmprobe.results.result import Result


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


def write_outputs(result: Result, folder: str | Path) -> dict[str, Path]:
    """Write every file and return what each is.

    A result that cannot be rendered, or does not fit on the disk, leaves the folder as it was.
    """
    document, page = f"{result.file_stem or 'result'}.json", f"{result.file_stem or 'report'}.html"
    texts = {document: result.to_json(), page: result.to_html()}
    texts |= {f"{name}.csv": csv_text(frame) for name, frame in result.frames().items()}
    kinds = {document: "result", page: "report"}
    target = Path(folder)
    write_texts({target / name: text for name, text in texts.items()})
    return {kinds.get(name, name.removesuffix(".csv")): target / name for name in texts}
