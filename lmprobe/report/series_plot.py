"""Draws series over two axes: curves, points, error bars, labels that do not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

from markupsafe import Markup

from lmprobe.report.marks import LEGEND_ROW, Key, legend, legend_rows, mark, stroke
from lmprobe.report.scale import Scale, drawable, scale, tick_label
from lmprobe.report.svg import (
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
from lmprobe.report.theme import SERIES
from lmprobe.results.figure import Series, SeriesPlot

# A curve with more points than this shows itself without a mark on each.
_DOTTED = 15
_LABELS = 24
_MARKS = 6
"""Marks on such a curve, so that several can be told apart without colour."""


def series_plot(figure: SeriesPlot, *, standalone: bool) -> Markup:
    """Return the picture as SVG."""
    plot = _layout(figure, width_of(standalone))
    body = [*_axes(figure, plot), *legend(plot.legend, 34, plot.width)]
    if plot.diagonal:
        body.append(line(*plot.diagonal, "guide"))
    for number, series in enumerate(figure.series):
        body += _series(series, plot, number, several=len(figure.series) > 1)
    body += _labels(figure, plot)
    return picture(figure, (plot.width, plot.height), *body, standalone=standalone)


@dataclass(frozen=True, slots=True)
class _Plot:
    """The size, both scales, and the rows of the legend."""

    width: float
    height: float
    x: Scale
    y: Scale
    legend: list[list[Key]]
    diagonal: tuple[float, float, float, float] | None

    @property
    def frame(self) -> Box:
        return Box(self.x.start, self.y.stop, self.x.stop, self.y.start)

    def places(self, series: Series) -> list[tuple[float, float] | None]:
        """Return where each point lies, None for one that has no place."""
        return [
            (self.x(x), self.y(y))
            if drawable(x, log=self.x.log) and drawable(y, log=self.y.log)
            else None
            for x, y in zip(series.x, series.y, strict=True)
        ]


def _layout(figure: SeriesPlot, width: float) -> _Plot:
    xs = [value for series in figure.series for value in series.x]
    ys = [
        value
        for series in figure.series
        for ends in (series.y, series.low, series.high)
        for value in ends
    ]
    if figure.diagonal:
        xs = ys = xs + ys
    rows = legend_rows([_key(number, one) for number, one in enumerate(figure.series)], width)
    top = 28.0 + LEGEND_ROW * len(rows) + (8.0 if rows else 0.0)
    bottom = top + 0.72 * width
    y = scale(ys, bottom, top, log=figure.y_scale == "log")
    left = 14 + max([text_width(tick_label(tick)) for tick in y.ticks()], default=0)
    # The last number is below the end of its axis and needs room on the right.
    log = figure.x_scale == "log"
    last = text_width(tick_label(scale(xs, 0, 1, log=log, wanted=6).high)) / 2
    x = scale(xs, left, width - 10 - last, log=log, wanted=6)
    low, high = max(x.low, y.low), min(x.high, y.high)
    ends = (x(low), y(low), x(high), y(high)) if figure.diagonal and low < high else None
    return _Plot(width, bottom + 46, x, y, rows, ends)


def _key(number: int, series: Series) -> Key:
    lined = series.style != "points"
    return Key(number, series.name, series.style != "dashed", lined, series.style == "dashed")


def _axes(figure: SeriesPlot, plot: _Plot) -> Iterator[Markup]:
    frame = plot.frame
    for tick in plot.y.ticks():
        y = plot.y(tick)
        yield line(frame.left, y, frame.right, y, "grid")
        yield text(frame.left - 7, y + 4.5, tick_label(tick), "muted", "end")
    end = float("-inf")
    # Between the first and the second of something there is nothing to name.
    whole = all(value == int(value) for one in figure.series for value in one.x if isfinite(value))
    for tick in plot.x.ticks(6):
        if whole and tick != int(tick):
            continue
        x, words = plot.x(tick), tick_label(tick)
        half = text_width(words) / 2
        yield line(x, frame.bottom, x, frame.bottom + 4, "axis")
        if x - half > end:
            yield text(x, frame.bottom + 19, words, "muted", "middle")
            end = x + half + 6
    if not plot.y.log and plot.y.low < 0 < plot.y.high:
        yield line(frame.left, plot.y(0), frame.right, plot.y(0), "axis")
    yield line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
    # Read along, not up: the name of the upright axis is above it.
    yield text(8, 14, shortened(figure.y_label, plot.width - 16), "muted")
    words = shortened(figure.x_label, plot.width - 16)
    yield text(frame.right, frame.bottom + 37, words, "muted", "end")


def _series(series: Series, plot: _Plot, number: int, *, several: bool) -> Iterator[Markup]:
    places = plot.places(series)
    if series.style == "band":
        yield from _band(series, plot, number)
    else:
        yield from _error_bars(series, plot, number)
    dashed = series.style == "dashed"
    if series.style != "points":
        yield element(
            "path", {"d": _path(places), "class": f"curve {stroke(number, dashed=dashed)}"}
        )
    if dashed:
        return
    radius = 4.0 if len(places) <= 200 else 2.5
    for index in _marked(series, number, several=several):
        at = places[index]
        if at is not None:
            yield mark(*at, radius, number, "dot", hover(_words(series, index)))


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


def _words(series: Series, index: int) -> str:
    what = series.labels[index] if index < len(series.labels) else series.name
    return f"{what}: {tick_label(series.x[index])}, {tick_label(series.y[index])}"


def _ends(series: Series, plot: _Plot) -> list[tuple[float, float, float]]:
    """Return the place of each point with its two ends; points without either are left out."""
    return [
        (plot.x(x), plot.y(low), plot.y(high))
        for x, low, high in zip(series.x, series.low, series.high, strict=bool(series.low))
        if drawable(x, log=plot.x.log) and all(drawable(e, log=plot.y.log) for e in (low, high))
    ]


def _band(series: Series, plot: _Plot, number: int) -> Iterator[Markup]:
    """Draw the area between low and high."""
    if ends := _ends(series, plot):
        around = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in around) + "Z"
        yield element("path", {"d": path, "class": f"band f{number % SERIES + 1}"})


def _error_bars(series: Series, plot: _Plot, number: int) -> Iterator[Markup]:
    colour = f"s{number % SERIES + 1}"
    for at, bottom, top in _ends(series, plot):
        yield line(at, bottom, at, top, colour)
        yield line(at - 3, bottom, at + 3, bottom, colour)
        yield line(at - 3, top, at + 3, top, colour)


def _path(places: list[tuple[float, float] | None]) -> str:
    """Return the curve through the places; a gap where one is missing."""
    drawn, pen = [], "M"
    for at in places:
        if at is None:
            pen = "M"
        else:
            drawn.append(f"{pen}{at[0]:.1f} {at[1]:.1f}")
            pen = "L"
    return "".join(drawn)


class Box(NamedTuple):
    """A rectangle of a picture."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Tell whether the two have more than an edge in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        """Tell whether the other lies wholly inside."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


def _labels(figure: SeriesPlot, plot: _Plot) -> Iterator[Markup]:
    """Write the names of points beside them, those farthest from the rest first.

    A name lies on a line (an axis, a grid line, a curve) only where no other place is free. One
    without room is left out; it is still there on hover.
    """
    labels, busy = [], []
    for series in figure.series:
        for index, at in enumerate(plot.places(series)):
            if at is None:
                continue
            busy.append(Box(at[0] - 5, at[1] - 5, at[0] + 5, at[1] + 5))
            if series.style == "points" and index < len(series.labels):
                far = abs(series.y[index] - series.x[index]) if figure.diagonal else 0.0
                labels.append((far, at, shortened(series.labels[index], 130, SMALL)))
    labels.sort(key=lambda label: -label[0])
    lines = list(_lines(plot))
    # Those near the line say least; all of them would hide the points.
    for _, at, words in labels[:_LABELS]:
        free = [
            box
            for box in _around(*at, text_width(words, SMALL))
            if plot.frame.holds(box) and not any(map(box.overlaps, busy))
        ]
        clear = [box for box in free if not any(map(box.overlaps, lines))]
        for box in (clear or free)[:1]:
            busy.append(box)
            yield text(box.left, box.bottom - 2, words, "small halo")


def _around(x: float, y: float, width: float) -> Sequence[Box]:
    """Return where a label may go, the best place first."""
    gap, height = 8.0, 12.0
    right, left, middle = x + gap, x - gap - width, x - width / 2
    above, beside, below = y - gap - height, y - height / 2, y + gap
    places = [
        (right, beside),
        (left, beside),
        (middle, above),
        (middle, below),
        (right - 2, beside - gap),
        (right - 2, below - height / 2),
        (left + 2, beside - gap),
        (left + 2, below - height / 2),
        (right, above),
        (left, below),
    ]
    return [Box(a, b, a + width, b + height) for a, b in places]


def _lines(plot: _Plot) -> Iterator[Box]:
    """Yield where lines run that no label should lie on, as thin boxes."""
    frame = plot.frame
    for tick in (*plot.y.ticks(), plot.y.low):
        y = plot.y(tick)
        yield Box(frame.left, y - 1, frame.right, y + 1)
    if plot.diagonal:
        x1, y1, x2, y2 = plot.diagonal
        steps = [number / 40 for number in range(41)]
        for a, b in pairwise(steps):
            ys = sorted((y1 + a * (y2 - y1), y1 + b * (y2 - y1)))
            yield Box(x1 + a * (x2 - x1), ys[0], x1 + b * (x2 - x1), ys[1])
