"""Tables and pages: neutral content that every renderer can show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lmprobe.metrics.direction import Direction
from lmprobe.results.estimate import Note
from lmprobe.results.figure import Figure
from lmprobe.results.verdict import Interval, Verdict

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


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the headline and the verdict that colours it."""

    text: str
    verdict: Verdict = Verdict.UNDECIDED


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report."""

    title: str
    text: tuple[str, ...] = ()
    """Paragraphs before the tables and figures."""
    items: tuple[str, ...] = ()
    """A list, such as the sentences of a template set."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """Terms with what they are, such as the provenance."""
    notes: tuple[Note, ...] = ()
    commands: tuple[str, ...] = ()
    """Shell commands to copy."""
    collapsed: bool = False
    """Whether a page hides the section until it is opened."""
    searchable: bool = False
    """Whether a page lets its reader search and sort the section's tables.

    Put the rows that stand out first: paper and Markdown show only these.
    """
    parts: tuple[Section, ...] = ()
    """Sections within this one, side by side where there is room: one per direction, say."""
    name: str = ""
    """The anchor of the section on a page; by default made of the title."""

    def walk(self) -> Iterator[Section]:
        """Yield this section and all its parts, in reading order."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    headline: tuple[Statement, ...]
    sections: tuple[Section, ...]
    limits: tuple[str, ...]
    """What the number measures and what it does not; every report carries it."""
    name: str = "report"
    topic: str = "lmprobe report"
    """The line above the title."""
    source: str = ""
    """Where the method was published, for the foot of the page."""

    def walk(self) -> Iterator[Section]:
        """Yield every section and part, in reading order."""
        for section in self.sections:
            yield from section.walk()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every note of every section, each once."""
        return tuple(dict.fromkeys(note for section in self.walk() for note in section.notes))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure of every section."""
        return tuple(figure for section in self.walk() for figure in section.figures)
