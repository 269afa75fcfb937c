"""What a reader is: a function that opens a file, files that it accepts, and how to damage them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.mutations import Mutation

SEEDS = Path(__file__).parent / "seeds"


class WrongNumber(AssertionError):
    """The reader accepted an input and made other values of it."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader raises `LmprobeError` for what it refuses; what it accepts is used and compared."""

    name: str
    file: str
    """What the input's file is called."""
    seeds: Callable[[], tuple[bytes, ...]]
    damage: Mutation
    read: Callable[[Path], None]
    weight: float = 1.0
    """Its share of the inputs: less for a reader that takes long."""


def stored(*names: str) -> Callable[[], tuple[bytes, ...]]:
    """Return the seeds of these names, read when they are needed."""
    return lambda: tuple((SEEDS / name).read_bytes() for name in names)
