"""A published experiment, run again: what the paper printed, our rows beside it, their tables."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

from lmprobe.errors import DataFileError
from lmprobe.io.tables import read_columns
from lmprobe.io.work import Progress, silent
from lmprobe.registry import Registry
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import (
    Cell,
    Column,
    ColumnKind,
    Figure,
    Interval,
    Note,
    NoteKind,
    Page,
    Section,
    Table,
    Verdict,
    json_field,
)
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.document import SCHEMA
from lmprobe.results.estimate import Claim
from lmprobe.results.result import Result
from lmprobe.results.settings import command_line

_FOLDER = Path(__file__).parent / "data"
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
    interval: Interval | None = json_field(default=None, optional=True)
    verdict: Verdict | None = json_field(default=None, optional=True)
    details: Mapping[str, Any] = json_field(default_factory=dict, flat=True)
    """Further keys of the JSON row, such as the base and the direction."""


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction(Result):
    """One published experiment, run again."""

    kind: ClassVar[str] = "reproduction"
    schema: ClassVar[str] = SCHEMA
    # Within a set, too, each experiment is a document of its own.
    json_keys: ClassVar[tuple[str, ...]] = (
        "schema", "kind", "name", "title", "paper", "rows", "notes", "printed", "drawn", "details",
    )  # fmt: skip

    name: str = json_field(key="experiment")
    title: str = json_field()
    paper: str = json_field()
    """Where it was published, such as "Wang & Russakovsky 2021, Figure 6"."""
    rows: tuple[ReproducedRow, ...] = json_field()
    printed: tuple[Table, ...] = json_field(key="tables")
    """The tables that people read, made of the rows."""
    notes: tuple[Note, ...] = ()
    drawn: tuple[Figure, ...] = json_field(default=(), key="figures")
    details: Mapping[str, Any] = json_field(default_factory=dict, flat=True)
    """Further keys of the JSON document, such as the provenance."""

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimates of the rows that have an interval."""
        claims = []
        for row in self.rows:
            if row.interval is not None:
                subject = {"subject": row.details.get("preset") or row.name}
                document = {"verdict": Verdict.UNDECIDED} | to_json(row) | subject
                claims.append(from_json(Claim, document))
        return tuple(claims)

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
            figures = (replace(plot, name=f"{result.name}-{plot.name}") for plot in result.drawn)
            sections.append(replace(result.section(), figures=tuple(figures)))
        # What cannot be run from here, and how to run it elsewhere.
        about = published("out-of-reach")
        parts = tuple(
            Section(entry["what"], text=(f"{entry['why']}.",), commands=(entry["command"],))
            for entry in about["experiment"]
        )
        last = Section(about["title"], text=(about["text"],), parts=parts, name="out-of-reach")
        subtitle = "our numbers next to those of the papers"
        return _page("Published experiments, run again", subtitle, *sections, last)


def _page(title: str, subtitle: str, *sections: Section) -> Page:
    return Page(title, subtitle, (), sections, limits=LIMITS, topic="Reproduction")


def shipped_table(name: str) -> tuple[Any, dict[str, Any]]:
    """Return the DataFrame NAME.csv (or NAME.csv.gz) and where NAME.toml says it comes from."""
    table = next(_FOLDER.glob(f"{name}.csv*"), _FOLDER / f"{name}.csv")
    facts = tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    if hashlib.sha256(table.read_bytes()).hexdigest() != facts["sha256"]:
        raise DataFileError(f"{table}: not the file that {name}.toml describes (sha256)")
    return read_columns(table), facts


@cache
def published(name: str) -> Any:
    """Return what the papers printed in the experiment of that name, and our notes about it."""
    return tomllib.loads((_FOLDER / "published.toml").read_text(encoding="utf-8"))[name]


def figure_texts(experiment: str, figure: str, **values: Any) -> dict[str, Any]:
    """Return the name, title, labels and description of a figure, filled with `values`."""
    texts = published(experiment)["figure"][figure]
    return {"name": figure, **{key: text.format(**values) for key, text in texts.items()}}


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
    """Return one line per row; a column shows the row's attribute or detail of its name.

    By default ours, the interval where a row has one, and what the paper printed.
    """
    bounded = any(row.interval is not None for row in rows)
    shown = tuple(columns) or (OURS, *((INTERVAL,) if bounded else ()), PAPER)
    heads = (Column("", key="name"), *shown)
    lines = (tuple(_cell(row, column.name) for column in heads) for row in rows)
    return Table(name, heads, tuple(lines))


def _cell(row: ReproducedRow, key: str) -> Cell:
    cell: Cell = getattr(row, key) if hasattr(row, key) else row.details.get(key)
    return cell


def grid_table(
    rows: Sequence[ReproducedRow], down: str, across: str, *, name: str = "values"
) -> Table:
    """Return the values with one line per detail `down` and one column per detail `across`."""
    lines: dict[str, dict[str, float]] = {}
    for row in rows:
        lines.setdefault(str(row.details[down]), {})[str(row.details[across])] = row.value
    headings = dict.fromkeys(str(row.details[across]) for row in rows)
    columns = (Column(down), *(Column(heading, ColumnKind.NUMBER) for heading in headings))
    cells = ((line, *map(values.get, headings)) for line, values in lines.items())
    return Table(name, columns, tuple(cells))


class Experiment(Protocol):
    """Runs a published experiment; the docstring's first line is what a listing shows."""

    def __call__(self, settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
        """Return ours beside the paper's."""
        ...


experiments: Registry[Experiment] = Registry("experiments", "lmprobe.reproduce")

experiment = experiments.register
"""Return a decorator that registers an experiment under a name."""


def in_order() -> tuple[str, ...]:
    """Return the names of all experiments in the order in which they are shown."""
    first = ("fitbert", "fitbert-iclr")
    return (*first, *(name for name in experiments.names() if name not in first))


def reproduce(
    name: str, settings: ExperimentSettings | None = None, *, progress: Progress = silent
) -> Reproduction:
    """Run a published experiment again.

    >>> result = reproduce("shortcomings")
    >>> result.rows[0].name, result.rows[0].paper
    ('1: three groups: MALS', 0.0)
    """
    return experiments.get(name)(settings or ExperimentSettings(), progress)


def reproduce_all(
    settings: ExperimentSettings | None = None, *, progress: Progress = silent
) -> ReproductionSet:
    """Run every experiment again."""
    results = (reproduce(name, settings, progress=progress) for name in in_order())
    return ReproductionSet(tuple(results))
