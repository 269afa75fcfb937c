"""Every error a caller may handle.

The command line catches `LmprobeError` alone and exits with 2: one of these
means that the input is wrong and says what, where, what was found, what would do.
They are `ValueError`s too, so that code which expects one from a bad argument works.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real

LONGEST_MESSAGE = 600
"""A message is cut to so many characters: its beginning and its end, which says what would do."""
_MOST_NAMES = 40

_SPACE = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]+")
# Control characters, marks of writing direction, and halves of surrogate pairs.
_COMMANDING = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff]"
)


def printable(text: object) -> str:
    """Return words in one line that command no terminal, whatever file they come from.

    >>> printable("red\\x1b[31m and\\nblue")
    'red\ufffd[31m and blue'
    """
    return _COMMANDING.sub("\ufffd", _SPACE.sub(" ", str(text)))


def shortened(text: object, longest: int = LONGEST_MESSAGE) -> str:
    """Return printable words of bounded length: the beginning and the end of longer ones."""
    words = printable(text)
    if len(words) <= longest:
        return words
    return f"{words[: longest * 2 // 3]} ... {words[-(longest // 3 - 5) :]}"


def plural(number: int, noun: str, nouns: str = "", *, of: int | None = None) -> str:
    """Return a count with its noun; `nouns` is the plural where it does not end in s.

    >>> plural(1, "template"), plural(2400, "pair"), plural(1, "pair", of=4)
    ('1 template', '2,400 pairs', '1 of 4 pairs')
    """
    whole = number if of is None else of
    part = "" if of is None else f"{number:,} of "
    return f"{part}{whole:,} {noun if whole == 1 else nouns or noun + 's'}"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument in the message of an error, which the command line names as its option.

    >>> str(Argument("tokenizer")), str(Argument("missing", "drop"))
    ('`tokenizer`', '`missing="drop"`')
    """

    name: str
    value: str | bool | None = None
    """What to give, where the message says so."""

    def __str__(self) -> str:
        """Return the argument as it is written in Python."""
        if self.value is None:
            return f"`{self.name}`"
        value = f'"{self.value}"' if isinstance(self.value, str) else self.value
        return f"`{self.name}={value}`"


class LmprobeError(Exception):
    """Base class of errors in the caller's input: one line, safe to print, says how to fix them.

    The message may be given in parts: texts, arguments, and the error that is passed on.
    """

    def __str__(self) -> str:
        """Return the message: no line breaks, no control characters, a few hundred characters."""
        return self.message(str)

    def message(self, spell: Callable[[Argument], str]) -> str:
        """Return the message with the arguments in it as `spell` writes them."""
        parts = (
            part.message(spell)
            if isinstance(part, LmprobeError)
            else spell(part)
            if isinstance(part, Argument)
            else str(part)
            for part in self.args
        )
        return shortened("".join(parts))


class InputError(LmprobeError, ValueError):
    """An argument, option or array that cannot be used as it is."""


class DataFileError(LmprobeError, ValueError):
    """A template set, lexicon, base-rate table or result file with a mistake in it."""


class ModelError(LmprobeError):
    """A model that cannot be loaded or cannot fill a mask."""


class MissingExtraError(LmprobeError, ImportError):
    """An optional dependency is not installed; the message carries the pip line."""


def invalid(argument: str, *about: object) -> InputError:
    """Return the error about an argument: its name, and what is wrong with it.

    >>> str(invalid("rounds", " must be 2 or more, found 1"))
    '`rounds` must be 2 or more, found 1'
    """
    return InputError(Argument(argument), *about)


def check_numbers(**arguments: object) -> None:
    """Raise for the first argument that is not a number.

    >>> check_numbers(effect="0.05")
    Traceback (most recent call last):
    lmprobe.errors.InputError: `effect` must be a number: found '0.05'
    """
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise invalid(name, f" must be a number: found {value!r}")


def check_confidence(confidence: float) -> float:
    """Return the confidence level; raise if it is not between 0 and 1."""
    check_numbers(confidence=confidence)
    if not 0 < confidence < 1:
        raise invalid("confidence", f" must lie between 0 and 1, both excluded: found {confidence}")
    return confidence


def refuse_unnamable(name: object) -> None:
    """Refuse a name that is not UTF-8: no table, result or page could name the file."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        raise DataFileError(f'"{name}" is not valid UTF-8; rename the file') from None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the end of an error message: the nearest known name, then all of them.

    >>> did_you_mean("unifrom", ["labor", "uniform"])
    'did you mean "uniform"? Known: labor, uniform'
    """
    known_names = sorted(names)
    # Not every name that is given is a text. Likeness is measured in quadratic time: no name
    # that was meant is much longer than these.
    word = str(name)[:100]
    near = [candidate for candidate in known_names if candidate.casefold() == word.casefold()]
    near = near or difflib.get_close_matches(word, known_names[:1000], n=1)
    hint = f'did you mean "{near[0]}"? ' if near else ""
    if not known_names:
        return "it has none"
    rest = len(known_names) - _MOST_NAMES
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"{hint}Known: {', '.join(known_names[:_MOST_NAMES])}{more}"
