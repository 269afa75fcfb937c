"""How long work tells somebody how far it is; the library itself never prints."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total) after each step of long work; total is 0 while unknown."""


def silent(done: int, total: int) -> None:
    """Tell nobody."""
