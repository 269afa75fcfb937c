"""What a measurement of disparities found: one row per protected group, its table and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

from lmprobe.metrics.disparity import MEASURES
from lmprobe.results import (
    Cell,
    Column,
    ColumnKind,
    Estimate,
    Interval,
    Note,
    Page,
    Section,
    Statement,
    Table,
    Verdict,
)
from lmprobe.results.estimate import Claim
from lmprobe.results.figure import Figure, IntervalLine, IntervalPlot, Sides
from lmprobe.results.format import describe_interval, format_percent, format_signed
from lmprobe.results.result import Result

T = TypeVar("T")

LIMITS = (
    "A disparity is a difference of mean costs between groups in these rows. It does not show "
    "whether the labels are correct or the rows are a fair sample.",
    "The interval covers the sampling of independent rows; it does not cover other populations, "
    "repeated rows of one person, or other training runs of the model.",
    "Not enough evidence of a difference is not evidence of no difference: see the width of the "
    "interval.",
)
"""What this measures and what it does not; every report carries it."""

_COLUMNS: tuple[Column, ...] = (
    Column("protected"),
    Column("measure"),
    Column("rows", ColumnKind.COUNT),
    Column("others", ColumnKind.COUNT),
    Column("value", ColumnKind.SIGNED),
    Column("interval", ColumnKind.INTERVAL),
    Column("verdict", ColumnKind.VERDICT),
)


@dataclass(frozen=True, slots=True)
class Disparity:
    """The mean cost of the protected group minus that of the other, with its interval."""

    protected: str
    """The group, or several joined by " + "."""
    measure: str
    estimate: Estimate
    mean_costs: tuple[float, float]
    """Of the protected group and of the other."""
    group_sizes: tuple[int, int]
    """The rows that count, of the protected group and of the other."""
    group_share: float
    """The lower bound on the share of the smaller group that the bound was made with."""
    components: tuple[Disparity, ...] = ()
    """For equalized odds: the TPR and FPR differences, whose intervals cover both at once."""

    @property
    def value(self) -> float:
        """The mean cost of the protected group minus that of the other."""
        return self.estimate.value

    @property
    def interval(self) -> Interval:
        """The interval of the value."""
        return self.estimate.interval

    @property
    def verdict(self) -> Verdict:
        """What the interval allows to be claimed."""
        return self.estimate.verdict

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know beside the value."""
        return self.estimate.notes

    @property
    def largest_component(self) -> tuple[float, Interval] | None:
        """The larger of the |TPR| and |FPR| differences with its interval, or None.

        This is what fairlearn calls the equalized odds difference. The interval covers it
        because those of both components cover at once.
        """
        if not self.components:
            return None
        value = max(abs(component.value) for component in self.components)
        ranges = [_absolute(component.interval) for component in self.components]
        low, high = max(low for low, _ in ranges), max(high for _, high in ranges)
        return value, Interval(low, high, self.interval.confidence, self.interval.method)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        largest = self.largest_component
        return {
            "protected": self.protected,
            "measure": self.measure,
            **self.estimate.to_dict(),
            "mean_costs": list(self.mean_costs),
            "group_sizes": list(self.group_sizes),
            "group_share": self.group_share,
            "components": [component.to_dict() for component in self.components],
            "largest_component": None
            if largest is None
            else {"value": largest[0], "interval": largest[1].to_dict()},
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Disparity:
        """Read the JSON form."""
        protected, other = document["mean_costs"]
        sizes = document["group_sizes"]
        return cls(
            str(document["protected"]),
            str(document["measure"]),
            Estimate.from_dict(document),
            (float(protected), float(other)),
            (int(sizes[0]), int(sizes[1])),
            float(document["group_share"]),
            tuple(cls.from_dict(component) for component in document["components"]),
        )


def _absolute(interval: Interval) -> tuple[float, float]:
    """Return the range of |x| for x in the interval."""
    ends = (abs(interval.low), abs(interval.high))
    return (0.0 if 0 in interval else min(ends)), max(ends)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DisparityResult(Result):
    """The result of `group_disparities`: one row per protected group, simultaneous intervals."""

    kind: ClassVar[str] = "disparity"

    rows: tuple[Disparity, ...]
    notes: tuple[Note, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """What is compared."""
        return self.rows[0].measure

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every group; of two groups in turn, the mirrored one too."""
        claims = [Claim(row.estimate, subject=row.protected) for row in self.rows]
        if (mirrored := self.provenance.get("mirrored_group")) is not None:
            claims.append(Claim(_mirrored(self.rows[0].estimate), subject=str(mirrored)))
        return tuple(claims)

    def tables(self) -> tuple[Table, ...]:
        """Return the one table; the components of equalized odds follow their row."""
        rows = tuple(cells for row in self.rows for cells in _cells(row))
        columns = _COLUMNS
        if not any(row.components for row in self.rows):
            columns, rows = _without_measure(columns), tuple(map(_without_measure, rows))
        known = {str(name): measure.description for name, measure in MEASURES.items()}
        title = ": ".join([self.measure, *([known[self.measure]] if self.measure in known else [])])
        methods = ", ".join(dict.fromkeys(row.interval.method for row in self.rows))
        confidence = format_percent(self.rows[0].interval.confidence)
        caption = f"intervals: {methods}, at {confidence}"
        return (Table("disparity", columns, rows, title=title, caption=caption),)

    def page(self) -> Page:
        """Return the whole report."""
        command = self.provenance.get("command")
        facts = {key: str(value) for key, value in self.provenance.items() if key != "command"}
        notes = dict.fromkeys(note for row in _all(self.rows) for note in row.notes)
        return Page(
            title=f"Disparity of {self.provenance.get('subject', 'predictions')}",
            subtitle="mean cost of the protected group minus that of all others",
            headline=tuple(
                Statement(_sentence(row), row.verdict)
                for row in _all(self.rows)
                if row in self.rows or row.verdict.decisive
            ),
            sections=(
                Section("Groups", tables=self.tables(), figures=(self._figure(),)),
                Section("Notes", notes=(*self.notes, *notes)),
                Section("Provenance", facts=facts, collapsed=True),
                *([Section("Run it again", commands=(command,))] if command else []),
            ),
            limits=LIMITS,
            source="Ethayarajh 2020, Is Your Classifier Actually Biased? (ACL)",
        )

    def _figure(self) -> Figure:
        lines = tuple(
            IntervalLine(
                row.protected if row.measure == self.measure else f"{row.protected}, {row.measure}",
                row.value,
                row.interval,
                row.verdict.tone,
            )
            for row in _all(self.rows)
        )
        return IntervalPlot(
            name="disparities",
            title=f"{self.measure}, protected group minus others",
            alternative=" ".join(_sentence(row) for row in self.rows),
            lines=lines,
            sides=Sides("lower", "higher"),
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "notes": [note.to_dict() for note in self.notes],
            "limits": list(LIMITS),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Self:
        """Read the JSON form."""
        if not document["rows"]:
            raise ValueError("it has no rows")
        return cls(
            tuple(Disparity.from_dict(row) for row in document["rows"]),
            tuple(Note.from_dict(note) for note in document["notes"]),
            document["provenance"],
        )


def _all(rows: tuple[Disparity, ...]) -> Iterator[Disparity]:
    for row in rows:
        yield row
        yield from row.components


def _mirrored(estimate: Estimate) -> Estimate:
    """Return the disparity with the other group of two as the protected one."""
    ends = estimate.interval
    turned = {Verdict.HIGHER: Verdict.LOWER, Verdict.LOWER: Verdict.HIGHER}
    return replace(
        estimate,
        value=-estimate.value,
        interval=replace(ends, low=-ends.high, high=-ends.low),
        verdict=turned.get(estimate.verdict, estimate.verdict),
    )


def _cells(row: Disparity) -> Iterator[tuple[Cell, ...]]:
    for each in (row, *row.components):
        sizes = each.group_sizes
        yield (row.protected, each.measure, *sizes, each.value, each.interval, each.verdict)
    if row.largest_component is not None:
        value, interval = row.largest_component
        yield (row.protected, "larger difference", None, None, value, interval, None)


def _without_measure(cells: tuple[T, ...]) -> tuple[T, ...]:
    return cells[:1] + cells[2:]


def _sentence(row: Disparity) -> str:
    claim = "not enough evidence of a difference"
    if row.verdict.decisive:
        claim = row.verdict.predicate.format(base="for the others").removeprefix("is ")
    interval = describe_interval(row.interval)
    return f"{row.protected}: {row.measure} {format_signed(row.value)}, {claim} ({interval})."
