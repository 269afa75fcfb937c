"""What a figure shows, not how it looks: `lmprobe.report.charts` draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from lmprobe.results.codec import UNDEFINED
from lmprobe.results.verdict import Interval, Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What every kind has: a name, a title, and the sentence for those who cannot see it."""

    json_tag: ClassVar[str] = "plot"
    json_nan: ClassVar[str] = UNDEFINED

    name: str
    """What the figure is called in files and by `result.figure(name)`."""
    title: str
    alternative: str


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
    style: Literal["line", "points", "dashed", "band"] = "line"
    """`dashed` is a line to compare with; `band` a line with the area from low to high."""

    def __post_init__(self) -> None:
        """Check that every point has all that some points have."""
        parts = (self.y, *filter(None, (self.labels, self.low, self.high)))
        assert all(len(part) == len(self.x) for part in parts), self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPlot(Figure):
    """Series over two axes: curves, points with error bars, bands."""

    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    diagonal: bool = False
    """Whether to draw the line y = x."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What lies on either side of the reference line, in a word each."""

    left: str = ""
    right: str = ""
    reference: float = 0.0


@dataclass(frozen=True, slots=True)
class IntervalLine:
    """One value with its interval; the tone of its verdict colours it."""

    label: str
    value: float
    interval: Interval
    tone: Tone = Tone.EVEN


@dataclass(frozen=True, slots=True)
class Bracket:
    """Lines that belong together, by number, lowest first; they need not be neighbours."""

    lines: tuple[int, ...]
    label: str

    def __post_init__(self) -> None:
        """Check that there are lines, in order."""
        assert self.lines == tuple(sorted({*self.lines})) != (), self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPlot(Figure):
    """Values with their intervals, one below the other, on both sides of a reference."""

    lines: tuple[IntervalLine, ...]
    sides: Sides = Sides()
    brackets: tuple[Bracket, ...] = ()
    """Groups of lines, such as models that cannot be told apart; they may overlap."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Many values of one kind, such as one per template."""

    label: str
    values: tuple[float, ...]
    names: tuple[str, ...]
    mean: float

    def __post_init__(self) -> None:
        """Check that every value has its name."""
        assert len(self.names) == len(self.values), self.label


MOST_DOTS = 500
"""A strip of more values has so many dots, each for the mean of neighbouring values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StripPlot(Figure):
    """A dot for every value, a strip per kind, a bar at each mean."""

    strips: tuple[Strip, ...]
    sides: Sides = Sides()


@dataclass(frozen=True, slots=True)
class HeatBlock:
    """Columns of cells under a title; `values` has a row of cells for each row of the map.

    NaN is an undefined cell, None one that is not there.
    """

    title: str
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap(Figure):
    """Signed numbers as colours, side by side in blocks that share their rows."""

    rows: tuple[str, ...]
    blocks: tuple[HeatBlock, ...]

    def __post_init__(self) -> None:
        """Check that every block has a cell for every row and column."""
        for block in self.blocks:
            sizes = [len(row) for row in block.values]
            assert sizes == [len(block.columns)] * len(self.rows), block.title


@dataclass(frozen=True, slots=True)
class Dots:
    """One value per category of a dot plot; NaN where there is none."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPlot(Figure):
    """Named categories one below the other, a mark per series in each, on one axis."""

    categories: tuple[str, ...]
    dots: tuple[Dots, ...]
    x_label: str
    reference: float | None = None
    """Where to draw a line to compare with."""
    reference_label: str = ""

    def __post_init__(self) -> None:
        """Check that every series has a value for every category."""
        assert all(len(series.values) == len(self.categories) for series in self.dots), self.name
