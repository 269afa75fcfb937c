"""Cuts text into blocks of whole lines, so that no sentence or character is ever torn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from lmprobe.errors import DataFileError

BLOCK = 1 << 17
"""Bytes read at a time: large enough to be fast, small enough to stay in the core's cache."""

# Memory stays in proportion to the longest line, so there has to be a longest line.
LONGEST_LINE = 1 << 28


def line_blocks(
    stream: BinaryIO, where: str, *, size: int = BLOCK, room: int | None = None
) -> Iterator[bytes]:
    """Yield the lines of a stream in blocks; with `room`, those that begin in so many bytes.

    Every carriage return becomes a line feed; only the last block may lack its line feed.
    """
    while room is None or room > 0:
        block = stream.read(size if room is None else min(size, room))
        if not block:
            return
        if not block.endswith(b"\n"):
            block += rest_of_line(stream, where)
        if room is not None:
            room -= len(block)
        yield _line_feeds(block)


def span_blocks(
    stream: BinaryIO, where: str, start: int, end: int, *, size: int = BLOCK
) -> Iterator[bytes]:
    """Yield exactly the lines that begin at an offset in [start, end).

    Spans that touch each other share no line and miss none.
    """
    if start:
        # A line begins at `start` if the byte before it ends one, so look at that byte too.
        stream.seek(start - 1)
        start += len(rest_of_line(stream, where)) - 1
    yield from line_blocks(stream, where, size=size, room=end - start)


def rest_of_line(stream: BinaryIO, where: str) -> bytes:
    """Read up to the end of the line."""
    rest = stream.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        raise DataFileError(
            f"{where}: a line is longer than {LONGEST_LINE >> 20} MB, and a line is read as a "
            "whole; is this text? If so, put one document or paragraph on each line"
        )
    return rest


def text_blocks(texts: Iterable[str], *, size: int = BLOCK) -> Iterator[bytes]:
    """Yield texts joined into blocks; each text begins on a line of its own."""
    batch: list[bytes] = []
    filled = 0
    for text in texts:
        encoded = _line_feeds(text.encode("utf-8", "replace"))
        batch.append(encoded)
        filled += len(encoded) + 1
        if filled >= size:
            yield b"\n".join(batch) + b"\n"
            batch, filled = [], 0
    if batch:
        yield b"\n".join(batch) + b"\n"


def _line_feeds(piece: bytes) -> bytes:
    return piece.replace(b"\r", b"\n") if b"\r" in piece else piece
