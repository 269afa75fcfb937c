"""The result of a measurement of disparities: one row per protected group, its table and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from lmprobe.metrics.disparity import MEASURES
from lmprobe.results import (
    Cell,
    ColumnKind,
    ColumnOf,
    Estimate,
    Figure,
    Interval,
    IntervalLine,
    IntervalPlot,
    Note,
    Page,
    Section,
    Sides,
    Statement,
    Table,
    Verdict,
    closing_sections,
    json_field,
    table_of,
)
from lmprobe.results.estimate import Claim, EstimateRow
from lmprobe.results.format import describe_interval, format_number, format_percent, format_signed
from lmprobe.results.result import Result

LIMITS = (
    "A disparity is a difference of mean costs between groups in these rows. It does not show "
    "whether the labels are correct or the rows are a fair sample.",
    "The interval covers the sampling of independent rows; it does not cover other populations, "
    "repeated rows of one person, or other training runs of the model.",
    "Not enough evidence of a difference is not evidence of no difference: see the width of the "
    "interval.",
)
"""What this measures and what it does not; every report carries it."""


class LargestComponent(NamedTuple):
    """The larger of the |TPR| and |FPR| differences, and its interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Disparity(EstimateRow):
    """The mean cost of the protected group minus that of the other, with its interval."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "protected", "measure", "estimate", "mean_costs", "group_sizes", "group_share",
        "components", "largest_component",
    )  # fmt: skip

    protected: str
    """The group, or several joined by " + "."""
    measure: str
    mean_costs: tuple[float, float]
    """Of the protected group and of the other."""
    group_sizes: tuple[int, int]
    """The rows that count, of the protected group and of the other."""
    group_share: float
    """The lower bound on the share of the smaller group that the bound was made with."""
    estimate: Estimate = json_field(flat=True)
    components: tuple[Disparity, ...] = ()
    """For equalized odds: the TPR and FPR differences, whose intervals cover both at once."""

    @property
    def largest_component(self) -> LargestComponent | None:
        """The larger of the |TPR| and |FPR| differences with its interval, or None.

        This is what fairlearn calls the equalized odds difference. The interval covers it
        because those of both components cover at once.
        """
        if not self.components:
            return None
        value = max(abs(component.value) for component in self.components)
        ranges = [_absolute(component.interval) for component in self.components]
        low, high = map(max, zip(*ranges, strict=True))
        ends = Interval(low, high, self.interval.confidence, self.interval.method)
        return LargestComponent(value, ends)


def _absolute(interval: Interval) -> tuple[float, float]:
    """Return the range of |x| for x in the interval."""
    ends = (abs(interval.low), abs(interval.high))
    return (0.0 if 0 in interval else min(ends)), max(ends)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DisparityResult(Result):
    """The result of `group_disparities`: one row per protected group, simultaneous intervals."""

    kind: ClassVar[str] = "disparity"
    limits: ClassVar[tuple[str, ...]] = LIMITS
    json_keys: ClassVar[tuple[str, ...]] = ("rows", "notes", "limits", "provenance")

    rows: tuple[Disparity, ...]
    notes: tuple[Note, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        """What is compared."""
        return self.rows[0].measure

    def validate(self) -> None:
        """Refuse a document without rows."""
        if not self.rows:
            raise ValueError("it has no rows")

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every group; of two groups in turn, the mirrored one too."""
        claims = [Claim(row.estimate, subject=row.protected) for row in self.rows]
        if (mirrored := self.provenance.get("mirrored_group")) is not None:
            claims.append(Claim(_mirrored(self.rows[0].estimate), subject=str(mirrored)))
        return tuple(claims)

    def tables(self) -> tuple[Table, ...]:
        """Return the one table; the components of equalized odds follow their row."""
        measures = any(row.components for row in self.rows)
        columns = (
            ColumnOf("protected", itemgetter(0)),
            ColumnOf("measure", lambda cells: cells[1] if measures else None),
            ColumnOf("rows", itemgetter(2), ColumnKind.COUNT),
            ColumnOf("others", itemgetter(3), ColumnKind.COUNT),
            ColumnOf("value", itemgetter(4), ColumnKind.SIGNED),
            ColumnOf("interval", itemgetter(5), ColumnKind.INTERVAL),
            ColumnOf("verdict", itemgetter(6), ColumnKind.VERDICT),
        )
        cost = _COSTS.get(self.measure)
        title = self.measure + (f": difference in {cost.mean}, {cost.formula}" if cost else "")
        methods = ", ".join(dict.fromkeys(row.interval.method for row in self.rows))
        caption = f"intervals: {methods}, at {format_percent(self.rows[0].interval.confidence)}"
        cells = (line for row in self.rows for line in _cells(row))
        return (table_of("disparity", cells, columns, title=title, caption=caption),)

    def page(self) -> Page:
        """Return the whole report."""
        facts = {key: str(value) for key, value in self.provenance.items() if key != "command"}
        notes = (*self.notes, *(note for row in _all(self.rows) for note in row.notes))
        return Page(
            title=f"Disparity of {self.provenance.get('subject', 'predictions')}",
            subtitle=f"{_mean(self.measure)} of the protected group minus that of all others",
            headline=tuple(
                Statement(_sentence(row), row.verdict)
                for row in _all(self.rows)
                if row in self.rows or row.verdict.decisive
            ),
            sections=(
                Section("Groups", tables=self.tables(), figures=(self._figure(),)),
                *closing_sections(notes, facts, self.provenance.get("command", "")),
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


def _all(rows: tuple[Disparity, ...]) -> Iterator[Disparity]:
    for row in rows:
        yield from (row, *row.components)


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
    for part in (row, *row.components):
        sizes = part.group_sizes
        yield (row.protected, part.measure, *sizes, part.value, part.interval, part.verdict)
    if row.largest_component is not None:
        yield (row.protected, "larger difference", None, None, *row.largest_component, None)


_COSTS = {str(name): measure for name, measure in MEASURES.items()}


def _mean(measure: str) -> str:
    """Return what is compared in words; a measure of one's own is a cost."""
    return _COSTS[measure].mean if measure in _COSTS else "mean cost"


def _sentence(row: Disparity) -> str:
    """Return the mean of both groups and their difference, in words."""
    claim = f"{row.verdict}" if row.verdict.decisive else "not enough evidence of a difference"
    sure = f"{claim} ({format_signed(row.value)}, {describe_interval(row.interval)})"
    shares = format_percent if row.measure in _COSTS else format_number
    own, others = map(shares, row.mean_costs)
    what = f"{row.protected}: the {_mean(row.measure)} is {own}"
    return f"{what}, that of the others {others}: {sure}."
