"""What a figure shows, not how it looks: `report` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Series:
    """One set of points; `low` and `high` are the ends of error bars where there are any."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[str, ...] = ()
    """What each point is, such as an occupation; shown on hover and to screen readers."""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    style: Literal["line", "points", "dashed"] = "line"


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot of series over two axes, with the sentence that replaces it for who cannot see it."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    alternative: str
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    diagonal: bool = False
    """Whether to draw the line y = x."""
