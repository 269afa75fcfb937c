"""The smallest number of rows, templates or tasks that is enough for a claim."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

MOST = 2**60
"""No sample is larger than this; a claim that needs more is out of reach."""


def smallest(enough: Callable[[int], bool]) -> int | None:
    """Return the smallest n from 2 that is enough, None where not even `MOST` is.

    Every number above one that is enough must be enough as well.

    >>> smallest(lambda n: n * n > 50)
    8
    """
    numbers = range(2, MOST + 1)
    place = bisect_left(numbers, True, key=enough)
    return numbers[place] if place < len(numbers) else None
