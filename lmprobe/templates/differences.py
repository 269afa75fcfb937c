"""Where finished sentences differ: the words that are guessed when one of them is the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from unicodedata import category

from lmprobe.templates.template import UNSPACED

Places = tuple[tuple[int, int], ...]
"""Character offsets of the parts of a sentence, in its order."""

# What stands for a mark that belongs to the letter before it.
_MARK = "\u02c0"
# A word with its apostrophes ("don't"), a letter of a script without spaces, or a sign.
_WORD = re.compile(rf"[{UNSPACED}]{_MARK}*|[^\W{UNSPACED}]+(?:['’][^\W{UNSPACED}]+)*|[^\w\s]")


def differences(sentences: Sequence[str]) -> list[Places]:
    """Return where each of the sentences differs from the others; nothing where none does.

    Whole words count. All sentences have equally many differences, and each writes something: a
    word that one of them lacks is taken with the word after it, or else before it. The order of
    the sentences makes no difference.

    >>> he, she = "He said that his car broke.", "She said that her old car broke."
    >>> [[text[slice(*span)] for span in spans]
    ...  for text, spans in zip((he, she), differences([he, she]))]
    [['He', 'his'], ['She', 'her old']]
    >>> differences(["a man in town", "man in town"])
    [((0, 5),), ((0, 3),)]
    """
    ordered = sorted(set(sentences))
    words = {text: [match.span() for match in _WORD.finditer(_plain(text))] for text in ordered}
    shared = _shared([[text[slice(*span)] for span in words[text]] for text in ordered])
    parts = {
        text: tuple(
            (words[text][left[row] + 1][0], words[text][right[row] - 1][1])
            for left, right in pairwise(shared)
            if left[row] + 1 < right[row]
        )
        for row, text in enumerate(ordered)
    }
    return [parts[text] for text in sentences]


def _plain(text: str) -> str:
    """Return the text with a letter of its own for each mark, such as a vowel in Hindi or Thai."""
    if text.isascii():
        return text
    return "".join(_MARK if category(sign)[0] == "M" else sign for sign in text)


def _shared(sentences: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """Return the places of the words that all sentences share, in order, one in each sentence.

    Between two of them, either every sentence has other words or none has. They begin with the
    places before the first words, and end with those after the last.
    """
    first = sentences[0]
    common: list[tuple[int, ...]] = [(place,) for place in range(len(first))]
    for other in sentences[1:]:
        words = [first[places[0]] for places in common]
        blocks = SequenceMatcher(None, words, other, autojunk=False).get_matching_blocks()
        common = [
            (*common[left + step], right + step)
            for left, right, size in blocks
            for step in range(size)
        ]
    shared = [tuple(-1 for _ in sentences), *common, tuple(map(len, sentences))]
    number = 0
    while number < len(shared) - 1:
        pairs = zip(shared[number], shared[number + 1], strict=True)
        empty = [left + 1 == right for left, right in pairs]
        if all(empty) or not any(empty):
            number += 1
        elif number < len(shared) - 2:
            del shared[number + 1]
        elif number:
            del shared[number]
            number -= 1
        else:
            break
    return shared
