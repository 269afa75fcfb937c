"""Draws values with their intervals, one line each, and brackets around groups of lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from lmprobe.plot.scale import Scale
from lmprobe.plot.svg import dot, element, hover, line, picture, text, text_width, width_of
from lmprobe.plot.value_axis import reference_line, row_name, value_axis, value_scale
from lmprobe.results.figure import Bracket, IntervalLine, IntervalPlot
from lmprobe.results.format import format_interval, format_signed

_STEP, _TOP = 42.0, 28.0
# Many lines are drawn closer together, with their numbers on hover only.
_MANY, _CLOSE = 12, 20.0
_BRACKET, _BRACKETS = 9.0, 72.0
"""The width of one bracket, and of all: many overlapping ones move together."""


def interval_plot(figure: IntervalPlot, *, standalone: bool) -> Markup:
    """Return the picture: one line per value, the reference marked."""
    width = width_of(standalone)
    step = _STEP if len(figure.lines) <= _MANY else _CLOSE
    bottom = _TOP + step * len(figure.lines)
    values = [figure.sides.reference, *_finite(figure)]
    columns = _columns(figure.brackets)
    room = min(_BRACKETS, _BRACKET * (1 + max(columns, default=-1)))
    across = value_scale(values, width - room, [one.label for one in figure.lines])
    body = [*value_axis(across, _TOP, bottom)]
    body += reference_line(figure.sides, across, _TOP, bottom)
    for number, one in enumerate(figure.lines):
        y = _TOP + step * (number + (0.55 if step == _STEP else 0.5))
        body += _line(one, across, y, written=step == _STEP)
    for bracket, column in zip(figure.brackets, columns, strict=True):
        x = width - room + room * column / (1 + max(columns)) + 1
        body.append(_bracket(bracket, x, step))
    return picture(figure, (width, bottom + 28), *body, standalone=standalone)


def _finite(figure: IntervalPlot) -> list[float]:
    ends = [end for one in figure.lines for end in (one.value, one.interval.low, one.interval.high)]
    return [end for end in ends if math.isfinite(end)]


def _line(one: IntervalLine, across: Scale, y: float, *, written: bool) -> Iterator[Markup]:
    colour = one.tone.value
    yield row_name(one.label, across, y)
    low, high = one.interval.low, one.interval.high
    if not (math.isnan(low) or math.isnan(high)):
        # An endless side runs to the edge of the picture.
        left = across(low) if math.isfinite(low) else across.start
        right = across(high) if math.isfinite(high) else across.stop
        yield line(left, y, right, y, f"{colour} bar")
    if not math.isfinite(one.value):
        return
    value = format_signed(one.value)
    words = f"{one.label}: {value}, {format_interval(one.interval)}"
    yield dot(across(one.value), y, 5.5 if written else 4.5, f"{colour} dot", hover(words))
    if written:
        half = text_width(value) / 2
        anchor = min(max(across(one.value), across.start + half), across.stop + 20 - half)
        yield text(anchor, y - 10, value, f"{colour} strong halo", "middle")


def _columns(brackets: Sequence[Bracket]) -> list[int]:
    """Return the column of each bracket: the first in which it meets no other."""
    ends: list[int] = []
    columns = []
    for one in brackets:
        free = [column for column, last in enumerate(ends) if last < one.lines[0]]
        column = free[0] if free else len(ends)
        ends[column : column + 1] = [one.lines[-1]]
        columns.append(column)
    return columns


def _bracket(one: Bracket, x: float, step: float) -> Markup:
    """Draw a bar beside the lines of a group, dotted past the lines that do not belong to it."""
    solid, dotted, bottom = "", "", math.inf
    for first, last in _neighbours(one.lines):
        top = _TOP + step * (first + 0.2)
        if bottom < top:
            dotted += f"M{x + 4:.1f} {bottom:.1f}V{top:.1f}"
        bottom = _TOP + step * (last + 0.8)
        solid += f"M{x:.1f} {top:.1f}h4V{bottom:.1f}h-4"
    between = [element("path", {"d": dotted, "class": "bracket between"})] if dotted else []
    drawn = element("path", {"d": solid, "class": "bracket"})
    return element("g", {}, hover(one.label), *between, drawn)


def _neighbours(lines: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last line of every stretch without a gap.

    >>> _neighbours((0, 1, 2, 5, 7, 8))
    [(0, 2), (5, 5), (7, 8)]
    """
    stretches: list[tuple[int, int]] = []
    for number in lines:
        first = number
        if stretches and stretches[-1][1] == number - 1:
            first = stretches.pop()[0]
        stretches.append((first, number))
    return stretches
