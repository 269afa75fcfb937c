"""Draws named categories one below the other, with a mark per series in each."""

from __future__ import annotations

import math
from collections.abc import Iterator

from markupsafe import Markup

from lmprobe.plot.marks import LEGEND_ROW, Key, legend, legend_rows, mark
from lmprobe.plot.scale import Scale, tick_label
from lmprobe.plot.svg import hover, line, picture, shortened, text, text_width, width_of
from lmprobe.plot.value_axis import row_name, value_axis, value_scale
from lmprobe.results.figure import DotPlot

_ROW = 18.0


def dot_plot(figure: DotPlot, *, standalone: bool) -> Markup:
    """Return the picture; lines join the marks of a category, so that its spread shows."""
    width = width_of(standalone)
    keys = [Key(number, one.name, True, False) for number, one in enumerate(figure.dots)]
    rows = legend_rows(keys, width)
    top = 14 + LEGEND_ROW * len(rows) + (20 if figure.reference_label else 4)
    bottom = top + _ROW * len(figure.categories) + 4
    across = value_scale(_values(figure), width, figure.categories)
    body = [*legend(rows, 18, width), *value_axis(across, top, bottom)]
    if figure.reference is not None:
        body += _reference(figure, figure.reference, across, (top, bottom), width)
    for number, category in enumerate(figure.categories):
        body += _category(figure, number, category, across, top + _ROW * (number + 0.5) + 2)
    body.append(
        text(across.stop, bottom + 36, shortened(figure.x_label, width - 16), "muted", "end")
    )
    return picture(figure, (width, bottom + 46), *body, standalone=standalone)


def _values(figure: DotPlot) -> list[float]:
    values = [value for one in figure.dots for value in one.values if math.isfinite(value)]
    return values if figure.reference is None else [figure.reference, *values]


def _reference(
    figure: DotPlot, at: float, across: Scale, ends: tuple[float, float], width: float
) -> Iterator[Markup]:
    x, (top, bottom) = across(at), ends
    yield line(x, top - 4, x, bottom, "guide")
    if figure.reference_label:
        half = text_width(figure.reference_label) / 2
        anchor = min(max(x, half + 6), width - half - 6)
        yield text(anchor, top - 9, figure.reference_label, "muted", "middle")


def _category(
    figure: DotPlot, number: int, category: str, across: Scale, y: float
) -> Iterator[Markup]:
    yield row_name(category, across, y)
    known = [
        (index, one.name, one.values[number])
        for index, one in enumerate(figure.dots)
        if math.isfinite(one.values[number])
    ]
    if len(known) > 1:
        ends = [across(value) for _, _, value in known]
        yield line(min(ends), y, max(ends), y, "grid")
    for index, name, value in known:
        words = ": ".join(filter(None, (category, name))) + f" {tick_label(value)}"
        yield mark(across(value), y, 4.2, index, "dot", hover(words))
