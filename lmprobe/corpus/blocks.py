"""Cuts text into blocks of whole lines, so that no sentence or character is ever torn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from lmprobe.errors import DataFileError

BLOCK = 1 << 20
"""Bytes read at a time: large enough to be fast, small enough to stay in cache."""

# Memory stays in proportion to the longest line, so there has to be a longest line.
LONGEST_LINE = 1 << 28


def pieces(stream: BinaryIO, *, size: int = BLOCK) -> Iterator[bytes]:
    """Yield a stream in pieces, every carriage return turned into a line feed."""
    while piece := stream.read(size):
        yield _line_feeds(piece)


def span_pieces(stream: BinaryIO, start: int, end: int, *, size: int = BLOCK) -> Iterator[bytes]:
    """Yield exactly the lines that begin at an offset in [start, end).

    Spans that touch each other share no line and miss none.
    """
    # A line begins at `start` if the byte before it ends one, so look at that byte too.
    position = max(start - 1, 0)
    skipping = start > 0
    stream.seek(position)
    for piece in pieces(stream, size=size):
        begin = 0
        if skipping:
            begin = piece.find(b"\n") + 1
            skipping = not begin
            if skipping or position + begin >= end:
                if position + len(piece) >= end:
                    return
                position += len(piece)
                continue
        if position + len(piece) >= end:
            last = piece.find(b"\n", max(begin, end - 1 - position))
            if last >= 0:
                yield piece[begin : last + 1]
                return
        yield piece[begin:]
        position += len(piece)


def whole_lines(parts: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Yield the same bytes cut at line ends; only the last block may lack its line feed."""
    carried: list[bytes] = []
    waiting = 0
    for piece in parts:
        cut = piece.rfind(b"\n") + 1
        if cut:
            yield b"".join((*carried, piece[:cut]))
            carried, waiting = [piece[cut:]], len(piece) - cut
            continue
        carried.append(piece)
        waiting += len(piece)
        if waiting > LONGEST_LINE:
            raise DataFileError(
                f"{where}: a line is longer than {LONGEST_LINE >> 20} MB, and a line is read as a "
                "whole; is this text? If so, put one document or paragraph on each line"
            )
    if rest := b"".join(carried):
        yield rest


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
