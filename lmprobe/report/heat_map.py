"""Draws signed numbers as colours: rows down, blocks of columns side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from lmprobe.report.scale import tick_label
from lmprobe.report.svg import (
    FONT,
    SMALL,
    element,
    hover,
    line,
    picture,
    shortened,
    text,
    text_width,
    width_of,
)
from lmprobe.results.figure import HeatBlock, HeatMap
from lmprobe.results.format import format_signed

_ROW = 18.0
_NARROWEST, _WIDEST = 17.0, 48.0
_GAP = 12.0
_TALLEST = 110.0
"""A column's name takes no more height than this."""
_MANY = 2_000
"""A map of more cells draws those of a row and colour at once, or a page of it would be slow."""
_SHADES = 20
_NAMED = 3
"""So many cells of such a row are named on hover, the largest."""


def heat_map(figure: HeatMap, *, standalone: bool) -> Markup:
    """Return the picture; orange is positive, blue negative, struck through undefined."""
    layout = _layout(figure, width_of(standalone))
    cells = [
        cell for block in figure.blocks for row in block.values for cell in row if cell is not None
    ]
    largest = max((abs(cell) for cell in cells if math.isfinite(cell)), default=0.0) or 1.0
    bottom = layout.top + _ROW * len(figure.rows)
    body = []
    for index, name in enumerate(figure.rows):
        y = layout.top + _ROW * (index + 0.5) + 4
        body.append(text(layout.left - 8, y, shortened(name, layout.left - 16), anchor="end"))
    x = layout.left
    for block in figure.blocks:
        body += _block(block, figure.rows, x, layout, largest)
        x += layout.cell * len(block.columns) + _GAP
    body += _key(largest, any(map(math.isnan, cells)), layout.left, bottom + 14)
    width = max(x, layout.left + 250, width_of(standalone))
    return picture(figure, (width, bottom + 50), *body, standalone=standalone)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the cells begin, how wide one is, and which names stand upright."""

    left: float
    top: float
    cell: float
    titles_upright: bool
    columns_upright: bool
    title_height: float


def _layout(figure: HeatMap, width: float) -> _Layout:
    names = min(130.0, max((text_width(name) for name in figure.rows), default=0.0))
    left = names + 16
    number = sum(len(block.columns) for block in figure.blocks)
    room = width - left - 12 - _GAP * (len(figure.blocks) - 1)
    cell = max(_NARROWEST, min(_WIDEST, room / max(number, 1)))
    titles = [
        (text_width(block.title), cell * len(block.columns) + _GAP - 4) for block in figure.blocks
    ]
    columns = [text_width(name, SMALL) for block in figure.blocks for name in block.columns]
    title_upright = any(wide > space for wide, space in titles)
    column_upright = max(columns, default=0.0) > cell
    title_height = min(_TALLEST, max(wide for wide, _ in titles)) if title_upright else FONT
    column_height = min(_TALLEST, max(columns, default=0.0)) if column_upright else SMALL
    top = 8 + title_height + 8 + column_height + 8
    return _Layout(left, top, cell, title_upright, column_upright, title_height)


def _heading(
    words: str, x: float, bottom: float, kind: str, *, upright: bool, room: float
) -> Markup:
    """Write a name above its cells: along them, or upwards where it is wider than they are."""
    size = SMALL if kind == "small" else FONT
    written = shortened(words, _TALLEST if upright else room, size)
    whole = [hover(words)] if written != words else []
    at: dict[str, str | float] = {"class": kind}
    if upright:
        at |= {"transform": f"translate({x + 4:.1f} {bottom:.1f}) rotate(-90)"}
    else:
        at |= {"x": x, "y": bottom, "text-anchor": "middle"}
    return element("text", at, written, *whole)


def _block(
    block: HeatBlock, rows: tuple[str, ...], x: float, layout: _Layout, largest: float
) -> Iterator[Markup]:
    """Draw the cells of one block under its name and those of its columns."""
    wide, upright = layout.cell * len(block.columns), layout.titles_upright
    bottom, room = 8 + layout.title_height, wide + _GAP - 4
    yield _heading(block.title, x + wide / 2, bottom, "strong", upright=upright, room=room)
    many = len(rows) * len(block.columns) > _MANY
    for column, name in enumerate(block.columns):
        at, upright = x + layout.cell * column, layout.columns_upright
        middle = at + layout.cell / 2
        yield _heading(name, middle, layout.top - 6, "small", upright=upright, room=layout.cell)
        for number, row in enumerate(() if many else rows):
            value = block.values[number][column]
            if value is not None:
                words = f"{block.title}: {name}, {row} {format_signed(value)}"
                y = layout.top + _ROW * number
                yield _cell(at, y, layout.cell, value, value / largest, words)
    if many:
        yield from _rows_at_once(block, rows, x, layout, largest)


def _rows_at_once(
    block: HeatBlock, rows: tuple[str, ...], x: float, layout: _Layout, largest: float
) -> Iterator[Markup]:
    """Draw the cells of a large block row by row, in as many paths as a row has shades."""
    wide = layout.cell - 1
    for number, row in enumerate(rows):
        y = layout.top + _ROW * number + 0.5
        shades: dict[tuple[str, float], list[str]] = {}
        named = []
        for column, value in enumerate(block.values[number]):
            if value is None or math.isnan(value):
                continue
            named.append((abs(value), f"{block.columns[column]} {format_signed(value)}"))
            shade = max(1, round(_SHADES * abs(value) / largest)) / _SHADES
            at = x + layout.cell * column + 0.5
            path = f"M{at:.1f} {y:.1f}h{wide:.1f}v{_ROW - 1:.0f}h-{wide:.1f}z"
            shades.setdefault(("plus" if value > 0 else "minus", shade), []).append(path)
        first = ", ".join(words for _, words in sorted(named, reverse=True)[:_NAMED])
        cells = [
            element("path", {"d": "".join(paths), "class": f"{side} cell", "fill-opacity": shade})
            for (side, shade), paths in shades.items()
        ]
        yield element("g", {}, hover(f"{row}: {first}"), *cells)


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
