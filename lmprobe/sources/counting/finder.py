"""Finds where any of many words may stand in a block of text, at memory speed.

Only about one sentence in a hundred names an occupation, so the rules first ask here for
places to look at and read no other sentence.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, MatchKind

# Up to 16 short words the library compares 16 or 32 bytes at a time; beyond that it slows
# down to a third, so two searches for half the words each are the faster way.
_TOGETHER = 16

PLAIN = bytes(
    one if one >= 128 else ord(chr(one).lower()) if chr(one).isalnum() or one == ord("_") else 32
    for one in range(256)
)
"""For `translate`: letters A-Z become lower-case, what is no part of a word becomes a space."""


class Finder:
    """Searches blocks for needles; places may be more than the true matches, never fewer.

    A search reports no match that overlaps an earlier one. That is enough here: no needle
    crosses the end of a sentence, so a sentence with a match always has one reported.
    """

    def __init__(self, needles: Iterable[bytes], *, ignore_case: bool = False) -> None:
        """Prepare the search; a needle that contains another one adds no place."""
        self._fold = _fold if ignore_case else bytes
        distinct = sorted({bytes(self._fold(needle)) for needle in needles})
        shortest = [
            one for one in distinct if not any(other in one for other in distinct if other != one)
        ]
        # Words with the same beginning go together: they share the first comparison.
        self._searches = [
            BytesAhoCorasick(shortest[start : start + _TOGETHER], matchkind=MatchKind.LeftmostFirst)
            for start in range(0, len(shortest), _TOGETHER)
        ]

    def places(self, block: bytes) -> list[int]:
        """Return the offsets at which a needle starts, in ascending order."""
        folded = self._fold(block)
        found = [
            start
            for search in self._searches
            for _, start, _ in search.find_matches_as_indexes(folded)
        ]
        if len(self._searches) > 1:
            found.sort()
        return found


class WordFinder:
    """Searches blocks for whole words, upper and lower case alike.

    It leaves out places inside longer words ("editor" in "creditors"): they are almost as many
    as the others, and reading the sentence round them costs far more than this. A word with
    bytes beyond ASCII is always given, as only decoded text tells where it begins and ends.
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        """Prepare the search for words whose letters A-Z are lower-case."""
        self._words = frozenset(words)
        self._finder = Finder(self._words, ignore_case=True)
        self._reach = max(map(len, self._words)) + 1
        # "o'brien" is no run of letters: with such a word every place will do.
        self._whole = all(word.translate(PLAIN) == word for word in self._words)

    def places(self, block: bytes) -> list[int]:
        """Return offsets in ascending order, at least one in each word that is looked for."""
        found = self._finder.places(block)
        if not self._whole:
            return found
        return [place for place in found if self._may_be_word(block, place)]

    def _may_be_word(self, block: bytes, place: int) -> bool:
        before = block[max(0, place - self._reach) : place].translate(PLAIN)
        after = block[place : place + self._reach].translate(PLAIN)
        word = before.rpartition(b" ")[2] + after.partition(b" ")[0]
        return word in self._words or not word.isascii()


def _fold(text: bytes) -> bytes | memoryview:
    """Set the bit that tells a-z from A-Z in every byte; offsets stay.

    Some other characters become equal as well, which only adds places to look at, and it
    is ten times as fast as lower-casing.
    """
    return np.bitwise_or(np.frombuffer(text, np.uint8), np.uint8(0x20)).data
