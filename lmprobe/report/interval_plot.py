"""Draws the value and the interval of every base in one direction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from lmprobe.report.scale import Scale, scale, tick_label
from lmprobe.report.svg import dot, hover, line, picture, shortened, text, text_width
from lmprobe.report.words import ends, kind, listed, percent, sentence, signed
from lmprobe.result import ProbeRow

_WIDTH, _STEP, _TOP = 440.0, 38.0, 26.0


def interval_plot(rows: Sequence[ProbeRow], *, standalone: bool = False) -> str:
    """Return the picture: one line per base, zero marked, what lies right of it amplifies."""
    direction = rows[0].direction
    bottom = _TOP + _STEP * len(rows)
    across = value_scale(_shown(rows), _WIDTH, [row.base for row in rows])
    body = [*value_axis(across, _TOP, bottom)]
    for number, row in enumerate(rows):
        body += _line(row, across, _TOP + _STEP * (number + 0.5))
    level = percent(rows[0].interval.confidence)
    return picture(
        f"intervals-{direction}",
        f"Amplification, {direction}, with {level} intervals",
        listed(f"compared with {row.base}, the model {sentence(row)}" for row in rows) + ".",
        (_WIDTH, bottom + 26),
        *body,
        standalone=standalone,
    )


def value_scale(values: Sequence[float], width: float, names: Sequence[str]) -> Scale:
    """Return the scale of values, zero always on it, with room on the left for the names."""
    room = min(120.0, max(text_width(name) for name in names))
    return scale([0.0, *values], 20 + room, width - 24)


def value_axis(across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Draw the grid, the line at zero, and which side means what."""
    end = -math.inf
    for tick in across.ticks():
        x, words = across(tick), tick_label(tick)
        yield line(x, top, x, bottom, "grid")
        if x - text_width(words) / 2 > end:
            yield text(x, bottom + 17, words, "muted", "middle")
            end = x + text_width(words) / 2 + 8
    zero = across(0.0)
    yield line(zero, top - 6, zero, bottom, "axis")
    left, right = "weakens ←", "→ exaggerates"
    if zero - text_width(left) > across.start - 40:
        yield text(zero - 7, top - 10, left, "small", "end")
    if zero + text_width(right) < across.stop + 24:
        yield text(zero + 7, top - 10, right, "small")


def row_name(name: str, across: Scale, y: float) -> Markup:
    """Write the name of a base before its line, all of it on hover."""
    written = shortened(name, across.start - 20)
    return text(across.start - 12, y + 4, written, anchor="end")


def _shown(rows: Sequence[ProbeRow]) -> list[float]:
    ends_of = (end for row in rows for end in (row.interval.low, row.interval.high))
    return [row.value for row in rows] + [end for end in ends_of if math.isfinite(end)]


def _line(row: ProbeRow, across: Scale, y: float) -> Iterator[Markup]:
    colour = kind(row)
    yield row_name(row.base, across, y)
    low, high = row.interval.low, row.interval.high
    if not (math.isnan(low) or math.isnan(high)):
        # An endless side runs to the edge of the picture.
        left = across(low) if math.isfinite(low) else across.start
        right = across(high) if math.isfinite(high) else across.stop
        yield line(left, y, right, y, f"{colour} bar")
    words = f"{row.base}: {signed(row.value)}, {ends(row.interval)}, {row.verdict}"
    yield dot(across(row.value), y, 5.5, f"{colour} dot", hover(words))
    anchor = min(max(across(row.value), across.start + 22), across.stop - 22)
    yield text(anchor, y - 10, signed(row.value), f"{colour} strong halo", "middle")
