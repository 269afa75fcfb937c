"""Finds the sentences of text around given places.

Where words have spaces between them, a sentence ends at "." "!" or "?" (with the quotes and
brackets that close after it) when white space follows and then anything but a lower-case
letter, unless a single full stop ends an abbreviation ("Dr."), an initial ("J."), a dotted one
("U.S.") or, in German, an ordinal ("3."). In Chinese and Japanese it ends at "。" "！" or "？"
whatever follows. A line always ends a sentence. Text whose tokens stand apart ("the end .
Next") is read the same way. The rule looks at a few characters only, so a sentence can be
found without reading the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lmprobe.corpus.languages import Language, language_of

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
