"""A table's content, not its looks: each output form has one renderer for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lmprobe.core.direction import Direction
from lmprobe.results.interval import Interval
from lmprobe.results.verdict import Verdict

Cell = str | int | float | Interval | Verdict | Direction | None
"""What a table may hold; None is an empty cell, NaN an undefined number."""


class ColumnKind(StrEnum):
    """What the cells of a column are, which decides how every renderer writes them."""

    TEXT = "text"
    NUMBER = "number"
    SIGNED = "signed"
    """A number written with its sign, plus included."""
    PERCENT = "percent"
    P_VALUE = "p_value"
    COUNT = "count"
    INTERVAL = "interval"
    """Two ends written with their signs, as those of a SIGNED number."""
    RANGE = "range"
    """Two ends of a number that is written without a plus, such as a share."""
    VERDICT = "verdict"
    DIRECTION = "direction"

    @property
    def is_words(self) -> bool:
        """Whether the cells are words."""
        return self in (ColumnKind.TEXT, ColumnKind.VERDICT, ColumnKind.DIRECTION)

    @property
    def is_number(self) -> bool:
        """Whether each cell is one number, which ends flush."""
        return not self.is_words and self not in (ColumnKind.INTERVAL, ColumnKind.RANGE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the heading that people read, and what its cells are."""

    heading: str
    kind: ColumnKind = ColumnKind.TEXT
    key: str = ""
    """The tidy name for CSV and data frames; by default the heading."""
    essential: bool = True
    """Whether a narrow terminal must keep the column."""

    @property
    def name(self) -> str:
        """The tidy name."""
        return self.key or self.heading.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under typed columns."""

    name: str
    """What the table is called in files and by `result.table(name)`."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    caption: str = ""

    def __post_init__(self) -> None:
        """Check that every row has a cell for every column."""
        assert all(len(row) == len(self.columns) for row in self.rows), self.name

    def select(self, *names: str) -> Table:
        """Return the table with these columns alone, in its own order, without its title."""
        numbers = [number for number, column in enumerate(self.columns) if column.name in names]
        return Table(
            self.name,
            tuple(self.columns[number] for number in numbers),
            tuple(tuple(row[number] for number in numbers) for row in self.rows),
        )

    def to_frame(self) -> Any:
        """Return a DataFrame; an interval becomes the two columns low and high."""
        import pandas as pd

        columns: dict[str, list[Any]] = {}
        for number, column in enumerate(self.columns):
            cells = [row[number] for row in self.rows]
            if column.kind in (ColumnKind.INTERVAL, ColumnKind.RANGE):
                for end in ("low", "high"):
                    columns[end if end not in columns else f"{column.name}_{end}"] = [
                        None if cell is None else getattr(cell, end) for cell in cells
                    ]
            else:
                columns[column.name] = [
                    cell.value if isinstance(cell, Verdict | Direction) else cell for cell in cells
                ]
        return pd.DataFrame(columns)
