"""The axis that interval, strip and dot plots share: names on the left, values across."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from lmprobe.plot.scale import Scale, scale, tick_label
from lmprobe.plot.svg import SMALL, element, hover, line, shortened, text, text_width
from lmprobe.results.figure import Sides

_MOST = 0.4
"""The names take no more of the width than this."""


def value_scale(values: Sequence[float], width: float, names: Sequence[str]) -> Scale:
    """Return the scale of values, with room on the left for the names."""
    longest = max((text_width(name) for name in names), default=0.0)
    return scale(values, 22 + min(_MOST * width, longest), width - 24)


def value_axis(across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Draw the grid and its numbers."""
    end = -math.inf
    for tick in across.ticks():
        x, words = across(tick), tick_label(tick)
        yield line(x, top, x, bottom, "grid")
        half = text_width(words) / 2
        if x - half > end:
            yield text(x, bottom + 18, words, "muted", "middle")
            end = x + half + 8


def reference_line(sides: Sides, across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Draw the line to compare with, and what lies on either side of it."""
    x = across(sides.reference)
    yield line(x, top - 6, x, bottom, "axis")
    left, right = f"{sides.left} ←", f"→ {sides.right}"
    if sides.left and x - 7 - text_width(left, SMALL) > 4:
        yield text(x - 7, top - 10, left, "small", "end")
    if sides.right and x + 7 + text_width(right, SMALL) < across.stop + 20:
        yield text(x + 7, top - 10, right, "small")


def row_name(name: str, across: Scale, y: float) -> Markup:
    """Write the name of a line before it; one that was shortened is whole on hover."""
    written = shortened(name, across.start - 20)
    at: dict[str, str | float] = {"x": across.start - 12, "y": y + 4.5, "text-anchor": "end"}
    return element("text", at, written, *([hover(name)] if written != name else []))
