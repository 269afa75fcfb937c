"""What a caption mentions: a gender, objects; as the published code decides, or by whole words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, get_args

from lmprobe.errors import InputError, did_you_mean

Rule = Literal["published", "word"]
RULES: tuple[Rule, ...] = get_args(Rule)

# The word lists of the published caption code (Wang & Russakovsky 2021, after Hendricks et al.).
_PUBLISHED = {
    "man": {"man", "boy", "gentleman", "male", "men"},
    "woman": {"woman", "girl", "lady", "female", "women"},
}
# The whole-word rule also takes the plurals that the published lists lack.
_WORD = {
    "man": _PUBLISHED["man"] | {"boys", "gentlemen", "males"},
    "woman": _PUBLISHED["woman"] | {"girls", "ladies", "females"},
}
# A name that is part of another object's name counts only outside of it.
_INSIDE = {"car": "carrot", "dog": "hotdog"}
_PUNCTUATION = re.compile(r"[^\w\s]")


def checked_rule(rule: Rule) -> Rule:
    """Return the rule, or say which there are."""
    if rule not in RULES:
        raise InputError(f'no rule "{rule}"; {did_you_mean(rule, RULES)}')
    return rule


def gender_of(texts: Iterable[str], rule: Rule = "published") -> str:
    """Return `man` or `woman` if the texts mention one of them, else `both` or `neither`.

    >>> gender_of(["A man rides.", "Somebody rides a horse."])
    'man'
    """
    words = {word for text in texts for word in _plain(text).split()}
    lists = _WORD if rule == "word" else _PUBLISHED
    named = [gender for gender, known in lists.items() if words & known]
    if len(named) == 1:
        return named[0]
    return "both" if named else "neither"


def object_finder(names: Iterable[str], rule: Rule = "published") -> Callable[[str], list[bool]]:
    """Return a function that tells which of the objects a caption mentions.

    `published`: the name without spaces is somewhere in the caption without spaces, so that
    "tie" is in "necktie" and "tied". `word`: whole words in a row, plurals included.

    >>> object_finder(["car", "hot dog"])("A hotdog with carrots.")
    [False, True]
    """
    listed = list(names)
    if rule == "published":
        return lambda caption: _substrings(listed, "".join(_plain(caption).split()))
    patterns = [re.compile(rf"\b{re.escape(name)}(?:s|es)?\b") for name in listed]
    return lambda caption: [bool(pattern.search(_plain(caption))) for pattern in patterns]


def _substrings(names: list[str], text: str) -> list[bool]:
    outside = {name: text.replace(whole, " ") for name, whole in _INSIDE.items()}
    return [name.replace(" ", "") in outside.get(name, text) for name in names]


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("", text.lower())
