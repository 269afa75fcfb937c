"""Draws many values of a few kinds: a dot each, a strip per kind, a bar at the mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from markupsafe import Markup

from lmprobe.plot.scale import Scale
from lmprobe.plot.svg import dot, hover, line, picture, width_of
from lmprobe.plot.value_axis import reference_line, row_name, value_axis, value_scale
from lmprobe.results.figure import MOST_DOTS, Strip, StripPlot
from lmprobe.results.format import format_signed

_TOP = 28.0
_RADIUS = 3.0
_PITCH = 5.0
_HIGHEST = 22.0
"""No strip reaches farther from its line: one that would is pressed together."""


def strip_plot(figure: StripPlot, *, standalone: bool) -> Markup:
    """Return the picture: a dot per value, a bar at their mean."""
    width = width_of(standalone)
    finite = [one for strip in figure.strips for one in strip.values if math.isfinite(one)]
    names = [strip.label for strip in figure.strips]
    across = value_scale([figure.sides.reference, *finite], width, names)
    body: list[Markup] = []
    y = _TOP
    for strip in figure.strips:
        dots = list(_dots(strip, across))
        widest = max([abs(off) for _, off, _ in dots], default=0.0)
        press = min(1.0, _HIGHEST / widest) if widest else 1.0
        half = max(widest * press + _RADIUS + 7, 17.0)
        y += half
        body.append(row_name(strip.label, across, y))
        body += _drawn(dots, press, across(figure.sides.reference), y)
        if math.isfinite(strip.mean):
            mean = across(strip.mean)
            body.append(line(mean, y - half + 3, mean, y + half - 3, "axis"))
        y += half
    axes = [*value_axis(across, _TOP, y), *reference_line(figure.sides, across, _TOP, y)]
    return picture(figure, (width, y + 28), *axes, *body, standalone=standalone)


def _dots(strip: Strip, across: Scale) -> Iterator[tuple[float, float, str]]:
    """Yield each dot: its place, how far it is moved off the line, and its words."""
    placed: list[tuple[float, float]] = []
    for value, words in _shown(strip):
        x = across(value)
        off = _free(x, placed)
        placed.append((x, off))
        yield x, off, words


def _shown(strip: Strip) -> Iterator[tuple[float, str]]:
    """Yield the value and the words of each dot; many values are drawn in groups of neighbours."""
    known = [pair for pair in zip(strip.values, strip.names, strict=True) if math.isfinite(pair[0])]
    known.sort(key=lambda pair: pair[0])
    if len(known) <= MOST_DOTS:
        yield from ((value, f"{name}: {format_signed(value)}") for value, name in known)
        return
    ends = [number * len(known) // MOST_DOTS for number in range(MOST_DOTS + 1)]
    for start, end in pairwise(ends):
        values = [value for value, _ in known[start:end]]
        span = f"{format_signed(values[0])} to {format_signed(values[-1])}"
        yield sum(values) / len(values), f"{len(values)} values, {span}"


def _free(x: float, placed: list[tuple[float, float]]) -> float:
    """Return the nearest place beside the line where the dot touches no other."""
    step = 0
    while True:
        for off in (step * _PITCH, -step * _PITCH):
            if all((x - a) ** 2 + (off - b) ** 2 >= _PITCH**2 for a, b in placed[-60:]):
                return off
        step += 1


def _drawn(
    dots: list[tuple[float, float, str]], press: float, middle: float, y: float
) -> Iterator[Markup]:
    for x, off, words in dots:
        side = "plus" if x > middle else "minus" if x < middle else "even"
        yield dot(x, y + off * press, _RADIUS, f"{side} soft", hover(words))
