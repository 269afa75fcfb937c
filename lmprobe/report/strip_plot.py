"""Draws the value of every template, one strip per base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from lmprobe.report.interval_plot import row_name, value_axis, value_scale
from lmprobe.report.scale import Scale
from lmprobe.report.svg import dot, hover, line, picture
from lmprobe.report.words import listed, number, signed
from lmprobe.result import ProbeRow

_WIDTH, _TOP = 440.0, 26.0
_RADIUS = 3.0
_PITCH = 5.0
_HIGHEST = 22.0
"""No strip reaches farther from its line: what would is pressed together."""


def strip_plot(
    rows: Sequence[ProbeRow], templates: Sequence[str], *, standalone: bool = False
) -> str:
    """Return the picture: a dot per template, a bar at their mean."""
    direction = rows[0].direction
    across = value_scale(
        [float(value) for row in rows for value in row.per_template if np.isfinite(value)],
        _WIDTH,
        [row.base for row in rows],
    )
    body: list[Markup] = []
    y = _TOP
    for row in rows:
        strip = list(_strip(row, templates, across))
        widest = max([abs(one[1]) for one in strip], default=0.0)
        press = min(1.0, _HIGHEST / widest) if widest else 1.0
        strip = [(x, off * press, words) for x, off, words in strip]
        half = max(widest * press + _RADIUS + 7, 17.0)
        y += half
        body += _drawn(row, strip, across, y, half)
        y += half
    said = listed(
        f"compared with {row.base}, {number(row.per_template.min())} to "
        f"{number(row.per_template.max())} with a standard deviation of {number(row.template_sd)}"
        for row in rows
    )
    return picture(
        f"templates-{direction}",
        f"Each template's value, {direction}",
        f"The values of {len(templates)} templates: {said}.",
        (_WIDTH, y + 26),
        *value_axis(across, _TOP, y),
        *body,
        standalone=standalone,
    )


def _strip(
    row: ProbeRow, templates: Sequence[str], across: Scale
) -> Iterator[tuple[float, float, str]]:
    """Return each dot: its place, how far it is moved off the line, and its words."""
    values = row.per_template
    placed: list[tuple[float, float]] = []
    for index in np.argsort(values, kind="stable"):
        value = float(values[index])
        if not np.isfinite(value):
            continue
        x = across(value)
        off = _free(x, placed)
        placed.append((x, off))
        yield x, off, f"{templates[index]}: {signed(value)}"


def _free(x: float, placed: list[tuple[float, float]]) -> float:
    """Return the nearest place beside the line where the dot touches no other."""
    step = 0
    while True:
        for off in {step * _PITCH, -step * _PITCH}:
            if all((x - a) ** 2 + (off - b) ** 2 >= _PITCH**2 for a, b in placed[-60:]):
                return off
        step += 1


def _drawn(
    row: ProbeRow, strip: list[tuple[float, float, str]], across: Scale, y: float, half: float
) -> Iterator[Markup]:
    yield row_name(row.base, across, y)
    zero = across(0.0)
    for x, off, words in strip:
        side = "plus" if x > zero else "minus" if x < zero else "even"
        yield dot(x, y + off, _RADIUS, f"{side} soft", hover(words))
    mean = across(row.value)
    yield line(mean, y - half + 3, mean, y + half - 3, "axis")
