"""The indefinite article that an English word needs, by its sound."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from inflect import engine

# Words that inflect 7.5 gets wrong: numbers that begin with a vowel sound, and names.
_AN = (r"8.*", r"1[18](\D.*)?", r"SOS.*", r"Uber.*", r"Ubuntu.*")


@cache
def article(word: str) -> str:
    """Return "a" or "an", as the word is spoken.

    >>> [article(word) for word in ("hour", "European", "MRI", "one-off")]
    ['an', 'a', 'an', 'a']
    """
    return str(_engine().a(word)).partition(" ")[0]


@cache
def _engine() -> engine:
    # inflect has its arguments checked by typeguard, which parses the whole source again
    # for each method: seconds at the first article, for calls that we check ourselves.
    with mock.patch("typeguard.typechecked", lambda function: function):
        import inflect
    english = inflect.engine()
    for pattern in _AN:
        english.defan(pattern)
    return english
