"""Draws any figure: which module draws which kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lmprobe.plot.dot_plot import dot_plot
from lmprobe.plot.heat_map import heat_map
from lmprobe.plot.interval_plot import interval_plot
from lmprobe.plot.series_plot import series_plot
from lmprobe.plot.strip_plot import strip_plot
from lmprobe.results.figure import (
    DotPlot,
    Figure,
    HeatMap,
    IntervalPlot,
    SeriesPlot,
    StripPlot,
)

_DRAWN_BY: dict[type[Figure], Callable[..., Any]] = {
    SeriesPlot: series_plot,
    IntervalPlot: interval_plot,
    StripPlot: strip_plot,
    HeatMap: heat_map,
    DotPlot: dot_plot,
}


def svg(figure: Figure, *, standalone: bool = True) -> str:
    """Return the picture as SVG: a file of its own, or a part of a page."""
    return str(_DRAWN_BY[type(figure)](figure, standalone=standalone))
