"""Figures, tables and pages: what they show, not how it looks; the renderers decide that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    import pandas as pd

from lmprobe.metrics.direction import Direction
from lmprobe.results.codec import UNDEFINED, json_field
from lmprobe.results.estimate import Note
from lmprobe.results.verdict import Interval, Tone, Verdict

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
    """Whether a terminal shows the column where no details are wanted."""

    @property
    def name(self) -> str:
        """The tidy name."""
        return self.key or self.heading.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under typed columns."""

    json_keys: ClassVar[tuple[str, ...]] = ("name", "title", "caption", "columns", "rows", "detail")
    json_nan: ClassVar[str] = UNDEFINED

    name: str
    """What the table is called in files and by `result.table(name)`."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    caption: str = ""
    detail: bool = json_field(default=False, optional=True)
    """Whether a terminal shows the table only where details are wanted."""

    def __post_init__(self) -> None:
        """Give each cell the type of its column: JSON has only text for a verdict."""
        kinds = [column.kind for column in self.columns]
        rows = tuple(
            tuple(_typed(cell, kind) for cell, kind in zip(row, kinds, strict=True))
            for row in self.rows
        )
        object.__setattr__(self, "rows", rows)

    def select(self, *names: str) -> Table:
        """Return the table with these columns alone, in its own order, without its title."""
        return replace(self._columns(lambda column: column.name in names), title="", caption="")

    def without_details(self) -> Table:
        """Return the table without its columns of details."""
        return self._columns(lambda column: column.essential)

    @property
    def has_details(self) -> bool:
        """Whether the table, or a column of it, is a detail."""
        return self.detail or not all(column.essential for column in self.columns)

    def _columns(self, wanted: Callable[[Column], bool]) -> Table:
        numbers = [number for number, column in enumerate(self.columns) if wanted(column)]
        columns = tuple(self.columns[number] for number in numbers)
        rows = tuple(tuple(row[number] for number in numbers) for row in self.rows)
        return replace(self, columns=columns, rows=rows)

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


def _typed(cell: Cell, kind: ColumnKind) -> Cell:
    if not isinstance(cell, str) or kind is ColumnKind.TEXT:
        return cell
    if kind is ColumnKind.VERDICT:
        return Verdict(cell)
    if kind is ColumnKind.DIRECTION:
        return Direction(cell)
    return math.nan if cell == UNDEFINED else cell


@dataclass(frozen=True, slots=True)
class ColumnOf:
    """A column of a table whose rows are made from objects: how to get the cell of one of them.

    `get` is a function, or the name of an attribute of the object; `a.b` is b of a, or its key.
    """

    heading: str
    get: str | Callable[[Any], Cell]
    kind: ColumnKind = ColumnKind.TEXT
    key: str = ""
    essential: bool = True

    def cells(self, items: Sequence[Any]) -> list[Cell]:
        """Return the cell of each object; where a part of the way is None, so is the cell."""
        if callable(self.get):
            return [self.get(item) for item in items]
        return [_attribute(item, self.get) for item in items]


def table_of(
    name: str,
    items: Iterable[Any],
    columns: Iterable[ColumnOf],
    *,
    title: str = "",
    caption: str = "",
    empty: bool = False,
    detail: bool = False,
) -> Table:
    """Return a table with a row for each object.

    A column whose cells are all None is left out, unless `empty` columns are wanted.
    """
    objects = tuple(items)
    cells = {column: column.cells(objects) for column in columns}
    filled = {
        column: values
        for column, values in cells.items()
        if empty or not objects or any(cell is not None for cell in values)
    }
    heads = tuple(Column(at.heading, at.kind, at.key, at.essential) for at in filled)
    rows = zip(*filled.values(), strict=True) if filled else ()
    return Table(name, heads, tuple(rows), title, caption, detail)


def frame_of(items: Iterable[Any], **columns: str) -> pd.DataFrame:
    """Return a DataFrame with a line for each object: a column is an attribute, with dots."""
    import pandas as pd

    objects = tuple(items)
    return pd.DataFrame(
        {name: [_attribute(item, path) for item in objects] for name, path in columns.items()}
    )


def _attribute(item: object, path: str) -> Any:
    value: Any = item
    for name in path.split("."):
        if value is None:
            return None
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What every kind has: a name, a title, and the sentence for those who cannot see it."""

    json_tag: ClassVar[str] = "plot"
    json_nan: ClassVar[str] = UNDEFINED

    name: str
    """What the figure is called in files and by `result.figure(name)`."""
    title: str
    alternative: str


@dataclass(frozen=True, slots=True)
class Series:
    """One set of points; `low` and `high` are the ends of error bars where there are any."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[str, ...] = ()
    """What each point is, such as an occupation; shown on hover and to screen readers."""
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    style: Literal["line", "points", "dashed", "band"] = "line"
    """`dashed` is a line to compare with; `band` a line with the area from low to high."""

    def __post_init__(self) -> None:
        """Check that every point has all that some points have."""
        parts = (self.y, *filter(None, (self.labels, self.low, self.high)))
        assert all(len(part) == len(self.x) for part in parts), self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPlot(Figure):
    """Series over two axes: curves, points with error bars, bands."""

    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    diagonal: bool = False
    """Whether to draw the line y = x."""


@dataclass(frozen=True, slots=True)
class Sides:
    """What lies on either side of zero, in a word each."""

    left: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class IntervalLine:
    """One value with its interval; the tone of its verdict colours it."""

    label: str
    value: float
    interval: Interval
    tone: Tone = Tone.EVEN


@dataclass(frozen=True, slots=True)
class Bracket:
    """Lines that belong together, by number, lowest first; they need not be neighbours."""

    lines: tuple[int, ...]
    label: str

    def __post_init__(self) -> None:
        """Check that there are lines, in order."""
        assert self.lines == tuple(sorted({*self.lines})) != (), self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalPlot(Figure):
    """Values with their intervals, one below the other, on both sides of zero."""

    lines: tuple[IntervalLine, ...]
    sides: Sides = Sides()
    brackets: tuple[Bracket, ...] = ()
    """Groups of lines, such as models that cannot be told apart; they may overlap."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Many values of one kind, such as one per template."""

    label: str
    values: tuple[float, ...]
    names: tuple[str, ...]
    mean: float

    def __post_init__(self) -> None:
        """Check that every value has its name."""
        assert len(self.names) == len(self.values), self.label


MOST_DOTS = 500
"""A strip of more values has so many dots, each for the mean of neighbouring values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StripPlot(Figure):
    """A dot for every value, a strip per kind, a bar at each mean."""

    strips: tuple[Strip, ...]
    sides: Sides = Sides()


@dataclass(frozen=True, slots=True)
class HeatBlock:
    """Columns of cells under a title; `values` has a row of cells for each row of the map.

    NaN is an undefined cell, None one that is not there.
    """

    title: str
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap(Figure):
    """Signed numbers as colours, side by side in blocks that share their rows."""

    rows: tuple[str, ...]
    blocks: tuple[HeatBlock, ...]

    def __post_init__(self) -> None:
        """Check that every block has a cell for every row and column."""
        for block in self.blocks:
            sizes = [len(row) for row in block.values]
            assert sizes == [len(block.columns)] * len(self.rows), block.title


@dataclass(frozen=True, slots=True)
class ShareLine:
    """A share before and after; the tone colours the way between them."""

    label: str
    before: float
    after: float
    tone: Tone = Tone.EVEN


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePlot(Figure):
    """Shares before and after, such as those of a base and of a model, one below the other."""

    lines: tuple[ShareLine, ...]
    before: str
    """Whose shares the first ones are."""
    after: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of what was found, and the verdict that colours it; the first one leads."""

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

    @property
    def has_exhibits(self) -> bool:
        """Whether there is more to show than text."""
        return bool(self.tables or self.figures or self.parts or self.items or self.facts)

    def walk(self) -> Iterator[Section]:
        """Yield this section and all its parts, in reading order."""
        yield self
        for part in self.parts:
            yield from part.walk()


def closing_sections(
    notes: Iterable[Note] = (),
    facts: Mapping[str, Any] | None = None,
    command: str = "",
    details: Iterable[Section] = (),
) -> tuple[Section, ...]:
    """Return the end of every page: notes, the command to run it again, and collapsed details.

    What is empty is left out. Notes that change nothing in the reading are details, and so is the
    provenance, of which the plain values are shown.
    """
    shown = {
        name.replace("_", " "): str(value)
        for name, value in (facts or {}).items()
        if isinstance(value, str | int | float) and value != ""
    }
    unique = dict.fromkeys(notes)
    method = tuple(note for note in unique if note.kind.is_detail)
    sections = (
        Section("Notes", notes=tuple(n for n in unique if n not in method), name="notes"),
        Section("Run it again", commands=(command,) if command else (), name="again"),
        *(replace(section, collapsed=True) for section in details),
        Section("Assumptions and method", notes=method, collapsed=True, name="method"),
        Section("Provenance", facts=shown, collapsed=True, name="provenance"),
    )
    return tuple(part for part in sections if part.has_exhibits or part.notes or part.commands)


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    subtitle: str
    headline: tuple[Statement, ...]
    sections: tuple[Section, ...]
    limits: tuple[str, ...]
    """What the number measures and what it does not; every report carries it."""
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
