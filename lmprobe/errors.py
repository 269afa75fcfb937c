"""Every error a caller may handle.

The command line catches `LmprobeError` alone and exits with 2: one of these
means that the input is wrong and says what, where, what was found, what would do.
They are `ValueError`s too, so that code which expects one from a bad argument works.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LmprobeError(Exception):
    """The caller can mend this: the message says how."""


class InputError(LmprobeError, ValueError):
    """An argument, option or array that cannot be used as it is."""


class DataFileError(LmprobeError, ValueError):
    """A template set, lexicon, base-rate table or result file with a mistake in it."""


class ModelError(LmprobeError):
    """A model that cannot be loaded or cannot fill a mask."""


class MissingExtraError(LmprobeError, ImportError):
    """An optional dependency is not installed; the message carries the pip line."""


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """Return the end of an error message: the nearest known name, then all of them.

    >>> did_you_mean("unifrom", ["labor", "uniform"])
    'did you mean "uniform"? Known: labor, uniform'
    """
    names = sorted(known)
    near = difflib.get_close_matches(found, names, n=1)
    hint = f'did you mean "{near[0]}"? ' if near else ""
    return f"{hint}Known: {', '.join(names) or 'none'}"
