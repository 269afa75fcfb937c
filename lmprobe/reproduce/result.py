"""A published experiment, run again: rows of ours beside those of the paper, and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from lmprobe.metrics.direction import Direction
from lmprobe.reproduce.shipped import published
from lmprobe.results import (
    Cell,
    Column,
    ColumnKind,
    Estimate,
    Figure,
    Interval,
    Note,
    NoteKind,
    Page,
    Section,
    Table,
    Verdict,
)
from lmprobe.results.content import figure_from_dict, figure_to_dict, table_from_dict, table_to_dict
from lmprobe.results.estimate import Claim, nullable
from lmprobe.results.result import Result
from lmprobe.results.settings import command_line

LIMITS = (
    "Our numbers next to those of the paper: agreement shows that the same quantity is "
    "computed, not that the finding generalises to other models, data or groups.",
    "A dash under `paper` means that the paper printed no number.",
)
OURS = Column("ours", ColumnKind.NUMBER, key="value")
INTERVAL = Column("interval", ColumnKind.RANGE)
PAPER = Column("paper", ColumnKind.NUMBER)


@dataclass(frozen=True, slots=True, eq=False)
class ReproducedRow:
    """One number: ours, what the paper printed (None if nothing), and what else belongs to it."""

    name: str
    value: float
    paper: float | None = None
    interval: Interval | None = None
    verdict: Verdict = Verdict.UNDECIDED
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the JSON row, such as the base and the direction."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        value = self.value if isinstance(self.value, int) else nullable(self.value)
        document: dict[str, Any] = {"name": self.name, "value": value, "paper": self.paper}
        if self.interval is not None:
            document |= {"interval": self.interval.to_dict(), "verdict": self.verdict.value}
        return {**document, **self.details}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ReproducedRow:
        """Read the JSON form."""
        details = dict(document)
        value, interval = details.pop("value"), details.pop("interval", None)
        return cls(
            name=details.pop("name"),
            value=float("nan") if value is None else value,
            paper=details.pop("paper"),
            interval=None if interval is None else Interval.from_dict(interval),
            verdict=Verdict(details.pop("verdict", Verdict.UNDECIDED)),
            details=details,
        )

    def claim(self) -> Claim | None:
        """Return the row as something to hold against a limit, if it has an interval."""
        if self.interval is None:
            return None
        direction = self.details.get("direction")
        return Claim(
            Estimate(self.value, self.interval, self.verdict),
            base=str(self.details.get("base", "")),
            direction=None if direction is None else Direction(direction),
            subject=str(self.details.get("preset", "")) or self.name,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction(Result):
    """One published experiment, run again."""

    kind: ClassVar[str] = "reproduction"

    name: str
    title: str
    paper: str
    """Where it was published, such as "Wang & Russakovsky 2021, Figure 6"."""
    rows: tuple[ReproducedRow, ...]
    printed: tuple[Table, ...]
    """The tables that people read, made of the rows."""
    notes: tuple[Note, ...] = ()
    drawn: tuple[Figure, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the JSON document, such as the provenance."""

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimates of the rows that have an interval."""
        return tuple(claim for row in self.rows if (claim := row.claim()) is not None)

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the experiment."""
        return self.printed

    def section(self) -> Section:
        """Return the experiment as one section of a page."""
        return Section(
            self.title,
            text=(self.paper,),
            commands=(command_line("reproduce", [self.name]),),
            tables=self.printed,
            notes=self.notes,
            figures=self.drawn,
            name=self.name,
        )

    def page(self) -> Page:
        """Return the report."""
        section = replace(self.section(), title="Our numbers and the paper's", text=())
        return _page(self.title, self.paper, section)

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "experiment": self.name,
            "title": self.title,
            "paper": self.paper,
            "rows": [row.to_dict() for row in self.rows],
            "notes": [note.to_dict() for note in self.notes],
            "tables": [table_to_dict(table) for table in self.printed],
            "figures": [figure_to_dict(figure) for figure in self.drawn],
            **self.details,
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Reproduction:
        """Read the JSON form."""
        details = {key: part for key, part in document.items() if key not in ("schema", "kind")}
        return cls(
            name=details.pop("experiment"),
            title=details.pop("title"),
            paper=details.pop("paper"),
            rows=tuple(map(ReproducedRow.from_dict, details.pop("rows"))),
            printed=tuple(map(table_from_dict, details.pop("tables"))),
            notes=tuple(map(Note.from_dict, details.pop("notes"))),
            drawn=tuple(map(figure_from_dict, details.pop("figures"))),
            details=details,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ReproductionSet(Result):
    """Several experiments on one page, with those that cannot be run from here."""

    kind: ClassVar[str] = "reproductions"

    experiments: tuple[Reproduction, ...]

    def claims(self) -> tuple[Claim, ...]:
        """Return the claims of all experiments."""
        return tuple(
            replace(claim, subject=f"{result.name}: {claim.subject}")
            for result in self.experiments
            for claim in result.claims()
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of all experiments, each under the experiment's name."""
        return tuple(
            replace(table, name=f"{result.name}-{table.name}", title=table.title or result.title)
            for result in self.experiments
            for table in result.printed
        )

    def page(self) -> Page:
        """Return one page with a section per experiment; no two figures have the same name."""
        sections = []
        for result in self.experiments:
            figures = [
                replace(figure, name=f"{result.name}-{figure.name}") for figure in result.drawn
            ]
            sections.append(replace(result.section(), figures=tuple(figures)))
        return _page(
            "Published experiments, run again",
            "our numbers next to those of the papers",
            *sections,
            _out_of_reach(),
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {"experiments": [result.to_dict() for result in self.experiments]}

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> ReproductionSet:
        """Read the JSON form."""
        return cls(tuple(map(Reproduction.from_body, document["experiments"])))


def _out_of_reach() -> Section:
    """Return the section that says what cannot be run from here, and how to run it elsewhere."""
    about = published("out-of-reach")
    parts = (
        Section(entry["what"], text=(f"{entry['why']}.",), commands=(entry["command"],))
        for entry in about["experiment"]
    )
    return Section(about["title"], text=(about["text"],), parts=tuple(parts), name="out-of-reach")


def _page(title: str, subtitle: str, *sections: Section) -> Page:
    return Page(title, subtitle, (), sections, limits=LIMITS, topic="Reproduction")


def reproduction(
    name: str,
    rows: Sequence[ReproducedRow],
    *tables: Table,
    drawn: tuple[Figure, ...] = (),
    details: Mapping[str, Any] | None = None,
    **values: Any,
) -> Reproduction:
    """Return an experiment that data/published.toml describes, its texts filled with `values`."""
    about = published(name)
    return Reproduction(
        name=name,
        title=about["title"].format(**values),
        paper=about["paper"],
        rows=tuple(rows),
        printed=tables or (comparison_table(rows),),
        notes=texts_as_notes(*(text.format(**values) for text in about["notes"])),
        drawn=drawn,
        details=details or {},
    )


def texts_as_notes(*texts: str) -> tuple[Note, ...]:
    """Return what an experiment has to say as notes about its method."""
    return tuple(Note(NoteKind.METHOD, text) for text in texts)


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


def _cell(row: ReproducedRow, key: str) -> Cell:
    own = {"value": row.value, "paper": row.paper, "interval": row.interval}
    cell: Cell = own[key] if key in own else row.details.get(key)
    return cell


def grid_table(
    rows: Sequence[ReproducedRow], down: str, across: str, *, name: str = "values"
) -> Table:
    """Return the values with one line per detail `down` and one column per detail `across`."""
    lines: dict[str, dict[str, float]] = {}
    for row in rows:
        lines.setdefault(str(row.details[down]), {})[str(row.details[across])] = row.value
    headings = list(dict.fromkeys(str(row.details[across]) for row in rows))
    columns = (Column(down), *(Column(heading, ColumnKind.NUMBER) for heading in headings))
    cells = ((line, *map(values.get, headings)) for line, values in lines.items())
    return Table(name, columns, tuple(cells))
