"""Draws series over two axes: curves, points, error bars, labels that do not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite
from typing import NamedTuple

from markupsafe import Markup

from lmprobe.report.svg import (
    SERIES,
    SMALL,
    Scale,
    dot,
    draw,
    drawable,
    element,
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
from lmprobe.results.content import Series, SeriesPlot

# A curve with more points than this shows itself without a mark on each.
_DOTTED = 15
_LABELS = 24
_LEGEND_ROW = 20.0
_MARKS = 6
"""Marks on such a curve, so that several can be told apart without colour."""

Place = tuple[float, float]


@draw.register
def series_plot(figure: SeriesPlot, *, standalone: bool) -> Markup:
    """Return the picture: the series over the axes, then the names of points."""
    width = width_of(standalone)
    names, height = _legend([(series.name, series.style) for series in figure.series], 34, width)
    plot = _layout(figure, width, 28.0 + height + (8.0 if names else 0.0))
    body = [*_axes(figure, plot, width), *names]
    if figure.diagonal and (ends := plot.diagonal):
        body.append(line(*ends, "guide"))
    for number, series in enumerate(figure.series):
        body += _series(series, plot, number, several=len(figure.series) > 1)
    body += _labels(figure, plot)
    return picture(figure, (width, plot.y.start + 50), *body, standalone=standalone)


@dataclass(frozen=True, slots=True)
class _Plot:
    """The two scales of a picture."""

    x: Scale
    y: Scale

    @property
    def diagonal(self) -> tuple[float, float, float, float] | None:
        """The ends of the line y = x."""
        low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
        return (self.x(low), self.y(low), self.x(high), self.y(high)) if low < high else None

    def places(self, series: Series) -> list[Place | None]:
        """Return where each point lies, None for one that has no place."""
        return [
            (self.x(x), self.y(y))
            if drawable(x, log=self.x.log) and drawable(y, log=self.y.log)
            else None
            for x, y in zip(series.x, series.y, strict=True)
        ]

    def ends(self, series: Series) -> list[tuple[float, float, float]]:
        """Return the place of each point with its two ends; points without either are left out."""
        return [
            (self.x(x), self.y(low), self.y(high))
            for x, low, high in zip(series.x, series.low, series.high, strict=bool(series.low))
            if drawable(x, log=self.x.log)
            and all(drawable(end, log=self.y.log) for end in (low, high))
        ]


def _layout(figure: SeriesPlot, width: float, top: float) -> _Plot:
    xs = [value for series in figure.series for value in series.x]
    ys = [
        value
        for series in figure.series
        for ends in (series.y, series.low, series.high)
        for value in ends
    ]
    if figure.diagonal:
        xs = ys = xs + ys
    y = scale(ys, top + 0.72 * width, top, log=figure.y_scale == "log")
    left = 14 + max([text_width(tick_label(tick)) for tick in y.ticks()], default=0)
    # The last number is below the end of its axis and needs room on the right.
    log = figure.x_scale == "log"
    last = text_width(tick_label(scale(xs, 0, 1, log=log).high)) / 2
    return _Plot(scale(xs, left, width - 10 - last, log=log), y)


def _axes(figure: SeriesPlot, plot: _Plot, width: float) -> Iterator[Markup]:
    left, right, bottom = plot.x.start, plot.x.stop, plot.y.start
    whole = all(
        value == int(value) for series in figure.series for value in series.x if isfinite(value)
    )
    yield from _y_axis(plot.y, left, right)
    yield from x_axis(plot.x, bottom, bottom + 4, "axis", whole=whole)
    if not plot.y.log and plot.y.low < 0 < plot.y.high:
        yield line(left, plot.y(0), right, plot.y(0), "axis")
    yield line(left, bottom, right, bottom, "axis")
    # Read along, not up: the name of the upright axis is above it.
    yield text(8, 14, shortened(figure.y_label, width - 16), "muted")
    yield _x_label(figure.x_label, plot.x, bottom + 4, width)


def _series(series: Series, plot: _Plot, number: int, *, several: bool) -> Iterator[Markup]:
    places, ends = plot.places(series), plot.ends(series)
    if series.style == "band" and ends:
        around = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
        yield element("path", {"d": f"{_path(around)}Z", "class": f"band f{number % SERIES + 1}"})
    for x, bottom, top in ends if series.style != "band" else ():
        colour = f"s{number % SERIES + 1}"
        yield line(x, bottom, x, top, colour)
        yield line(x - 3, bottom, x + 3, bottom, colour)
        yield line(x - 3, top, x + 3, top, colour)
    if series.style != "points":
        yield element("path", {"d": _path(places), "class": _stroke(number, series.style)})
    if series.style == "dashed":
        return
    radius = 4.0 if len(places) <= 200 else 2.5
    for index in _marked(series, number, several=several):
        place = places[index]
        if place is not None:
            what = series.labels[index] if index < len(series.labels) else series.name
            words = f"{what}: {tick_label(series.x[index])}, {tick_label(series.y[index])}"
            yield _mark(*place, radius, number, hover(words))


def _marked(series: Series, number: int, *, several: bool) -> Iterator[int]:
    """Yield the points that get a mark: all, or a few along a curve of many."""
    total = len(series.x)
    if series.style == "points" or total <= _DOTTED:
        yield from range(total)
    elif several:
        # Each series begins elsewhere, so that marks of curves that meet do not hide each other.
        step = total / _MARKS
        yield from (
            int(step * (place + (number % SERIES + 0.5) / SERIES)) for place in range(_MARKS)
        )


def _path(places: Sequence[Place | None]) -> str:
    """Return the curve through the places; a gap where one is missing."""
    parts, pen = [], "M"
    for place in places:
        if place is not None:
            parts.append(f"{pen}{place[0]:.1f} {place[1]:.1f}")
        pen = "M" if place is None else "L"
    return "".join(parts)


class _Box(NamedTuple):
    """A rectangle of a picture."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: _Box) -> bool:
        """Tell whether the two have more than an edge in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def _labels(figure: SeriesPlot, plot: _Plot) -> Iterator[Markup]:
    """Write the names of points beside them, those farthest from the diagonal first.

    One without room is left out; it is still there on hover.
    """
    labels, busy = [], []
    for series in figure.series:
        for index, place in enumerate(plot.places(series)):
            if place is None:
                continue
            x, y = place
            busy.append(_Box(x - 5, y - 5, x + 5, y + 5))
            if series.style == "points" and index < len(series.labels):
                far = abs(series.y[index] - series.x[index]) if figure.diagonal else 0.0
                labels.append((far, place, shortened(series.labels[index], 130, SMALL)))
    labels.sort(key=lambda label: -label[0])
    # Those near the line say least; all of them would hide the points.
    for _, place, words in labels[:_LABELS]:
        for box in _around(*place, text_width(words, SMALL)):
            inside = plot.x.start <= box.left and box.right <= plot.x.stop
            inside = inside and plot.y.stop <= box.top and box.bottom <= plot.y.start
            if inside and not any(map(box.overlaps, busy)):
                busy.append(box)
                yield text(box.left, box.bottom - 2, words, "small halo")
                break


def _around(x: float, y: float, width: float) -> Iterator[_Box]:
    """Yield where a label may go, the best place first."""
    gap, height = 8.0, 12.0
    right, left, middle = x + gap, x - gap - width, x - width / 2
    above, beside, below = y - gap - height, y - height / 2, y + gap
    ends = [(right, beside), (left, beside), (middle, above), (middle, below)]
    for a, b in (*ends, *product((right - 2, left + 2), (above + 6, below - 6))):
        yield _Box(a, b, a + width, b + height)


def _y_axis(up: Scale, left: float, right: float) -> Iterator[Markup]:
    """Draw the grid up a picture, and the numbers to its left."""
    for tick in up.ticks():
        y = up(tick)
        yield line(left, y, right, y, "grid")
        yield text(left - 7, y + 4.5, tick_label(tick), "muted", "end")


def _x_label(words: str, across: Scale, bottom: float, width: float) -> Markup:
    """Write what the axis below a picture is."""
    return text(across.stop, bottom + 36, shortened(words, width - 16), "muted", "end")


# Series are told apart by shape and dash as well as by colour.
# Corners of each shape around its centre, in radii; the first is a circle.
_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    ((-1.2, -0.6), (1.2, -0.6), (1.2, 0.6), (-1.2, 0.6)),
)


def _mark(x: float, y: float, radius: float, number: int, *children: str) -> Markup:
    """Return the mark of the series with that number, in its colour and shape."""
    kind = f"dot f{number % SERIES + 1}"
    corners = _SHAPES[number % SERIES]
    if not corners:
        return dot(x, y, radius, kind, *children)
    points = "L".join(f"{x + radius * dx:.1f} {y + radius * dy:.1f}" for dx, dy in corners)
    return element("path", {"d": f"M{points}Z", "class": kind}, *children)


def _stroke(number: int, style: str) -> str:
    """Return the classes of a curve: colour and dash pattern.

    The first curve is solid, unless its style is `dashed`: a thin line to compare with.
    """
    thin = f"thin d{number % (SERIES - 1) + 2}"
    pattern = thin if style == "dashed" else f"d{number % SERIES + 1}"
    return f"curve s{number % SERIES + 1} {pattern}"


def _legend(
    entries: Sequence[tuple[str, str]], top: float, width: float
) -> tuple[list[Markup], float]:
    """Return the names of the series with their marks and lines, in rows, and their height.

    An entry is a name and a style (see `Series`); a single series needs no legend.
    """
    parts: list[Markup] = []
    x, y = width, top - _LEGEND_ROW
    for number, (name, style) in enumerate(entries if len(entries) > 1 else ()):
        if not name:
            continue
        wide = 42 + text_width(name)
        if x + wide > width:
            x, y = 8.0, y + _LEGEND_ROW
        if style != "points":
            parts.append(line(x, y - 4, x + 24, y - 4, _stroke(number, style)))
        if style != "dashed":
            parts.append(_mark(x + 12, y - 4, 4, number))
        parts.append(text(x + 30, y, shortened(name, width - 46), "muted"))
        x += wide
    return parts, y + _LEGEND_ROW - top
