"""Finds room for the words beside points, so that none lies on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmprobe.plot.svg import text_width

_HEIGHT = 12.0
_GAP = 8.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of a picture."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Tell whether the two have more than an edge in common."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def holds(self, other: Box) -> bool:
        """Tell whether the other lies wholly inside."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A label that found room: the left end of its line of writing."""

    words: str
    x: float
    y: float


def place(
    labels: Sequence[tuple[float, float, str]],
    frame: Box,
    taken: Sequence[Box],
    size: float,
    lines: Sequence[Box] = (),
) -> list[Placed]:
    """Return the labels that fit beside their points, earlier ones first.

    Each is (x, y, words). A label lies on a line (an axis, a grid line, a curve) only where
    no other place is free. One without room is left out; it is still there on hover.
    """
    busy = list(taken)
    placed = []
    for x, y, words in labels:
        free = [
            box
            for box in _around(x, y, text_width(words, size))
            if frame.holds(box) and not any(box.overlaps(other) for other in busy)
        ]
        clear = (box for box in free if not any(box.overlaps(other) for other in lines))
        box = next(clear, free[0] if free else None)
        if box is not None:
            busy.append(box)
            placed.append(Placed(words, box.left, box.bottom - 2))
    return placed


def _around(x: float, y: float, width: float) -> list[Box]:
    """Return where a label may go, the best place first."""
    half = _HEIGHT / 2
    places = [
        (x + _GAP, y - half),
        (x - _GAP - width, y - half),
        (x - width / 2, y - _GAP - _HEIGHT),
        (x - width / 2, y + _GAP),
        (x + _GAP - 2, y - _GAP - half),
        (x + _GAP - 2, y + _GAP - half),
        (x - _GAP + 2 - width, y - _GAP - half),
        (x - _GAP + 2 - width, y + _GAP - half),
        (x + _GAP, y - _GAP - _HEIGHT),
        (x - _GAP - width, y + _GAP),
    ]
    return [Box(left, top, left + width, top + _HEIGHT) for left, top in places]
