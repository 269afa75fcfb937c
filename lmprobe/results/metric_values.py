"""Values of further metrics that a job computes beside directional amplification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmprobe.results.codec import json_field
from lmprobe.results.content import ColumnKind, ColumnOf, Table, table_of
from lmprobe.results.verdict import Interval, Verdict


@dataclass(frozen=True, slots=True)
class MetricValue:
    """The value of one metric in one direction, or without one."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "metric", "base", "direction", "value", "interval", "verdict",
    )  # fmt: skip

    metric: str
    direction: str
    """`task->attribute`, `attribute->task`, or `undirected`."""
    value: float | None
    """None where it is undefined."""
    base: str = json_field(default="", optional=True)
    """The base rates that a probe was compared with; empty for labelled rows."""
    interval: Interval | None = json_field(default=None, optional=True)
    """Of the measures of item sets."""
    verdict: Verdict | None = json_field(default=None, optional=True)
    """Which side of no preference the whole interval is on."""


def metric_table(values: Sequence[MetricValue]) -> Table:
    """Return one line per metric, base and direction."""
    columns = [
        ColumnOf("metric", "metric"),
        ColumnOf("direction", "direction"),
        ColumnOf("value", "value", ColumnKind.SIGNED),
    ]
    if any(value.interval for value in values):
        columns[2:] = [
            ColumnOf("value", "value", ColumnKind.NUMBER),
            ColumnOf("interval", "interval", ColumnKind.RANGE),
            ColumnOf("verdict", "verdict", ColumnKind.VERDICT),
        ]
    if any(value.base for value in values):
        columns.insert(1, ColumnOf("base", "base"))
    title = "Other metrics of the same table, on scales of their own"
    return table_of("metrics", values, columns, title=title, empty=True)
