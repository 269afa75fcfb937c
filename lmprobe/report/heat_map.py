"""Draws the amplification of every pair: tasks down, attributes across, one block per base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from markupsafe import Markup

from lmprobe.report.scale import tick_label
from lmprobe.report.svg import element, hover, line, picture, shortened, text, text_width
from lmprobe.report.words import number, signed
from lmprobe.result import ProbeRow

_ROW, _SMALL = 16.0, 10.5
_LEAST, _MOST = 440.0, 40.0
_GAP = 12.0
LONGEST = 64
"""More tasks than this are cut to those with the largest amplification."""


def heat_map(rows: Sequence[ProbeRow], *, standalone: bool = False) -> str:
    """Return the picture; orange amplifies, blue reduces, a cell struck through is undefined."""
    direction = rows[0].direction
    tasks, left_out = _tasks(rows)
    names = min(130.0, max(text_width(task) for task in tasks))
    left = names + 16
    columns = sum(len(row.attributes) for row in rows)
    room = _LEAST - left - 12 - _GAP * (len(rows) - 1)
    cell = max(15.0, min(_MOST, room / columns))
    top = 46.0
    bottom = top + _ROW * len(tasks)
    largest = max(float(np.nanmax(np.abs(row.by_pair))) for row in rows) or 1.0
    body = [
        text(left - 8, top + _ROW * (index + 0.5) + 4, shortened(task, names), anchor="end")
        for index, task in enumerate(tasks)
    ]
    x = left
    for row in rows:
        body += _block(row, tasks, x, top, cell, largest)
        x += cell * len(row.attributes) + _GAP
    width = max(x, left + 220)
    body += _key(largest, any(row.undefined_pairs for row in rows), left, bottom + 14)
    cut = f" The {left_out} tasks with the smallest are left out." if left_out else ""
    return picture(
        f"pairs-{direction}",
        f"Amplification of each pair, {direction}",
        f"{len(tasks)} tasks by {columns} attributes and bases, mean over templates, from "
        f"{_extreme(rows, largest=False)} to {_extreme(rows, largest=True)}; the numbers are in "
        f"the table of pairs.{cut}",
        (width, bottom + 46),
        *body,
        standalone=standalone,
    )


def _tasks(rows: Sequence[ProbeRow]) -> tuple[list[str], int]:
    """Return the tasks to draw, in their order, and how many are left out."""
    size: dict[str, float] = {}
    for row in rows:
        largest = np.nan_to_num(np.abs(row.by_pair)).max(axis=0)
        for task, one in zip(row.tasks, largest, strict=True):
            size[task] = max(size.get(task, 0.0), float(one))
    kept = set(sorted(size, key=lambda task: -size[task])[:LONGEST])
    return [task for task in size if task in kept], len(size) - len(kept)


def _block(
    row: ProbeRow, tasks: Sequence[str], x: float, top: float, cell: float, largest: float
) -> Iterator[Markup]:
    """Draw the cells of one base under its name."""
    wide = cell * len(row.attributes)
    yield text(x + wide / 2, 16, shortened(row.base, wide + _GAP - 2), "strong", "middle")
    where = {task: index for index, task in enumerate(row.tasks)}
    values = row.by_pair
    for column, attribute in enumerate(row.attributes):
        at = x + cell * column
        yield text(at + cell / 2, 36, shortened(attribute, cell, _SMALL), "small", "middle")
        for number_of, task in enumerate(tasks):
            if task not in where:
                continue
            value = float(values[column, where[task]])
            words = f"{row.base}: {attribute}, {task} {signed(value)}"
            yield _cell(at, top + _ROW * number_of, cell, value, value / largest, words)


def _cell(x: float, y: float, wide: float, value: float, share: float, words: str) -> Markup:
    frame: dict[str, str | float] = {"x": x + 0.5, "y": y + 0.5, "width": wide - 1}
    frame["height"] = _ROW - 1
    if np.isnan(value):
        struck = line(x + 3, y + _ROW - 3, x + wide - 3, y + 3, "axis")
        return element("rect", frame | {"class": "empty"}, hover(words)) + struck
    side = "plus" if value > 0 else "minus"
    # The ground shows through, so that the middle of the scale is that of the page.
    frame |= {"class": f"{side} cell", "fill-opacity": 0.05 + 0.95 * abs(share)}
    return element("rect", frame, hover(words))


def _key(largest: float, undefined: bool, x: float, y: float) -> Iterator[Markup]:
    """Draw the scale of colours with its ends."""
    steps = 11
    for number_of in range(steps):
        share = 2 * number_of / (steps - 1) - 1
        yield _cell(x + 12 * number_of, y, 12, share, share, signed(share * largest))
    end = tick_label(float(f"{largest:.2g}"))
    yield text(x, y + 29, f"−{end}", "small")
    yield text(x + 6 * steps, y + 29, "0", "small", "middle")
    yield text(x + 12 * steps, y + 29, f"+{end}", "small", "end")
    if undefined:
        yield _cell(x + 12 * steps + 16, y, 18, np.nan, 0.0, "undefined")
        yield text(x + 12 * steps + 40, y + 12, "undefined", "small")


def _extreme(rows: Sequence[ProbeRow], *, largest: bool) -> str:
    """Return the largest or smallest pair in words."""
    best = (np.nan, "")
    for row in rows:
        values = row.by_pair
        flat = int(np.nanargmax(values) if largest else np.nanargmin(values))
        value = float(values.ravel()[flat])
        attribute, task = divmod(flat, len(row.tasks))
        pair = f"{row.attributes[attribute]}, {row.tasks[task]} ({row.base})"
        if np.isnan(best[0]) or (value > best[0]) == largest:
            best = (value, pair)
    return f"{number(best[0])} for {best[1]}"
