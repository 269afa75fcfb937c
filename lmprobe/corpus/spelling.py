"""Brings text to one spelling: letters and their accents composed, no soft hyphens.

Files from some systems have "e" and an accent where others have "é" (NFD and NFC), and text
from the web may have invisible hyphens inside words.
"""

from __future__ import annotations

import unicodedata

from ahocorasick_rs import BytesAhoCorasick

# The bytes that such text has in UTF-8: accents (the lead bytes of U+0300 to U+036F), the soft
# hyphen; in Korean also the letters that syllables are made of, in Japanese the voicing marks.
_MARKS = (b"\xcc", b"\xcd", b"\xc2\xad")
_MORE = {"ja": (b"\xe3\x82\x99", b"\xe3\x82\x9a"), "ko": (b"\xe1\x84",)}


class Spelling:
    """Composes the text of one language, line by line.

    >>> Spelling("de").composed("Ko\u0308chin, Zahn\u00adarzt\\n".encode()).decode()
    'Köchin, Zahnarzt\\n'
    """

    def __init__(self, language: str) -> None:
        """Take the marks that text of the language may have."""
        # One search per mark: several at once, or `mark in block`, take many times as long.
        self._searches = [BytesAhoCorasick([mark]) for mark in (*_MARKS, *_MORE.get(language, ()))]

    def composed(self, block: bytes) -> bytes:
        """Return the block; only lines that have a mark are changed."""
        if block.isascii() or not self._marked(block):
            return block
        lines = block.splitlines(keepends=True)
        return b"".join(_composed(line) if self._marked(line) else line for line in lines)

    def _marked(self, text: bytes) -> bool:
        return any(search.find_matches_as_indexes(text) for search in self._searches)


def _composed(line: bytes) -> bytes:
    text = line.decode("utf-8", "replace").replace("\u00ad", "")
    return unicodedata.normalize("NFC", text).encode()
