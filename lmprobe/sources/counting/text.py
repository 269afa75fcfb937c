"""Reads text: files in several formats, cut into blocks and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from lmprobe.errors import DataFileError
from lmprobe.io.documents import parse_json
from lmprobe.io.table_files import BLOCK, endings
from lmprobe.sources.counting.languages import Language, language_of

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


_JSON_LINES = (".jsonl", ".ndjson", ".json")
# What is read from a folder without being named; "" is how WikiExtractor names its files.
_IN_FOLDERS = (".txt", ".text", ".tokens", ".raw", ".parquet", "", *_JSON_LINES)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"


def is_json_lines(path: Path) -> bool:
    """Tell whether a file holds JSON Lines, by its name; all that is not known is plain text."""
    return endings(path)[0] in _JSON_LINES


def is_corpus_file(path: Path) -> bool:
    """Tell whether a file in a folder is meant when the folder is named."""
    return not path.name.startswith((".", "_")) and endings(path)[0] in _IN_FOLDERS


def without_mark(blocks: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Yield the blocks of a file without a byte order mark; refuse what is not UTF-8."""
    for number, block in enumerate(blocks):
        if number == 0:
            if block.startswith(_UTF16):
                raise DataFileError(f"{where}: this is UTF-16; save it as UTF-8")
            yield block.removeprefix(_BOM)
        else:
            yield block


def json_texts(blocks: Iterable[bytes], field: str, where: str) -> Iterator[str]:
    """Yield the text field of each line of JSON."""
    for block in blocks:
        for line in block.split(b"\n"):
            if line.strip():
                yield text_of(_json_object(line, where), field, where)


def text_of(row: Any, field: str, where: str) -> str:
    """Return the text of one row of a dataset; an empty cell is a row without text."""
    if isinstance(row, str):
        return row
    if not isinstance(row, Mapping) or field not in row:
        has = f"it has {', '.join(map(str, row))}" if isinstance(row, Mapping) else f"found {row!r}"
        raise DataFileError(
            f'{where}: a row has no text in the field "{field}" ({has}); name the field of the text'
        )
    text = row[field]
    if text is not None and not isinstance(text, str):
        raise DataFileError(
            f'{where}: the field "{field}" of a row holds a {type(text).__name__}, not text; '
            "name the field of the text"
        )
    return text or ""


def _json_object(line: bytes, where: str) -> Any:
    try:
        return parse_json(line.decode())
    except ValueError as problem:
        shown = line[:40].decode("utf-8", "replace")
        raise DataFileError(
            f"{where}: the line that begins {shown!r} is not JSON: {problem}; "
            "each line must be one JSON object"
        ) from None


# Closing: " ' ) ] } and, in UTF-8, the curly quotes and the guillemet.
_CLOSING = rb"(?:[\"')\]}]|\xe2\x80\x99|\xe2\x80\x9d|\xc2\xbb)*+[ \t\v\f]++"
_END = re.compile(rb"[.!?]++" + _CLOSING + rb"(?![a-z])")
# Beside a-z the small letters that have two bytes in UTF-8, Latin with accents to Russian; a
# German quotation also closes with the quote that opens an English one.
_SMALL = rb"[a-z]|" + b"|".join(
    chr(code).encode() for code in range(0xDF, 0x530) if chr(code).islower()
)
_END_ABROAD = re.compile(rb"[.!?]++(?:\xe2\x80\x9c)?" + _CLOSING + rb"(?!" + _SMALL + rb")")
# 。！？ and the closing quotes and brackets 」』）”’ that may follow.
_END_UNSPACED = re.compile(
    rb"(?:\xe3\x80\x82|\xef\xbc\x81|\xef\xbc\x9f|[!?])++"
    rb"(?:\xe3\x80\x8d|\xe3\x80\x8f|\xef\xbc\x89|\xe2\x80\x9d|\xe2\x80\x99)*+"
)
_FULL_STOP = ord(".")
_DOTTED = re.compile(rb"(?:[A-Za-z]\.)+[A-Za-z]")
_ORDINAL = re.compile(rb"\d{1,2}")
# A word begins after white space, and after what opens a bracket or a quote.
_OPENING = bytes.maketrans(b"\t\v\f([{\"'", b" " * 8)
_WINDOW = 256


class Sentences:
    """Finds sentences by the rules of one language.

    >>> text = b"She met Dr. Who. He is a cook. Yes."
    >>> start, end = next(Sentences("en").around(text, [text.index(b"cook")]))
    >>> text[start:end]
    b'He is a cook. '
    """

    def __init__(self, language: str = "en") -> None:
        """Take the rules of a language."""
        self._language: Language = language_of(language)
        self._end = _END if language == "en" else _END_ABROAD
        # A word of more bytes than this is no abbreviation.
        longest = max(map(len, self._language.abbreviations), default=0)
        self._longest = max(12, longest)

    def around(self, block: bytes, places: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield start and end of each sentence of `block` that has one of the places.

        The places are in ascending order. Time is proportional to the length of the
        block, however long its lines are.
        """
        line = stop = done = 0
        for place in places:
            if place < done:
                continue
            if place >= stop:
                line = block.rfind(b"\n", stop, place) + 1
                stop = block.find(b"\n", place)
                stop = stop if stop >= 0 else len(block)
            start = self._start(block, max(line, done), place)
            done = self._stop(block, start, place, stop)
            yield start, done

    def _stop(self, block: bytes, line: int, place: int, stop: int) -> int:
        """Return the end of the sentence; it lies behind `place` and not behind `stop`."""
        for match in self._end.finditer(block, place, stop):
            if self._ends(block, match.start(), line):
                return match.end()
        return stop

    def _start(self, block: bytes, line: int, place: int) -> int:
        """Return where the last sentence end before `place` lies, searching ever further back."""
        width = _WINDOW
        while True:
            low = max(line, place - width)
            # One more byte lets the expression see whether the next letter is lower-case.
            for match in reversed(list(self._end.finditer(block, low, place + 2))):
                if match.end() <= place and self._ends(block, match.start(), line):
                    return match.end()
            if low == line:
                return line
            width *= 4

    def _ends(self, block: bytes, mark: int, line: int) -> bool:
        """Tell whether the punctuation from `mark` on ends a sentence.

        In the middle of a run such as "..." the answer is the same as at its beginning: yes.
        """
        if block[mark] != _FULL_STOP or block[mark + 1] in b".!?":
            return True
        before = block[max(line, mark - self._longest - 2) : mark]
        # Only one space: in "the end  ." the full stop belongs to no word.
        before = before[:-1] if before.endswith(b" ") else before
        word = before.translate(_OPENING).rpartition(b" ")[2]
        if len(word) > self._longest:
            return True
        if word in self._language.abbreviations or (b"." in word and _DOTTED.fullmatch(word)):
            return False
        if self._language.ordinals and _ORDINAL.fullmatch(word):
            return False
        # A letter has four bytes at most.
        initial = word.decode("utf-8", "ignore") if len(word) <= 4 else ""
        return not (len(initial) == 1 and initial.isupper())


def unspaced_ends(block: bytes) -> Iterator[int]:
    """Yield where each sentence ends in a language whose words have no spaces between."""
    done = 0
    for line in block.splitlines(keepends=True):
        for match in _END_UNSPACED.finditer(line):
            yield done + match.end()
        done += len(line)
        yield done
