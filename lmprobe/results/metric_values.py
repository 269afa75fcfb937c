"""Values of further metrics that a job computes beside directional amplification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmprobe.results.codec import json_field
from lmprobe.results.content import ColumnKind, ColumnOf, Table, table_of


@dataclass(frozen=True, slots=True)
class MetricValue:
    """The value of one metric in one direction, or without one."""

    json_keys: ClassVar[tuple[str, ...]] = ("metric", "base", "direction", "value")

    metric: str
    direction: str
    """`task->attribute`, `attribute->task`, or `undirected`."""
    value: float | None
    """None where it is undefined."""
    base: str = json_field(default="", optional=True)
    """The base rates that a probe was compared with; empty for labelled rows."""


def metric_table(values: Sequence[MetricValue]) -> Table:
    """Return one line per metric, base and direction."""
    columns = [
        ColumnOf("metric", "metric"),
        ColumnOf("direction", "direction"),
        ColumnOf("value", "value", ColumnKind.SIGNED),
    ]
    if any(value.base for value in values):
        columns.insert(1, ColumnOf("base", "base"))
    title = "Other metrics of the same table, on scales of their own"
    return table_of("metrics", values, columns, title=title, empty=True)
