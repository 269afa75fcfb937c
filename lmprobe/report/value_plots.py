"""Draws values across one axis: intervals, strips of dots, and categories with marks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from lmprobe.report.marks import LEGEND_ROW, Key, legend, legend_rows, mark
from lmprobe.report.scale import Scale, scale, tick_label
from lmprobe.report.svg import (
    SMALL,
    dot,
    element,
    hover,
    line,
    picture,
    shortened,
    text,
    text_width,
    width_of,
)
from lmprobe.results.figure import (
    MOST_DOTS,
    Bracket,
    DotPlot,
    IntervalLine,
    IntervalPlot,
    Sides,
    Strip,
    StripPlot,
)
from lmprobe.results.format import format_interval, format_signed

_MOST = 0.4
"""The names take no more of the width than this."""


def _value_scale(values: Sequence[float], width: float, names: Sequence[str]) -> Scale:
    """Return the scale of values, with room on the left for the names."""
    longest = max((text_width(name) for name in names), default=0.0)
    return scale(values, 22 + min(_MOST * width, longest), width - 24)


def _value_axis(across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Draw the grid and its numbers."""
    end = -math.inf
    for tick in across.ticks():
        x, words = across(tick), tick_label(tick)
        yield line(x, top, x, bottom, "grid")
        half = text_width(words) / 2
        if x - half > end:
            yield text(x, bottom + 18, words, "muted", "middle")
            end = x + half + 8


def _reference_line(sides: Sides, across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Draw the line to compare with, and what lies on either side of it."""
    x = across(sides.reference)
    yield line(x, top - 6, x, bottom, "axis")
    left, right = f"{sides.left} ←", f"→ {sides.right}"
    if sides.left and x - 7 - text_width(left, SMALL) > 4:
        yield text(x - 7, top - 10, left, "small", "end")
    if sides.right and x + 7 + text_width(right, SMALL) < across.stop + 20:
        yield text(x + 7, top - 10, right, "small")


def _row_name(name: str, across: Scale, y: float) -> Markup:
    """Write the name of a line before it; one that was shortened is whole on hover."""
    written = shortened(name, across.start - 20)
    at: dict[str, str | float] = {"x": across.start - 12, "y": y + 4.5, "text-anchor": "end"}
    return element("text", at, written, *([hover(name)] if written != name else []))


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
    values = [
        end for row in figure.lines for end in (row.value, row.interval.low, row.interval.high)
    ]
    columns = _columns(figure.brackets)
    room = min(_BRACKETS, _BRACKET * (1 + max(columns, default=-1)))
    names = [row.label for row in figure.lines]
    across = _value_scale([figure.sides.reference, *values], width - room, names)
    body = [
        *_value_axis(across, _TOP, bottom),
        *_reference_line(figure.sides, across, _TOP, bottom),
    ]
    for number, row in enumerate(figure.lines):
        y = _TOP + step * (number + (0.55 if step == _STEP else 0.5))
        body += _line(row, across, y, written=step == _STEP)
    for bracket, column in zip(figure.brackets, columns, strict=True):
        x = width - room + room * column / (1 + max(columns)) + 1
        body.append(_bracket(bracket, x, step))
    return picture(figure, (width, bottom + 28), *body, standalone=standalone)


def _line(row: IntervalLine, across: Scale, y: float, *, written: bool) -> Iterator[Markup]:
    colour = row.tone.value
    yield _row_name(row.label, across, y)
    low, high = row.interval.low, row.interval.high
    if not (math.isnan(low) or math.isnan(high)):
        # An endless side runs to the edge of the picture.
        left = across(low) if math.isfinite(low) else across.start
        right = across(high) if math.isfinite(high) else across.stop
        yield line(left, y, right, y, f"{colour} bar")
    if not math.isfinite(row.value):
        return
    x, value = across(row.value), format_signed(row.value)
    words = f"{row.label}: {value}, {format_interval(row.interval)}"
    yield dot(x, y, 5.5 if written else 4.5, f"{colour} dot", hover(words))
    if written:
        half = text_width(value) / 2
        anchor = min(max(x, across.start + half), across.stop + 20 - half)
        yield text(anchor, y - 10, value, f"{colour} strong halo", "middle")


def _columns(brackets: Sequence[Bracket]) -> list[int]:
    """Return the column of each bracket: the first in which it meets no other."""
    ends: list[int] = []
    columns = []
    for bracket in brackets:
        free = [column for column, last in enumerate(ends) if last < bracket.lines[0]]
        column = free[0] if free else len(ends)
        ends[column : column + 1] = [bracket.lines[-1]]
        columns.append(column)
    return columns


def _bracket(bracket: Bracket, x: float, step: float) -> Markup:
    """Draw a bar beside the lines of a group, dotted past the lines that do not belong to it."""
    solid, dotted, bottom = "", "", math.inf
    for number in bracket.lines:
        if number - 1 in bracket.lines:
            continue
        top = _TOP + step * (number + 0.2)
        if bottom < top:
            dotted += f"M{x + 4:.1f} {bottom:.1f}V{top:.1f}"
        last = next(end for end in itertools.count(number) if end + 1 not in bracket.lines)
        bottom = _TOP + step * (last + 0.8)
        solid += f"M{x:.1f} {top:.1f}h4V{bottom:.1f}h-4"
    between = [element("path", {"d": dotted, "class": "bracket between"})] if dotted else []
    drawn = element("path", {"d": solid, "class": "bracket"})
    return element("g", {}, hover(bracket.label), *between, drawn)


_RADIUS = 3.0
_PITCH = 5.0
_HIGHEST = 22.0
"""No strip reaches farther from its line: one that would is pressed together."""


def strip_plot(figure: StripPlot, *, standalone: bool) -> Markup:
    """Return the picture: a dot per value, a bar at their mean."""
    width = width_of(standalone)
    values = [value for strip in figure.strips for value in strip.values]
    names = [strip.label for strip in figure.strips]
    across = _value_scale([figure.sides.reference, *values], width, names)
    body: list[Markup] = []
    y = _TOP
    for strip in figure.strips:
        dots = _dots(strip, across)
        widest = max([abs(off) for _, off, _ in dots], default=0.0)
        press = min(1.0, _HIGHEST / widest) if widest else 1.0
        half = max(widest * press + _RADIUS + 7, 17.0)
        y += half
        body.append(_row_name(strip.label, across, y))
        middle = across(figure.sides.reference)
        for x, off, words in dots:
            side = "plus" if x > middle else "minus" if x < middle else "even"
            body.append(dot(x, y + off * press, _RADIUS, f"{side} soft", hover(words)))
        if math.isfinite(strip.mean):
            mean = across(strip.mean)
            body.append(line(mean, y - half + 3, mean, y + half - 3, "axis"))
        y += half
    axes = [*_value_axis(across, _TOP, y), *_reference_line(figure.sides, across, _TOP, y)]
    return picture(figure, (width, y + 28), *axes, *body, standalone=standalone)


def _dots(strip: Strip, across: Scale) -> list[tuple[float, float, str]]:
    """Return each dot: its place, how far it is moved off the line, and its words."""
    placed: list[tuple[float, float, str]] = []
    for value, words in _shown(strip):
        x = across(value)
        for off in (side * step * _PITCH for step in itertools.count() for side in (1, -1)):
            # The nearest place beside the line where the dot touches no other.
            if all((x - a) ** 2 + (off - b) ** 2 >= _PITCH**2 for a, b, _ in placed[-60:]):
                placed.append((x, off, words))
                break
    return placed


def _shown(strip: Strip) -> Iterator[tuple[float, str]]:
    """Yield the value and the words of each dot; many values are drawn in groups of neighbours."""
    pairs = [pair for pair in zip(strip.values, strip.names, strict=True) if math.isfinite(pair[0])]
    pairs.sort(key=lambda pair: pair[0])
    if len(pairs) <= MOST_DOTS:
        yield from ((value, f"{name}: {format_signed(value)}") for value, name in pairs)
        return
    ends = [number * len(pairs) // MOST_DOTS for number in range(MOST_DOTS + 1)]
    for start, end in itertools.pairwise(ends):
        values = [value for value, _ in pairs[start:end]]
        span = f"{format_signed(values[0])} to {format_signed(values[-1])}"
        yield sum(values) / len(values), f"{len(values)} values, {span}"


_ROW = 18.0


def dot_plot(figure: DotPlot, *, standalone: bool) -> Markup:
    """Return the picture; lines join the marks of a category, so that its spread shows."""
    width = width_of(standalone)
    keys = [Key(number, series.name, True, False) for number, series in enumerate(figure.dots)]
    rows = legend_rows(keys, width)
    top = 14 + LEGEND_ROW * len(rows) + (20 if figure.reference_label else 4)
    bottom = top + _ROW * len(figure.categories) + 4
    values = [value for series in figure.dots for value in series.values]
    values += [] if figure.reference is None else [figure.reference]
    across = _value_scale(values, width, figure.categories)
    body = [*legend(rows, 18, width), *_value_axis(across, top, bottom)]
    if figure.reference is not None:
        x = across(figure.reference)
        body.append(line(x, top - 4, x, bottom, "guide"))
        if figure.reference_label:
            half = text_width(figure.reference_label) / 2
            anchor = min(max(x, half + 6), width - half - 6)
            body.append(text(anchor, top - 9, figure.reference_label, "muted", "middle"))
    for number, category in enumerate(figure.categories):
        y = top + _ROW * (number + 0.5) + 2
        body.append(_row_name(category, across, y))
        marks = [
            (index, series.name, series.values[number])
            for index, series in enumerate(figure.dots)
            if math.isfinite(series.values[number])
        ]
        if len(marks) > 1:
            ends = [across(value) for _, _, value in marks]
            body.append(line(min(ends), y, max(ends), y, "grid"))
        for index, name, value in marks:
            words = ": ".join(filter(None, (category, name))) + f" {tick_label(value)}"
            body.append(mark(across(value), y, 4.2, index, "dot", hover(words)))
    body.append(
        text(across.stop, bottom + 36, shortened(figure.x_label, width - 16), "muted", "end")
    )
    return picture(figure, (width, bottom + 46), *body, standalone=standalone)
