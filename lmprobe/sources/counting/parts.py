"""A part of a corpus: what one worker counts at a time, and what a resume skips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lmprobe.io.table_files import endings, explaining, open_binary
from lmprobe.sources.counting.text import (
    is_json_lines,
    json_texts,
    line_blocks,
    span_blocks,
    text_blocks,
    text_of,
    without_mark,
)


class Part(Protocol):
    """Some of a corpus; small enough to send to another process, which reads it there."""

    @property
    def size(self) -> int:
        """How much of the corpus this is, in bytes."""

    def blocks(self) -> Iterator[bytes]:
        """Yield the text as blocks of whole lines."""


@dataclass(frozen=True, slots=True)
class LineSpan:
    """The lines of a file that begin at an offset in [start, end).

    A compressed file can be read from its beginning only, and is one span.
    """

    path: Path
    start: int
    end: int
    field: str = "text"

    @property
    def size(self) -> int:
        """How many bytes of the file this is."""
        return self.end - self.start

    def blocks(self) -> Iterator[bytes]:
        """Yield the lines as blocks."""
        where = str(self.path)
        with explaining(self.path), open_binary(self.path) as stream:
            if endings(self.path)[1]:
                lines = line_blocks(stream, where)
            else:
                lines = span_blocks(stream, where, self.start, self.end)
            if self.start == 0:
                lines = without_mark(lines, where)
            if is_json_lines(self.path):
                lines = text_blocks(json_texts(lines, self.field, where))
            yield from lines


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group of a Parquet file."""

    path: Path
    number: int
    size: int
    field: str = "text"

    def blocks(self) -> Iterator[bytes]:
        """Yield the texts of the group as blocks."""
        import pyarrow.parquet as parquet

        with parquet.ParquetFile(self.path) as file:
            batches = file.iter_batches(256, row_groups=[self.number], columns=[self.field])
            # An empty cell is a row without text, as in every dataset of web pages.
            texts = (text or "" for batch in batches for text in batch.column(0).to_pylist())
            yield from text_blocks(texts)


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a Hugging Face dataset on disk."""

    path: Path
    start: int
    end: int
    size: int
    field: str = "text"

    def blocks(self) -> Iterator[bytes]:
        """Yield the texts of the rows as blocks."""
        import datasets

        rows = datasets.load_from_disk(str(self.path)).select(range(self.start, self.end))
        yield from text_blocks(text_of(row, self.field, str(self.path)) for row in rows)


@dataclass(frozen=True, slots=True)
class Held:
    """Text that is already in memory, from a stream that only its reader can see."""

    text: bytes

    @property
    def size(self) -> int:
        """How many bytes of text this is."""
        return len(self.text)

    def blocks(self) -> Iterator[bytes]:
        """Yield the text."""
        yield self.text
