"""A published experiment, run again: what the paper printed, our rows beside it, their tables."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache
from operator import itemgetter
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
    ColumnOf,
    Figure,
    Interval,
    Note,
    NoteKind,
    Page,
    Section,
    Statement,
    Table,
    Verdict,
    json_field,
    table_of,
)
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.document import SCHEMA
from lmprobe.results.estimate import Claim
from lmprobe.results.format import plural
from lmprobe.results.result import Result
from lmprobe.results.settings import command_line

_FOLDER = Path(__file__).parent / "data"
LIMITS = (
    "Our numbers next to those of the paper: agreement shows that the same quantity is "
    "computed, not that the finding generalises to other models, data or groups.",
    "A number is reproduced if ours rounds to it, or lies within the spread printed beside it.",
    "A dash under `paper` means that the paper printed no number.",
)
OURS = Column("ours", ColumnKind.NUMBER, key="value")
INTERVAL = Column("interval", ColumnKind.RANGE)
PAPER = Column("paper", ColumnKind.NUMBER)
STATUS = Column("status")


class Status(StrEnum):
    """What became of a published number."""

    REPRODUCED = "reproduced"
    """Ours rounds to it, or lies within the spread printed beside it."""
    DIFFERS = "differs"
    NOT_COMPARABLE = "not comparable"
    """Ours is another quantity; `Reason` says why."""


class Reason(StrEnum):
    """Why a row cannot be compared with the paper."""

    ANOTHER_MODEL = "another model"
    MISSING_DATA = "missing data"
    ANOTHER_METHOD = "another method"
    NOTHING_PRINTED = "no number printed"


@dataclass(frozen=True, slots=True, eq=False)
class ReproducedRow:
    """One number: ours, what the paper printed (None if nothing), and what else belongs to it."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "name", "value", "paper", "decimals", "paper_spread", "status", "reason", "interval",
        "verdict", "details",
    )  # fmt: skip

    name: str
    value: float
    paper: float | None = None
    interval: Interval | None = json_field(default=None, optional=True)
    verdict: Verdict | None = json_field(default=None, optional=True)
    details: Mapping[str, Any] = json_field(default_factory=dict, flat=True)
    """Further keys of the JSON row, such as the base and the direction."""
    decimals: int | None = json_field(default=None, optional=True)
    """How many decimals the paper printed; by default as many as `paper` needs."""
    paper_spread: float | None = json_field(default=None, optional=True)
    """The standard deviation over repetitions that the paper printed beside the number."""
    reason: Reason | None = json_field(default=None, optional=True)
    """Why the row cannot be compared with the paper."""

    def __post_init__(self) -> None:
        """Give the reason that needs no telling."""
        if self.paper is None:
            object.__setattr__(self, "reason", Reason.NOTHING_PRINTED)

    @property
    def status(self) -> Status:
        """Whether the published number is reproduced.

        >>> [ReproducedRow("", 0.0333, printed).status.value for printed in (0.033, 0.034)]
        ['reproduced', 'differs']
        """
        if self.reason is not None or self.paper is None:
            return Status.NOT_COMPARABLE
        digits = _decimals(self.paper) if self.decimals is None else self.decimals
        # A tie may be rounded either way; the last bits of a float decide nothing.
        noise = 1e-12 * max(1.0, abs(self.paper))
        allowed = max(0.5 * 10.0**-digits, self.paper_spread or 0.0) + noise
        same = abs(self.value - self.paper) <= allowed
        return Status.REPRODUCED if same else Status.DIFFERS


def _decimals(number: float) -> int:
    """Return the decimals of a number in its shortest form, at least one unless it is an int."""
    exponent = Decimal(repr(number)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


class StatusCounts:
    """How many published numbers have each status, and why some cannot be compared."""

    def __init__(self, rows: Sequence[ReproducedRow]) -> None:
        """Count rows, one of each published number."""
        statuses = Counter(row.status for row in rows)
        self.printed = len(rows)
        self.reproduced = statuses[Status.REPRODUCED]
        self.differ = statuses[Status.DIFFERS]
        self.not_comparable = statuses[Status.NOT_COMPARABLE]
        self.reasons = Counter(row.reason for row in rows if row.reason is not None)

    @property
    def why(self) -> str:
        """The reasons in words, with their counts where there are several."""
        if not self.printed:
            return Reason.NOTHING_PRINTED.value
        if len(self.reasons) == 1:
            return next(iter(self.reasons)).value
        return ", ".join(f"{count} {reason}" for reason, count in self.reasons.most_common())

    def __str__(self) -> str:
        """Return the counts as a sentence; parts that are zero are left out."""
        if not self.printed:
            return "The paper prints no numbers to compare with."
        verb = "is" if 1 in (self.reproduced, self.printed) else "are"
        numbers = plural(self.reproduced, "published number", of=self.printed)
        parts = [f"{numbers} {verb} reproduced"]
        if self.differ:
            parts.append(f"{self.differ} {'differs' if self.differ == 1 else 'differ'}")
        if self.not_comparable:
            verb = "is" if self.not_comparable == 1 else "are"
            parts.append(f"{self.not_comparable} {verb} not comparable ({self.why})")
        return f"{', '.join(parts)}."


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction(Result):
    """One published experiment, run again."""

    kind: ClassVar[str] = "reproduction"
    schema: ClassVar[str] = SCHEMA
    # Within a set, too, each experiment is a document of its own.
    json_keys: ClassVar[tuple[str, ...]] = (
        "schema", "kind", "name", "title", "paper", "finding", "rows", "notes", "printed", "drawn",
        "details",
    )  # fmt: skip

    name: str = json_field(key="experiment")
    title: str = json_field()
    paper: str = json_field()
    """Where it was published, such as "Wang & Russakovsky 2021, Figure 6"."""
    rows: tuple[ReproducedRow, ...] = json_field()
    printed: tuple[Table, ...] = json_field(key="tables")
    """The tables that people read, made of the rows."""
    finding: str = json_field(default="", optional=True)
    """What the rows say, in a sentence or two."""
    notes: tuple[Note, ...] = ()
    drawn: tuple[Figure, ...] = json_field(default=(), key="figures")
    details: Mapping[str, Any] = json_field(default_factory=dict, flat=True)
    """Further keys of the JSON document, such as the provenance."""

    @property
    def published(self) -> tuple[ReproducedRow, ...]:
        """A row for each published number: of several, the first is by the paper's own method."""
        first: dict[str, ReproducedRow] = {}
        for row in self.rows:
            if row.paper is not None:
                first.setdefault(row.name, row)
        return tuple(first.values())

    @property
    def tally(self) -> StatusCounts:
        """How many published numbers are reproduced."""
        return StatusCounts(self.published)

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
            text=(*self._said(), f"Published in {self.paper}."),
            commands=(command_line("reproduce", [self.name]),),
            tables=self.printed,
            notes=self.notes,
            figures=self.drawn,
            name=self.name,
        )

    def page(self) -> Page:
        """Return the report."""
        section = replace(self.section(), title="Our numbers and the paper's", text=())
        subtitle = f"{self.title}. {self.paper}."
        return _page(f"Reproduction of {self.name}", subtitle, self._said(), section)

    def _said(self) -> tuple[str, ...]:
        return (str(self.tally), *filter(None, [self.finding]))


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
        """Return the summary, and as details the tables of all experiments under their names."""
        details = (
            replace(
                table,
                name=f"{result.name}-{table.name}",
                title=table.title or result.title,
                detail=True,
            )
            for result in self.experiments
            for table in result.printed
        )
        return (self.summary(), *details)

    def summary(self) -> Table:
        """Return a line for each experiment: how many published numbers are reproduced."""
        lines = [(result.name, result.tally) for result in self.experiments]
        return table_of("summary", lines, _SUMMARY, caption=_SUMMARY_CAPTION)

    def page(self) -> Page:
        """Return one page with a section per experiment; no two figures have the same name."""
        sections = [Section("Summary", tables=(self.summary(),), name="summary")]
        for result in self.experiments:
            figures = (replace(plot, name=f"{result.name}-{plot.name}") for plot in result.drawn)
            # Of one experiment among others, all but the summary is a detail.
            notes = texts_as_notes(*(note.text for note in result.notes), scope=result.name)
            sections.append(replace(result.section(), figures=tuple(figures), notes=notes))
        # What cannot be run from here, and how to run it elsewhere.
        about = published("out-of-reach")
        parts = tuple(
            Section(entry["what"], text=(f"{entry['why']}.",), commands=(entry["command"],))
            for entry in about["experiment"]
        )
        last = Section(about["title"], text=(about["text"],), parts=parts, name="out-of-reach")
        rows = [row for result in self.experiments for row in result.published]
        subtitle = f"{plural(len(self.experiments), 'published experiment')}, run again"
        counts = str(StatusCounts(rows))
        return _page("Published experiments, run again", subtitle, [counts], *sections, last)


def _page(title: str, subtitle: str, sentences: Iterable[str], *sections: Section) -> Page:
    headline = tuple(map(Statement, sentences))
    return Page(title, subtitle, headline, sections, limits=LIMITS, topic="Reproduction")


_SUMMARY = (
    ColumnOf("experiment", itemgetter(0)),
    ColumnOf("published numbers", lambda line: line[1].printed, ColumnKind.COUNT, "published"),
    ColumnOf("reproduced", lambda line: line[1].reproduced, ColumnKind.COUNT),
    ColumnOf("differ", lambda line: line[1].differ, ColumnKind.COUNT),
    ColumnOf("not comparable", lambda line: line[1].not_comparable, ColumnKind.COUNT),
    ColumnOf("reason", lambda line: line[1].why),
)
_SUMMARY_CAPTION = "`lmprobe reproduce EXPERIMENT` shows its rows, and what is missing."


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

    def filled(key: str) -> list[str]:
        return [text.format(**values) for text in about.get(key, ())]

    return Reproduction(
        name=name,
        title=about["title"].format(**values),
        paper=about["paper"],
        rows=tuple(rows),
        printed=tables or (comparison_table(rows),),
        finding=about.get("finding", "").format(**values),
        notes=(
            *texts_as_notes(*filled("reading"), kind=NoteKind.COMPARISON),
            *texts_as_notes(*filled("notes")),
        ),
        drawn=drawn,
        details=details or {},
    )


def texts_as_notes(
    *texts: str, kind: NoteKind = NoteKind.METHOD, scope: str = ""
) -> tuple[Note, ...]:
    """Return what an experiment has to say as notes, by default about its method."""
    return tuple(Note(kind, text, scope) for text in texts)


def comparison_table(
    rows: Sequence[ReproducedRow], columns: Sequence[Column] = (), *, name: str = "comparison"
) -> Table:
    """Return one line per row; a column shows the row's attribute or detail of its name.

    By default ours, the interval, what the paper printed, and the status. A column without a
    cell is left out.
    """
    heads = (Column("", key="name"), *(columns or (OURS, INTERVAL, PAPER, STATUS)))
    filled = tuple(
        column for column in heads if any(_cell(row, column.name) is not None for row in rows)
    )
    lines = (tuple(_cell(row, column.name) for column in filled) for row in rows)
    return Table(name, filled, tuple(lines))


def _cell(row: ReproducedRow, key: str) -> Cell:
    if key == STATUS.name:
        return None if row.paper is None else row.status
    cell: Cell = getattr(row, key) if hasattr(row, key) else row.details.get(key)
    return cell


def grid_table(rows: Sequence[ReproducedRow], down: str, across: str) -> Table:
    """Return the values with one line per detail `down` and one column per detail `across`."""
    lines: dict[str, dict[str, float]] = {}
    for row in rows:
        lines.setdefault(str(row.details[down]), {})[str(row.details[across])] = row.value
    headings = dict.fromkeys(str(row.details[across]) for row in rows)
    columns = (Column(down), *(Column(heading, ColumnKind.NUMBER) for heading in headings))
    cells = ((line, *map(values.get, headings)) for line, values in lines.items())
    return Table("values", columns, tuple(cells))


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
