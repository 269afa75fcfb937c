"""Draws a `Figure` as SVG: axes, curves, points, error bars, labels that do not overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from markupsafe import Markup

from lmprobe.figure import Figure, Series
from lmprobe.report.placing import Box, place
from lmprobe.report.scale import Scale, drawable, scale, tick_label
from lmprobe.report.svg import dot, element, hover, line, picture, shortened, text, text_width
from lmprobe.report.theme import SERIES

_WIDTH, _HEIGHT = 440.0, 380.0
_SMALL = 10.5
# A curve with more points than this shows itself well enough without dots.
_DOTTED = 15


def svg(figure: Figure, *, standalone: bool = True) -> str:
    """Return the picture as SVG: a file of its own, or a part of a page."""
    plot = _layout(figure)
    body = [*_axes(figure, plot), *_legend(figure, plot)]
    if figure.diagonal:
        low, high = max(plot.x.low, plot.y.low), min(plot.x.high, plot.y.high)
        if low < high:
            body.append(line(plot.x(low), plot.y(low), plot.x(high), plot.y(high), "guide"))
    for number, series in enumerate(figure.series):
        body += _series(series, plot, number % SERIES + 1)
    body += _labels(figure, plot)
    return picture(
        figure.name,
        figure.title,
        figure.alternative,
        (_WIDTH, _HEIGHT),
        *body,
        standalone=standalone,
    )


@dataclass(frozen=True, slots=True)
class _Plot:
    """Both scales, and the rows that the legend needs."""

    x: Scale
    y: Scale
    legend: tuple[tuple[tuple[int, Series], ...], ...]

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


def _layout(figure: Figure) -> _Plot:
    xs = [value for series in figure.series for value in series.x]
    ys = [
        value
        for series in figure.series
        for ends in (series.y, series.low, series.high)
        for value in ends
    ]
    if figure.diagonal:
        xs = ys = xs + ys
    legend = _legend_rows(figure)
    top = 26.0 + 18.0 * len(legend) + (8.0 if legend else 0.0)
    y = scale(ys, _HEIGHT - 46, top, log=figure.y_scale == "log")
    left = 14 + max([text_width(tick_label(tick)) for tick in y.ticks()], default=0)
    # The last number stands under the end of its axis and needs room on the right.
    log = figure.x_scale == "log"
    last = text_width(tick_label(scale(xs, 0, 1, log=log, wanted=6).high)) / 2
    x = scale(xs, left, _WIDTH - 10 - last, log=log, wanted=6)
    return _Plot(x, y, legend)


def _axes(figure: Figure, plot: _Plot) -> Iterator[Markup]:
    frame = plot.frame
    for tick in plot.y.ticks():
        y = plot.y(tick)
        yield line(frame.left, y, frame.right, y, "grid")
        yield text(frame.left - 7, y + 4, tick_label(tick), "muted", "end")
    end = float("-inf")
    # Between scenario 1 and scenario 2 there is nothing to name.
    whole = all(value == int(value) for one in figure.series for value in one.x if isfinite(value))
    for tick in plot.x.ticks(6):
        if whole and tick != int(tick):
            continue
        x, words = plot.x(tick), tick_label(tick)
        half = text_width(words) / 2
        yield line(x, frame.bottom, x, frame.bottom + 4, "axis")
        if x - half > end:
            yield text(x, frame.bottom + 18, words, "muted", "middle")
            end = x + half + 6
    if not plot.y.log and plot.y.low < 0 < plot.y.high:
        yield line(frame.left, plot.y(0), frame.right, plot.y(0), "axis")
    yield line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
    # Read along, not up: the name of the upright axis stands above it.
    yield text(8, 14, shortened(figure.y_label, _WIDTH - 16), "muted")
    room = shortened(figure.x_label, _WIDTH - 16)
    yield text(frame.right, frame.bottom + 36, room, "muted", "end")


def _legend_rows(figure: Figure) -> tuple[tuple[tuple[int, Series], ...], ...]:
    """Return the named series in rows that fit; one series alone needs no legend."""
    named = [(index, one) for index, one in enumerate(figure.series) if one.name]
    if len(figure.series) < 2:
        return ()
    rows: list[list[tuple[int, Series]]] = []
    used = _WIDTH
    for index, one in named:
        wide = _key_width(one)
        if used + wide > _WIDTH - 16:
            rows.append([])
            used = 0.0
        rows[-1].append((index, one))
        used += wide
    return tuple(tuple(row) for row in rows)


def _key_width(series: Series) -> float:
    return min(38 + text_width(series.name), _WIDTH - 24)


def _legend(figure: Figure, plot: _Plot) -> Iterator[Markup]:
    for number, row in enumerate(plot.legend):
        x, y = 8.0, 32.0 + 18 * number
        for index, series in row:
            colour = index % SERIES + 1
            if series.style == "points":
                yield dot(x + 9, y - 4, 4, f"f{colour}")
            else:
                dashed = " dashed" if series.style == "dashed" else ""
                yield line(x, y - 4, x + 18, y - 4, f"curve s{colour}{dashed}")
            yield text(x + 24, y, shortened(series.name, _WIDTH - 50), "muted")
            x += _key_width(series)


def _series(series: Series, plot: _Plot, colour: int) -> Iterator[Markup]:
    places = plot.places(series)
    yield from _error_bars(series, plot, colour)
    if series.style != "points":
        dashed = " dashed" if series.style == "dashed" else ""
        yield element("path", {"d": _path(places), "class": f"curve s{colour}{dashed}"})
        if series.style == "dashed" or len(places) > _DOTTED:
            return
    radius = 4.0 if len(places) <= 200 else 2.5
    for index, at in enumerate(places):
        if at is not None:
            yield dot(*at, radius, f"dot f{colour}", hover(_told(series, index)))


def _told(series: Series, index: int) -> str:
    what = series.labels[index] if index < len(series.labels) else series.name
    return f"{what}: {tick_label(series.x[index])}, {tick_label(series.y[index])}"


def _error_bars(series: Series, plot: _Plot, colour: int) -> Iterator[Markup]:
    for x, low, high in zip(series.x, series.low, series.high, strict=bool(series.low)):
        if drawable(x, log=plot.x.log) and all(
            drawable(end, log=plot.y.log) for end in (low, high)
        ):
            at, bottom, top = plot.x(x), plot.y(low), plot.y(high)
            yield line(at, bottom, at, top, f"s{colour}")
            yield line(at - 3, bottom, at + 3, bottom, f"s{colour}")
            yield line(at - 3, top, at + 3, top, f"s{colour}")


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


def _labels(figure: Figure, plot: _Plot) -> Iterator[Markup]:
    """Write the names of points beside them, those farthest from the rest first."""
    found = []
    taken = []
    for series in figure.series:
        for index, at in enumerate(plot.places(series)):
            if at is None:
                continue
            taken.append(Box(at[0] - 4, at[1] - 4, at[0] + 4, at[1] + 4))
            if series.style == "points" and index < len(series.labels):
                far = abs(series.y[index] - series.x[index]) if figure.diagonal else 0.0
                found.append((far, (*at, shortened(series.labels[index], 130, _SMALL))))
    found.sort(key=lambda one: -one[0])
    for label in place([one[1] for one in found], plot.frame, taken, _SMALL):
        yield text(label.x, label.y, label.words, "small halo")
