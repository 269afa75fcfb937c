"""The two shapes of a reproduction's table: a list of ours beside the paper's, and a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmprobe.reproduce.result import ReproducedRow
from lmprobe.results import Cell, Column, ColumnKind, Table

OURS = Column("ours", ColumnKind.NUMBER, key="value")
INTERVAL = Column("interval", ColumnKind.RANGE)
PAPER = Column("paper", ColumnKind.NUMBER)


def comparison_table(
    rows: Sequence[ReproducedRow], columns: Sequence[Column] = (), *, name: str = "comparison"
) -> Table:
    """Return one line per row; a column shows the row's JSON key that its name is.

    By default ours, the interval where a row has one, and what the paper printed.
    """
    bounded = any(row.interval is not None for row in rows)
    shown = tuple(columns) or (OURS, *((INTERVAL,) if bounded else ()), PAPER)
    lines = tuple((row.name, *(_cell(row, column.name) for column in shown)) for row in rows)
    return Table(name, (Column("", key="name"), *shown), lines)


def grid_table(
    rows: Sequence[ReproducedRow], down: str, across: str, *, name: str = "values"
) -> Table:
    """Return the values with one line per detail `down` and one column per detail `across`."""
    headings = list(dict.fromkeys(str(row.details[across]) for row in rows))
    lines: dict[str, dict[str, float]] = {}
    for row in rows:
        lines.setdefault(str(row.details[down]), {})[str(row.details[across])] = row.value
    return Table(
        name,
        (Column(down), *(Column(heading, ColumnKind.NUMBER) for heading in headings)),
        tuple(
            (line, *(values.get(heading) for heading in headings)) for line, values in lines.items()
        ),
    )


def _cell(row: ReproducedRow, key: str) -> Cell:
    if key == "interval":
        return row.interval
    found: Any = {"value": row.value, "paper": row.paper}.get(key, row.details.get(key))
    cell: Cell = found
    return cell
