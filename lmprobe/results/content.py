"""Tables and figures as JSON, for results whose content is decided by the job that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from typing import Any, get_args, get_origin, get_type_hints

from lmprobe.metrics.direction import Direction
from lmprobe.results.estimate import nullable
from lmprobe.results.figure import (
    DotPlot,
    Figure,
    HeatMap,
    IntervalPlot,
    SeriesPlot,
    StripPlot,
)
from lmprobe.results.table import Cell, Column, ColumnKind, Table
from lmprobe.results.verdict import Interval, Verdict

_UNDEFINED = "NaN"
"""An undefined number in a cell; null is an empty cell."""

_PLOTS: dict[str, type[Figure]] = {
    kind.__name__: kind for kind in (SeriesPlot, IntervalPlot, StripPlot, HeatMap, DotPlot)
}


def table_to_dict(table: Table) -> dict[str, Any]:
    """Return the JSON form of a table."""
    return {
        "name": table.name,
        "title": table.title,
        "caption": table.caption,
        "columns": [asdict(column) for column in table.columns],
        "rows": _to_json(table.rows),
    }


def table_from_dict(document: Mapping[str, Any]) -> Table:
    """Read the JSON form of a table."""
    columns = tuple(_from_json(Column, column) for column in document["columns"])
    rows = tuple(
        tuple(_cell_from_json(cell, column.kind) for cell, column in zip(row, columns, strict=True))
        for row in document["rows"]
    )
    return Table(document["name"], columns, rows, document["title"], document["caption"])


def figure_to_dict(figure: Figure) -> dict[str, Any]:
    """Return the JSON form of a figure of any kind."""
    return {"plot": type(figure).__name__, **_to_json(figure)}


def figure_from_dict(document: Mapping[str, Any]) -> Figure:
    """Read the JSON form of a figure."""
    figure: Figure = _from_json(_PLOTS[document["plot"]], document)
    return figure


def _to_json(value: Any) -> Any:
    """Return the content of a figure or a table in JSON's own types."""
    if isinstance(value, Interval):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, float):
        return _UNDEFINED if nullable(value) is None else float(value)
    return value


def _from_json(hint: Any, value: Any) -> Any:
    """Read what `_to_json` wrote; `hint` is the type of the field."""
    make: Any = hint
    if hint is Interval:
        return Interval.from_dict(value)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        # What an older file does not have keeps its default.
        names = [field.name for field in fields(hint) if field.name in value]
        return make(**{name: _from_json(hints[name], value[name]) for name in names})
    if get_origin(hint) is tuple:
        return tuple(_from_json(get_args(hint)[0], item) for item in value)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    is_number = hint is float or float in get_args(hint)
    return float("nan") if is_number and value == _UNDEFINED else value


def _cell_from_json(cell: Any, kind: ColumnKind) -> Cell:
    if isinstance(cell, Mapping):
        return Interval.from_dict(cell)
    if cell is not None and kind is ColumnKind.VERDICT:
        return Verdict(cell)
    if cell is not None and kind is ColumnKind.DIRECTION:
        return Direction(cell)
    if cell == _UNDEFINED and kind is not ColumnKind.TEXT:
        return float("nan")
    read: Cell = cell
    return read
