"""Writing systems: which of them put no spaces between words."""

from __future__ import annotations

import re

# Han, Hiragana, Katakana, Thai, Lao, Burmese and Khmer letters, by Unicode block.
UNSPACED = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\u1780-\u17ff"
)
"""The letters of these scripts, as the inside of a character class of `re`."""

_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Tell whether words of the character's script are written without spaces between.

    >>> [is_unspaced(letter) for letter in "是のไ한a"]
    [True, True, True, False, False]
    """
    return _UNSPACED.match(character) is not None
