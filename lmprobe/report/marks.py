"""Marks, dashes and legends: series are told apart by shape and dash as well as by colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lmprobe.report.svg import element, line, shortened, text, text_width
from lmprobe.report.theme import SERIES

LEGEND_ROW = 20.0

# Corners of each shape around its centre, in radii; the first is a circle.
_SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, 1.2), (1.1, -0.8), (-1.1, -0.8)),
    ((-1.2, -0.6), (1.2, -0.6), (1.2, 0.6), (-1.2, 0.6)),
)


def mark(x: float, y: float, radius: float, number: int, kind: str, *children: str) -> Markup:
    """Return the mark of the series with that number, in its colour and shape."""
    names = f"{kind} f{number % SERIES + 1}"
    corners = _SHAPES[number % SERIES]
    if not corners:
        return element("circle", {"cx": x, "cy": y, "r": radius, "class": names}, *children)
    points = "L".join(f"{x + radius * dx:.1f} {y + radius * dy:.1f}" for dx, dy in corners)
    return element("path", {"d": f"M{points}Z", "class": names}, *children)


def stroke(number: int, *, dashed: bool = False) -> str:
    """Return the classes of a curve: colour and dash pattern.

    The first curve is solid, unless it is `dashed`: a thin line to compare with.
    """
    pattern = f"thin d{number % (SERIES - 1) + 2}" if dashed else f"d{number % SERIES + 1}"
    return f"s{number % SERIES + 1} {pattern}"


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: a name with the mark, the line, or both, of its series."""

    number: int
    name: str
    marked: bool
    lined: bool
    dashed: bool = False

    @property
    def width(self) -> float:
        """How much room the entry takes."""
        return 42 + text_width(self.name)


def legend_rows(keys: Sequence[Key], width: float) -> list[list[Key]]:
    """Return the named entries in rows that fit; one series alone needs no legend."""
    if len(keys) < 2:
        return []
    rows: list[list[Key]] = []
    used = width
    for key in keys:
        if not key.name:
            continue
        if used + key.width > width - 8:
            rows.append([])
            used = 0.0
        rows[-1].append(key)
        used += key.width
    return rows


def legend(rows: Sequence[Sequence[Key]], top: float, width: float) -> Iterator[Markup]:
    """Draw the rows of a legend below `top`."""
    for number, row in enumerate(rows):
        x, y = 8.0, top + LEGEND_ROW * number
        for key in row:
            if key.lined:
                names = f"curve {stroke(key.number, dashed=key.dashed)}"
                yield line(x, y - 4, x + 24, y - 4, names)
            if key.marked:
                yield mark(x + 12, y - 4, 4, key.number, "dot")
            yield text(x + 30, y, shortened(key.name, width - 46), "muted")
            x += key.width
