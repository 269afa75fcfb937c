"""What a counting rule is, and the registry that finds one by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from lmprobe.corpus.lexicon import Lexicon
from lmprobe.errors import InputError
from lmprobe.registry import Registry


class Rule(Protocol):
    """Reads blocks of text and says which sentences count.

    Its class may have `default_attributes`, the English words of each group that it counts
    when the caller names none.
    """

    def pairs(self, block: bytes) -> Iterator[tuple[int, int]]:
        """Yield (attribute, task) of each sentence that counts.

        A block holds whole lines of UTF-8 that end in line feeds. A line must count the
        same whatever stands before and after it, so that blocks may be cut anywhere
        between lines.
        """


def english_only(name: str, lexicon: Lexicon) -> None:
    """Refuse a rule that is about English in any other language."""
    if lexicon.language != "en":
        raise InputError(
            f'the rule "{name}" is for English, and the language is "{lexicon.language}"; '
            "choose the rule word"
        )


rules: Registry[Callable[[Lexicon], Rule]] = Registry("rules", "lmprobe.corpus.rules")
"""The rules by name; each is called with the words and gives a `Rule`."""
