"""When a sentence counts for an attribute and a task: one small file per rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from lmprobe.corpus.lexicon import Lexicon
from lmprobe.registry import Registry


class Rule(Protocol):
    """Reads blocks of text and says which sentences count."""

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts.

        A block holds whole lines of UTF-8 that end in line feeds. A line must count the
        same whatever stands before and after it, so that blocks may be cut anywhere
        between lines.
        """


rules: Registry[Callable[[Lexicon], Rule]] = Registry("rules", "lmprobe.corpus.rules")
"""The rules by name; each is called with the words and gives a `Rule`."""
