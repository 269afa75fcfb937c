"""The rule of the published code of Wang & Russakovsky 2021, its quirks included.

A line with "=" in it is skipped, the others are split at ".". A task matches as a substring
("auditor" in "auditorium"). Walking the tasks in order, a match selects its task if none
is selected and else selects none: two cancel, three keep the third. A sentence counts when
a task stays selected and exactly one attribute has one of its words among the tokens
between spaces, upper and lower case told apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from ahocorasick_rs import BytesAhoCorasick

from lmprobe.corpus.finder import Finder
from lmprobe.corpus.lexicon import PAPER_ATTRIBUTES, Lexicon
from lmprobe.corpus.rules.rule import english_only, rules


@rules.register("paper")
class PaperRule:
    """Substrings for tasks, tokens between spaces for attributes."""

    default_attributes = PAPER_ATTRIBUTES

    def __init__(self, lexicon: Lexicon) -> None:
        """Prepare the words for the search."""
        english_only("paper", lexicon)
        needles = [
            (word.encode(), task) for task, (_, words) in enumerate(lexicon.tasks) for word in words
        ]
        self._finder = Finder(needle for needle, _ in needles)
        self._every = BytesAhoCorasick([needle for needle, _ in needles])
        self._task = [task for _, task in needles]
        # With a space on each side, a token between spaces is a substring too.
        tokens = [
            (f" {word} ".encode(), group)
            for group, (_, words) in enumerate(lexicon.attributes)
            for word in words
        ]
        self._tokens = BytesAhoCorasick([token for token, _ in tokens])
        self._group = [group for _, group in tokens]

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts."""
        spans = list(self._spans(block))
        sentences = [block[start:end] for start, end in spans]
        headings = _Headings(block)
        # The attribute first: it rules out most sentences.
        for number, groups in self._groups_of(sentences).items():
            if len(groups) == 1 and spans[number][0] not in headings:
                task = self._selected(sentences[number])
                if task is not None:
                    yield groups.pop(), task

    def _spans(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield start and end of each sentence in which a task may match."""
        end = 0
        for place in self._finder.places(block):
            if place < end:
                continue
            full_stop = block.rfind(b".", 0, place) + 1
            start = block.rfind(b"\n", full_stop, place) + 1 or full_stop
            end = block.find(b".", place)
            end = end if end >= 0 else len(block)
            line_feed = block.find(b"\n", place, end)
            end = line_feed if line_feed >= 0 else end
            yield start, end

    def _groups_of(self, sentences: list[bytes]) -> dict[int, set[int]]:
        """Return the attributes in each sentence that has any.

        All sentences are searched at once, because a call costs more than a search.
        """
        found: dict[int, set[int]] = {}
        joined = b" %b " % b" \n ".join(sentences)
        number, end = -1, -1
        for word, start, _ in self._tokens.find_matches_as_indexes(joined, overlapping=True):
            while start >= end:
                number += 1
                end += len(sentences[number]) + 3
            found.setdefault(number, set()).add(self._group[word])
        return found

    def _selected(self, sentence: bytes) -> int | None:
        matches = self._every.find_matches_as_indexes(sentence, overlapping=True)
        tasks = {self._task[match[0]] for match in matches}
        # Each task switches the selection on or off, so an odd number leaves the last one.
        return max(tasks) if len(tasks) % 2 else None


class _Headings:
    """The lines with a "=" in them, as Wikipedia's headings have; asked for in ascending order."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._end = -1
        self._heading = False

    def __contains__(self, place: int) -> bool:
        if place > self._end:
            start = self._block.rfind(b"\n", max(self._end, 0), place) + 1
            end = self._block.find(b"\n", place)
            self._end = end if end >= 0 else len(self._block)
            self._heading = self._block.find(b"=", start, self._end) >= 0
        return self._heading
