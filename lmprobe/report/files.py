"""Writes a result, its page and its tables as CSV to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lmprobe.io.atomic import write_texts
from lmprobe.io.table_files import csv_text

if TYPE_CHECKING:
    from lmprobe.results.result import Result


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
