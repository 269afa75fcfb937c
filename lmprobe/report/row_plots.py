"""Draws a line per row: intervals, strips of dots, shares, cells of colour."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lmprobe.report.svg import (
    FONT,
    SMALL,
    Scale,
    dot,
    draw,
    element,
    fitted_text,
    hover,
    line,
    picture,
    scale,
    shortened,
    text,
    text_width,
    tick_label,
    width_of,
    x_axis,
)
from lmprobe.results.content import (
    MOST_DOTS,
    Bracket,
    HeatBlock,
    HeatMap,
    IntervalLine,
    IntervalPlot,
    ShareLine,
    SharePlot,
    Sides,
    Strip,
    StripPlot,
)
from lmprobe.results.format import DIGITS, format_interval, format_percent, format_signed

_NAMES = 0.4
"""The names take no more of the width than this."""
_BREAKS = " -_/:"
"""A long name goes on after one of these."""


def _value_scale(values: Sequence[float], width: float, names: Sequence[str]) -> Scale:
    """Return the scale of values, with room on the left for the names."""
    longest = max((text_width(name) for name in names), default=0.0)
    return scale(values, 22 + min(_NAMES * width, longest), width - 24)


def _row_name(name: str, right: float, y: float, *, lines: int = 1) -> Markup:
    """Write a name before its line, on a second line too where there is room for two."""
    room = right - 8
    parts = [name]
    if lines == 2 and text_width(name) > room:
        letters = max(1, int(room / text_width("x")))
        cut = max(name.rfind(mark, 0, letters) + 1 for mark in _BREAKS) or letters
        parts, y = [name[:cut], name[cut:]], y - 8
    return Markup("").join(
        fitted_text(part, room, {"x": right, "y": y + 4.5 + 16 * number, "text-anchor": "end"})
        for number, part in enumerate(parts)
    )


def _zero_line(sides: Sides, across: Scale, top: float, bottom: float) -> Iterator[Markup]:
    """Draw the line at zero, and what lies on either side of it."""
    x = across(0.0)
    yield line(x, top - 6, x, bottom, "axis")
    left, right = f"{sides.left} ←", f"→ {sides.right}"
    if sides.left and x - 7 - text_width(left, SMALL) > 4:
        yield text(x - 7, top - 10, left, "small", "end")
    if sides.right and x + 7 + text_width(right, SMALL) < across.stop + 20:
        yield text(x + 7, top - 10, right, "small")


_STEP, _TOP = 42.0, 28.0
# Many lines are drawn closer together, with their numbers on hover only.
_MANY, _CLOSE = 12, 20.0
_BRACKET, _BRACKETS = 9.0, 72.0
"""The width of one bracket, and of all: many overlapping ones move together."""


@draw.register
def interval_plot(figure: IntervalPlot, *, standalone: bool) -> Markup:
    """Return the picture: one line per value, zero marked."""
    width = width_of(standalone)
    step = _STEP if len(figure.lines) <= _MANY else _CLOSE
    bottom = _TOP + step * len(figure.lines)
    values = [
        end for row in figure.lines for end in (row.value, row.interval.low, row.interval.high)
    ]
    columns = _columns(figure.brackets)
    room = min(_BRACKETS, _BRACKET * (1 + max(columns, default=-1)))
    names = [row.label for row in figure.lines]
    across = _value_scale([0.0, *values], width - room, names)
    body = [*x_axis(across, _TOP, bottom), *_zero_line(figure.sides, across, _TOP, bottom)]
    for number, row in enumerate(figure.lines):
        y = _TOP + step * (number + (0.55 if step == _STEP else 0.5))
        body += _line(row, across, y, written=step == _STEP)
    for bracket, column in zip(figure.brackets, columns, strict=True):
        x = width - room + room * column / (1 + max(columns)) + 1
        body.append(_bracket(bracket, x, step))
    return picture(figure, (width, bottom + 28), *body, standalone=standalone)


def _line(row: IntervalLine, across: Scale, y: float, *, written: bool) -> Iterator[Markup]:
    colour = row.tone.value
    yield _row_name(row.label, across.start - 12, y, lines=1 + written)
    low, high = row.interval.low, row.interval.high
    if not (math.isnan(low) or math.isnan(high)):
        # An endless side runs to the edge of the picture.
        left = across(low) if math.isfinite(low) else across.start
        right = across(high) if math.isfinite(high) else across.stop
        yield line(left, y, right, y, f"{colour} bar")
    if not math.isfinite(row.value):
        return
    # Down to a hundredth of the scale: nobody sees a smaller difference.
    digits = max(DIGITS, -math.floor(math.log10((across.high - across.low) / 100)))
    x, value = across(row.value), format_signed(round(row.value, digits), digits)
    words = f"{row.label}: {format_signed(row.value)}, {format_interval(row.interval)}"
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


@draw.register
def strip_plot(figure: StripPlot, *, standalone: bool) -> Markup:
    """Return the picture: a dot per value, a bar at their mean."""
    width = width_of(standalone)
    values = [value for strip in figure.strips for value in strip.values]
    names = [strip.label for strip in figure.strips]
    across = _value_scale([0.0, *values], width, names)
    body: list[Markup] = []
    y = _TOP
    for strip in figure.strips:
        dots = _dots(strip, across)
        widest = max([abs(off) for _, off, _ in dots], default=0.0)
        press = min(1.0, _HIGHEST / widest) if widest else 1.0
        half = max(widest * press + _RADIUS + 7, 17.0)
        y += half
        body.append(_row_name(strip.label, across.start - 12, y, lines=2))
        middle = across(0.0)
        for x, off, words in dots:
            side = "plus" if x > middle else "minus" if x < middle else "even"
            body.append(dot(x, y + off * press, _RADIUS, f"{side} soft", hover(words)))
        if math.isfinite(strip.mean):
            mean = across(strip.mean)
            body.append(line(mean, y - half + 3, mean, y + half - 3, "axis"))
        y += half
    axes = [*x_axis(across, _TOP, y), *_zero_line(figure.sides, across, _TOP, y)]
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


_SHARE = 54.0
"""Room for a share that is written beside its mark."""


@draw.register
def share_plot(figure: SharePlot, *, standalone: bool) -> Markup:
    """Return the picture: a ring for the share before, a dot for that after, both written."""
    width = width_of(standalone)
    longest = max((text_width(row.label) for row in figure.lines), default=0.0)
    left = 16 + min(_NAMES * width, longest)
    values = [share for row in figure.lines for share in (row.before, row.after)]
    across = scale(values, left + _SHARE, width - _SHARE - 6)
    key, height = _share_key(figure, width)
    top = 14 + height
    bottom = top + _ROW * len(figure.lines) + 4
    body = [*key, *x_axis(across, top, bottom, label=format_percent)]
    for number, row in enumerate(figure.lines):
        y = top + _ROW * (number + 0.5) + 2
        body.append(_row_name(row.label, left, y))
        if math.isfinite(row.before) and math.isfinite(row.after):
            body += _shares(row, across, y)
    return picture(figure, (width, bottom + 28), *body, standalone=standalone)


def _share_key(figure: SharePlot, width: float) -> tuple[list[Markup], float]:
    """Return which mark is whose, beside each other if there is room, and the height of that."""
    parts: list[Markup] = []
    x, y = 14.0, 14.0
    for name, kind in ((figure.before, "ring"), (figure.after, "even dot")):
        if parts and x + 22 + text_width(name) > width:
            x, y = 14.0, y + _ROW
        parts.append(dot(x, y - 4.5, 4.5, kind))
        parts.append(text(x + 12, y, shortened(name, width - 30), "muted"))
        x += 36 + text_width(name)
    return parts, y


def _shares(row: ShareLine, across: Scale, y: float) -> Iterator[Markup]:
    tone = row.tone.value
    first, last = across(row.before), across(row.after)
    before, after = map(_share_label, (row.before, row.after))
    way = 1 if last >= first else -1
    yield line(first, y, last, y, f"{tone} bar")
    yield dot(first, y, 4.5, "ring")
    yield dot(last, y, 4.5, f"{tone} dot", hover(f"{row.label}: {before} to {after}"))
    # Each on the far side of its mark: they cannot meet.
    anchors = ("end", "start") if way == 1 else ("start", "end")
    yield text(first - 8 * way, y + 4, before, "small", anchors[0])
    yield text(last + 8 * way, y + 4, after, f"{tone} small strong", anchors[1])


def _share_label(share: float) -> str:
    """Return a share in the few letters that have room beside its mark."""
    if 0 < share < 1e-4:
        return "<0.01%"
    return ">99.9%" if 0.9995 < share < 1 else format_percent(share, 1 if share < 1e-3 else 2)


_NARROWEST, _WIDEST = 17.0, 48.0
_GAP = 12.0
_TALLEST = 190.0
"""A column's name takes no more height than this."""
_MANY_CELLS = 2_000
"""Of a larger block, cells of a row and colour are drawn at once, or a page would be slow."""
_SHADES = 20
_NAMED = 3
"""So many cells of such a row are named on hover, the largest."""


@draw.register
def heat_map(figure: HeatMap, *, standalone: bool) -> Markup:
    """Return the picture; orange is positive, blue negative, struck through undefined."""
    width = width_of(standalone)
    left = 16 + min(130.0, max((text_width(name) for name in figure.rows), default=0.0))
    room = width - left - 12 - _GAP * (len(figure.blocks) - 1)
    number = sum(len(block.columns) for block in figure.blocks)
    cell = max(_NARROWEST, min(_WIDEST, room / max(number, 1)))
    wide = [cell * len(block.columns) for block in figure.blocks]
    *starts, end = itertools.accumulate(wide, lambda x, step: x + step + _GAP, initial=left)
    titles = _CellNames(
        tuple(
            (block.title, x + step / 2, step + _GAP - 4)
            for block, x, step in zip(figure.blocks, starts, wide, strict=True)
        ),
        FONT,
    )
    names = _CellNames(
        tuple(
            (name, x + cell * (index + 0.5), cell)
            for block, x in zip(figure.blocks, starts, strict=True)
            for index, name in enumerate(block.columns)
        ),
        SMALL,
    )
    top = 8 + titles.height + 8 + names.height + 8
    bottom = top + _ROW * len(figure.rows)
    cells = [
        value
        for block in figure.blocks
        for row in block.values
        for value in row
        if value is not None
    ]
    largest = max((abs(value) for value in cells if math.isfinite(value)), default=0.0) or 1.0
    body = [
        _row_name(name, left - 8, top + _ROW * (index + 0.5))
        for index, name in enumerate(figure.rows)
    ]
    body += [*titles.draw(8 + titles.height), *names.draw(top - 6)]
    for block, x in zip(figure.blocks, starts, strict=True):
        if len(figure.rows) * len(block.columns) > _MANY_CELLS:
            body += _rows_at_once(block, figure.rows, (x, top, cell), largest)
            continue
        for row, column in itertools.product(range(len(figure.rows)), range(len(block.columns))):
            value = block.values[row][column]
            if value is not None:
                pair = f"{block.columns[column]}, {figure.rows[row]} {format_signed(value)}"
                words = f"{block.title}: {pair}" if block.title else pair
                place = x + cell * column, top + _ROW * row
                body.append(_cell(*place, cell, value, value / largest, words))
    body += _key(largest, any(map(math.isnan, cells)), left, bottom + 14)
    size = max(end, left + 234, width), bottom + 50
    return picture(figure, size, *body, standalone=standalone)


@dataclass(frozen=True, slots=True)
class _CellNames:
    """Names above their cells: along them, or upwards where one is wider than its cells are."""

    names: tuple[tuple[str, float, float], ...]
    """Each with its middle and the room it has."""
    size: float

    @property
    def upright(self) -> bool:
        return any(text_width(words, self.size) > room for words, _, room in self.names)

    @property
    def height(self) -> float:
        widest = max((text_width(words, self.size) for words, _, _ in self.names), default=0.0)
        return min(_TALLEST, widest) if self.upright else self.size

    def draw(self, bottom: float) -> Iterator[Markup]:
        kind = "strong" if self.size == FONT else "small"
        for words, x, room in self.names:
            if self.upright:
                turned = f"translate({x + 4:.1f} {bottom:.1f}) rotate(-90)"
                yield fitted_text(words, _TALLEST, {"class": kind, "transform": turned}, self.size)
            else:
                at: dict[str, str | float] = {"class": kind, "x": x, "y": bottom}
                yield fitted_text(words, room, at | {"text-anchor": "middle"}, self.size)


def _cell(x: float, y: float, wide: float, value: float, share: float, words: str) -> Markup:
    frame: dict[str, str | float] = {"x": x + 0.5, "y": y + 0.5, "width": wide - 1}
    frame["height"] = _ROW - 1
    if math.isnan(value):
        struck = line(x + 3, y + _ROW - 3, x + wide - 3, y + 3, "axis")
        return element("rect", frame | {"class": "empty"}, hover(words)) + struck
    side = "plus" if value > 0 else "minus"
    # The page shows through, so that the middle of the scale is its own colour.
    frame |= {"class": f"{side} cell", "fill-opacity": 0.05 + 0.95 * abs(share)}
    return element("rect", frame, hover(words))


def _rows_at_once(
    block: HeatBlock, rows: Sequence[str], place: tuple[float, float, float], largest: float
) -> Iterator[Markup]:
    """Draw a large block row by row, in as many paths as a row has shades."""
    left, top, cell = place
    for number, row in enumerate(rows):
        y = top + _ROW * number + 0.5
        shades: dict[tuple[str, float], list[str]] = {}
        names = []
        for column, value in enumerate(block.values[number]):
            if value is None or math.isnan(value):
                continue
            names.append((abs(value), f"{block.columns[column]} {format_signed(value)}"))
            shade = max(1, round(_SHADES * abs(value) / largest)) / _SHADES
            x = left + cell * column + 0.5
            path = f"M{x:.1f} {y:.1f}h{cell - 1:.1f}v{_ROW - 1:.0f}h-{cell - 1:.1f}z"
            shades.setdefault(("plus" if value > 0 else "minus", shade), []).append(path)
        first = ", ".join(words for _, words in sorted(names, reverse=True)[:_NAMED])
        cells = [
            element("path", {"d": "".join(paths), "class": f"{side} cell", "fill-opacity": shade})
            for (side, shade), paths in shades.items()
        ]
        yield element("g", {}, hover(f"{row}: {first}"), *cells)


def _key(largest: float, undefined: bool, x: float, y: float) -> Iterator[Markup]:
    """Draw the scale of colours with its ends."""
    steps = 11
    for number in range(steps):
        share = 2 * number / (steps - 1) - 1
        yield _cell(x + 12 * number, y, 12, share, share, format_signed(share * largest))
    end = tick_label(float(f"{largest:.2g}"))
    yield text(x, y + 31, f"−{end}", "small")
    yield text(x + 6 * steps, y + 31, "0", "small", "middle")
    yield text(x + 12 * steps, y + 31, f"+{end}", "small", "end")
    if undefined:
        yield _cell(x + 12 * steps + 16, y, 18, math.nan, 0.0, "undefined")
        yield text(x + 12 * steps + 40, y + 13, "undefined", "small")
