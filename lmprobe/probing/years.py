"""The value over the years: one line for each series of base tables, such as CPS and ACS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lmprobe.core.direction import Direction
from lmprobe.probing.notes import by_direction
from lmprobe.results import Section, Series, SeriesPlot
from lmprobe.results.format import format_signed, listed

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult
    from lmprobe.probing.row import ProbeRow

_Point = tuple[int, "ProbeRow"]


def years_section(result: ProbeResult) -> tuple[Section, ...]:
    """Return the change over time, if several bases are years of one series."""
    measured = by_direction([row for row in result.rows if row.unevenness is None])
    figures = [
        years_figure(direction, series)
        for direction, rows in measured.items()
        if (series := _series(result, rows))
    ]
    text = (
        "The same predictions against the tables of several years. The series count different "
        "people or job titles, so each has its own line; compare years within one line only."
    )
    name = "years"
    return (
        (Section("Over the years", (text,), figures=tuple(figures), name=name),) if figures else ()
    )


def years_figure(direction: Direction, series: dict[str, list[_Point]]) -> SeriesPlot:
    """Return the values of one direction by year, with their intervals."""
    words = listed(
        f"{name} {year} {format_signed(row.value)}"
        for name, points in series.items()
        for year, row in points
    )
    return SeriesPlot(
        name=f"years-{direction.slug}",
        title=f"Amplification by the year of the base, {direction}",
        alternative=f"{words}.",
        x_label="year",
        y_label="value",
        series=tuple(_line(name, points) for name, points in series.items()),
    )


def _line(name: str, points: list[_Point]) -> Series:
    bounded = all(math.isfinite(end) for _, row in points for end in _ends(row))
    return Series(
        name,
        tuple(float(year) for year, _ in points),
        tuple(row.value for _, row in points),
        tuple(row.base for _, row in points),
        low=tuple(row.interval.low for _, row in points) if bounded else (),
        high=tuple(row.interval.high for _, row in points) if bounded else (),
    )


def _ends(row: ProbeRow) -> tuple[float, float]:
    return row.interval.low, row.interval.high


def _series(result: ProbeResult, rows: Sequence[ProbeRow]) -> dict[str, list[_Point]]:
    """Return the rows of each series that has several years, in their order."""
    found: dict[str, list[_Point]] = {}
    for row in rows:
        facts = result.provenance["bases"].get(row.base, {})
        year, name = facts.get("year"), facts.get("series")
        if isinstance(year, int) and isinstance(name, str):
            found.setdefault(name, []).append((year, row))
    several = {name: sorted(points, key=lambda one: one[0]) for name, points in found.items()}
    return {name: points for name, points in several.items() if len({y for y, _ in points}) > 1}
