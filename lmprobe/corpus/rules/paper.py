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
        line_end, heading = -1, False
        for start, end in self._spans(block):
            sentence = block[start:end]
            # The attribute first: it rules out most sentences.
            tokens = self._tokens.find_matches_as_indexes(b" %b " % sentence, overlapping=True)
            groups = {self._group[match[0]] for match in tokens}
            task = self._selected(sentence) if len(groups) == 1 else None
            if task is None:
                continue
            if start > line_end:
                line = block.rfind(b"\n", max(line_end, 0), start) + 1
                line_end = block.find(b"\n", start)
                line_end = line_end if line_end >= 0 else len(block)
                heading = block.find(b"=", line, line_end) >= 0
            if not heading:
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

    def _selected(self, sentence: bytes) -> int | None:
        matches = self._every.find_matches_as_indexes(sentence, overlapping=True)
        tasks = {self._task[match[0]] for match in matches}
        # Each task switches the selection on or off, so an odd number leaves the last one.
        return max(tasks) if len(tasks) % 2 else None
