"""A published experiment, run again: rows of ours beside those of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from lmprobe.core.direction import Direction
from lmprobe.report.result import Result
from lmprobe.results import (
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
from lmprobe.results.claim import Claim
from lmprobe.results.content import (
    figure_from_dict,
    figure_to_dict,
    table_from_dict,
    table_to_dict,
)
from lmprobe.results.estimate import nullable
from lmprobe.results.settings import command_line

LIMITS = (
    "Our numbers next to those of the paper: agreement shows that the same quantity is "
    "computed, not that the finding generalises to other models, data or groups.",
    "A dash under `paper` means that the paper printed no number.",
)


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
        document: dict[str, Any] = {
            "name": self.name,
            "value": self.value if isinstance(self.value, int) else nullable(self.value),
            "paper": self.paper,
        }
        if self.interval is not None:
            document |= {"interval": self.interval.to_dict(), "verdict": self.verdict.value}
        return {**document, **self.details}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ReproducedRow:
        """Read the JSON form."""
        known = ("name", "value", "paper", "interval", "verdict")
        interval = document.get("interval")
        return cls(
            name=document["name"],
            value=float("nan") if document["value"] is None else document["value"],
            paper=document["paper"],
            interval=None if interval is None else Interval.from_dict(interval),
            verdict=Verdict(document.get("verdict", Verdict.UNDECIDED)),
            details={key: value for key, value in document.items() if key not in known},
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
        return Page(
            title=self.title,
            subtitle=self.paper,
            headline=(),
            sections=(section,),
            limits=LIMITS,
            topic="Reproduction",
        )

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
        known = ("schema", "kind", "experiment", "title", "paper", "rows", "notes", "tables")
        return cls(
            name=document["experiment"],
            title=document["title"],
            paper=document["paper"],
            rows=tuple(ReproducedRow.from_dict(row) for row in document["rows"]),
            printed=tuple(table_from_dict(table) for table in document["tables"]),
            notes=tuple(Note.from_dict(note) for note in document["notes"]),
            drawn=tuple(figure_from_dict(figure) for figure in document["figures"]),
            details={
                key: value for key, value in document.items() if key not in (*known, "figures")
            },
        )


@dataclass(frozen=True, slots=True, eq=False)
class ReproductionSet(Result):
    """Several experiments on one page, with those that cannot be run from here."""

    kind: ClassVar[str] = "reproductions"

    experiments: tuple[Reproduction, ...]

    def claims(self) -> tuple[Claim, ...]:
        """Return the claims of all experiments."""
        return tuple(
            replace(claim, subject=f"{one.name}: {claim.subject}")
            for one in self.experiments
            for claim in one.claims()
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of all experiments, each under the experiment's name."""
        return tuple(
            replace(table, name=f"{one.name}-{table.name}", title=table.title or one.title)
            for one in self.experiments
            for table in one.printed
        )

    def page(self) -> Page:
        """Return one page with a section per experiment."""
        from lmprobe.reproduce.out_of_reach import out_of_reach_section

        sections = [_with_unique_names(one) for one in self.experiments]
        return Page(
            title="Published experiments, run again",
            subtitle="our numbers next to those of the papers",
            headline=(),
            sections=(*sections, out_of_reach_section()),
            limits=LIMITS,
            topic="Reproduction",
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {"experiments": [one.to_dict() for one in self.experiments]}

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> ReproductionSet:
        """Read the JSON form."""
        return cls(tuple(Reproduction.from_body(one) for one in document["experiments"]))


def _with_unique_names(one: Reproduction) -> Section:
    """Return the section with figures whose names differ from those of other experiments."""
    figures = tuple(replace(figure, name=f"{one.name}-{figure.name}") for figure in one.drawn)
    return replace(one.section(), figures=figures)


def texts_as_notes(*texts: str) -> tuple[Note, ...]:
    """Return what an experiment has to say as notes about its method."""
    return tuple(Note(NoteKind.METHOD, text) for text in texts)
