"""Readers of tables in every format, and of texts that are counted."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from lmprobe import amplify, count_cooccurrences
from lmprobe.errors import LmprobeError
from lmprobe.io.table_files import open_text
from lmprobe.io.tables import read_columns
from tests.fuzz import mutations
from tests.fuzz.reader import Reader, WrongNumber, stored

_TEXT = b"He is a nurse. She is a cook.\nShe was a nurse.\nHe is a lawyer!\n"
_ROWS = b'{"text": "He is a nurse."}\n{"text": "She is a cook. She was a nurse."}\n'


def readers() -> list[Reader]:
    """Return the readers of tables and of texts, plain and compressed."""
    lines, rows = mutations.damage_lines, mutations.damage_json_lines
    made = [
        Reader("table-csv", "table.csv", stored("table.csv"), lines, read_csv_table, 0.2),
        Reader("table-jsonl", "table.jsonl", stored("table.jsonl"), rows, read_table, 0.2),
        Reader("table-parquet", "t.parquet", _parquet, mutations.damage_bytes, read_table, 0.2),
        Reader("corpus-txt", "text.txt", lambda: (_TEXT,), lines, read_corpus),
        Reader("corpus-jsonl", "text.jsonl", lambda: (_ROWS,), rows, read_corpus),
    ]
    return made + [
        _packed(item, suffix)
        for item in made
        if item.read != read_table or item.damage == rows
        for suffix in (".gz", ".zst")
    ]


def _packed(plain: Reader, suffix: str) -> Reader:
    """Return the reader of the compressed file."""
    return Reader(
        f"{plain.name}{suffix.replace('.', '-')}",
        f"{plain.file}{suffix}",
        lambda: tuple(mutations.pack(seed, suffix) for seed in plain.seeds()),
        mutations.packed(plain.damage, suffix),
        plain.read,
        plain.weight,
    )


def _parquet() -> tuple[bytes, ...]:
    """Return the table as Parquet, without and with the metadata that pandas adds."""
    frame = pd.read_csv(io.BytesIO(*stored("table.csv")()))
    table = pa.Table.from_pandas(frame, preserve_index=True)
    buffers = io.BytesIO(), io.BytesIO()
    parquet.write_table(table.replace_schema_metadata(), buffers[0])
    parquet.write_table(table, buffers[1])
    return buffers[0].getvalue(), buffers[1].getvalue()


def read_table(path: Path) -> Any:
    """Read every column, and measure with two of them."""
    frame = read_columns(path)
    if path.stat().st_size % 8:
        # Measuring takes ten times as long as reading: an eighth of the inputs is enough.
        return frame
    try:
        result = amplify(path, attribute="gender", task="task", task_prediction="predicted")
        result.to_json()
        result.to_markdown()
    except LmprobeError:
        pass
    return frame


def read_csv_table(path: Path) -> None:
    """Compare the cells with those that the csv module finds."""
    frame = read_table(path)
    with open_text(path) as lines:
        first, *body = [row for row in csv.reader(lines) if row]
    # A column without a name has the one that pandas gives it.
    header = [name or f"Unnamed: {number}" for number, name in enumerate(first)]
    if len(body) != len(frame) or header != list(frame.columns):
        raise WrongNumber(f"{len(frame)} rows, the file has {len(body)}")
    for number, name in enumerate(header):
        for mine, cell in zip(frame[name], (row[number] for row in body), strict=True):
            if not _same_cell(mine, cell):
                raise WrongNumber(f"{name}: {mine!r}, the file has {cell!r}")


def _same_cell(mine: Any, cell: str) -> bool:
    if mine is None or mine != mine:
        return cell == "" or cell.strip().lower() in ("nan", "-nan", "+nan")
    if isinstance(mine, str):
        return mine == cell
    if isinstance(mine, bool | np.bool_):
        return cell.lower() in (("true", "1") if mine else ("false", "0"))
    return math.isclose(float(mine), float(cell), rel_tol=1e-12) or float(mine) == float(cell)


def read_corpus(path: Path) -> None:
    words = {"attributes": {"he": ["he"], "she": ["she"]}, "tasks": ["nurse", "cook", "lawyer"]}
    counts = count_cooccurrences(path, **words).counts
    if not (counts >= 0).all() or counts.sum() > 10_000:
        raise WrongNumber(f"counts {counts.tolist()}")
