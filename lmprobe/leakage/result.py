"""The answer of every leakage measurement: rows of numbers with verdicts, tables, a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from lmprobe.metrics.association import Floats
from lmprobe.results import (
    Column,
    ColumnKind,
    Estimate,
    Figure,
    Interval,
    IntervalStatus,
    Note,
    NoteKind,
    Page,
    Section,
    Series,
    SeriesPlot,
    Statement,
    Table,
    Verdict,
    decide,
)
from lmprobe.results.estimate import Claim
from lmprobe.results.format import format_number, format_percent
from lmprobe.results.result import Result
from lmprobe.stats.verdicts import mean_of_runs

LIMITS = (
    "Leakage is how often an attacker guesses the group of a held-out example, with the groups in "
    "equal numbers. It is a lower bound: a better attacker might guess more.",
    "The interval covers the drawing of examples, the initialisation of the attackers and the "
    "sampling of test rows; it does not cover another train set or data collected elsewhere.",
    "That the group can be guessed does not show harm, and a leakage near chance does not show "
    "that a product is fair.",
)

ASSUMPTIONS = (Note(NoteKind.ASSUMPTION, " ".join(LIMITS[:2])),)
"""What the terminal says beside every leakage."""


class Measure(StrEnum):
    """What a row of a leakage result is."""

    DATASET = "dataset leakage"
    """From the true labels, perturbed to an F1 where the row has one."""
    MODEL = "model leakage"
    BASE = "base leakage"
    """Of the base rates that a language model is compared with."""
    AMPLIFICATION = "leakage amplification"
    """Of the model minus that of the dataset or of the base."""


@dataclass(frozen=True, slots=True, eq=False)
class LeakageRow:
    """One number: how often the group is guessed, or a difference of two such numbers."""

    measure: Measure
    estimate: Estimate
    rounds: tuple[float, ...] = ()
    """The value of each round, of each template or of each run."""
    f1: float | None = None
    """Of the model's decisions, or the F1 that the perturbed labels reached."""
    by_row: Floats | None = None
    """Each example's share of rounds in which it was guessed, NaN where it was never tested."""
    runs: int = 1
    """How many training runs it is the mean of; the interval covers them too."""

    @property
    def over_runs(self) -> Estimate | None:
        """The estimate where there are several training runs."""
        return self.estimate if self.runs > 1 else None

    @property
    def name(self) -> str:
        """What the row is called in JSON and tables."""
        return self.measure.value

    @property
    def value(self) -> float:
        """The mean over rounds."""
        return self.estimate.value

    @property
    def interval(self) -> Interval:
        """The interval of the value."""
        return self.estimate.interval

    @property
    def verdict(self) -> Verdict:
        """What the interval allows to be claimed."""
        return self.estimate.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        document = {"name": self.name, **self.estimate.to_dict()}
        over_runs = self.over_runs and self.over_runs.to_dict()
        return document | {"rounds": list(self.rounds), "f1": self.f1, "over_runs": over_runs}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> LeakageRow:
        """Read the JSON form."""
        rounds = tuple(document["rounds"])
        return cls(
            Measure(document["name"]),
            Estimate.from_dict(document),
            rounds,
            document["f1"],
            runs=1 if document.get("over_runs") is None else len(rounds),
        )


def leakage_row(
    measure: Measure,
    value: float,
    interval: Interval,
    rounds: Sequence[float],
    *,
    chance: float = math.nan,
    f1: float | None = None,
    by_row: Floats | None = None,
    corrected: float | None = None,
) -> LeakageRow:
    """Return a row with the verdict that follows from its interval.

    `chance` is what a leakage is compared with; a difference is compared with zero, and a
    leakage without an interval with nothing.
    """
    verdict = decide(interval, **_verdicts(measure, chance))
    bias = None if corrected is None else value - corrected
    estimate = Estimate(value, interval, verdict, corrected, bias)
    return LeakageRow(measure, estimate, tuple(rounds), f1, by_row)


def mean_row(rows: Sequence[LeakageRow], chance: float) -> LeakageRow:
    """Return the mean of the same row of several training runs."""
    measure, f1 = rows[0].measure, [row.f1 for row in rows if row.f1 is not None]
    span = (-1.0, 1.0) if measure is Measure.AMPLIFICATION else (0.0, 1.0)
    estimates = [row.estimate for row in rows]
    return LeakageRow(
        measure,
        mean_of_runs(estimates, span=span, **_verdicts(measure, chance)),
        tuple(row.value for row in rows),
        sum(f1) / len(f1) if f1 else None,
        runs=len(rows),
    )


def _verdicts(measure: Measure, chance: float) -> dict[str, Any]:
    """Return what an interval above or below the reference establishes."""
    if measure is Measure.AMPLIFICATION:
        return {"above": Verdict.LEAKS_MORE, "below": Verdict.LEAKS_LESS, "reference": 0.0}
    # An attacker that guesses less often than chance has learned nothing.
    return {"above": Verdict.LEAKS, "below": Verdict.UNDECIDED, "reference": chance}


@dataclass(frozen=True, slots=True, eq=False)
class LeakageResult(Result):
    """What labels, predictions or a language model reveal of the group; the last row is the answer.

    `value`, `interval`, `verdict` and `f1` are those of the last row.
    """

    kind: ClassVar[str] = "leakage"

    rows: tuple[LeakageRow, ...]
    groups: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The answer: a leakage, or a leakage amplification."""
        return self.rows[-1].value

    @property
    def interval(self) -> Interval:
        """The interval of the answer."""
        return self.rows[-1].interval

    @property
    def verdict(self) -> Verdict:
        """What the interval allows to be claimed."""
        return self.rows[-1].verdict

    @property
    def rounds(self) -> tuple[float, ...]:
        """The answer in each round; of a language model, its leakage in each template."""
        of_model = any(row.measure is Measure.BASE for row in self.rows)
        return self.model.rounds if of_model else self.rows[-1].rounds

    @property
    def f1(self) -> float | None:
        """The F1 that the answer was measured at."""
        return self.rows[-1].f1

    @property
    def chance(self) -> float:
        """The accuracy of guessing at random: one over the number of groups."""
        return 1 / len(self.groups)

    @property
    def model(self) -> LeakageRow:
        """The leakage of the model."""
        return self.row(Measure.MODEL)

    @property
    def dataset(self) -> LeakageRow:
        """The leakage of the true labels, at the model's F1 where there is a model."""
        return self.row(Measure.DATASET)

    @property
    def base(self) -> LeakageRow:
        """The leakage of the base rates that a language model is compared with."""
        return self.row(Measure.BASE)

    def row(self, measure: Measure | str) -> LeakageRow:
        """Return the row of a measure; KeyError where it was not measured."""
        return {row.measure: row for row in self.rows}[Measure(measure)]

    def claims(self) -> tuple[Claim, ...]:
        """Return the answer alone: the other rows are what it is compared with."""
        return (Claim(self.rows[-1].estimate, subject=self.rows[-1].name),)

    def tables(self) -> tuple[Table, ...]:
        """Return the one table."""
        percent = f"{format_percent(self.interval.confidence)} interval"
        several = " over rows and runs" if self.rows[-1].runs > 1 else ""
        with_f1 = any(row.f1 is not None for row in self.rows)
        columns = [
            Column("measure"),
            Column("value", ColumnKind.NUMBER),
            Column(percent + several, ColumnKind.RANGE, "interval"),
            Column("verdict", ColumnKind.VERDICT),
        ]
        if with_f1:
            columns.append(Column("F1", ColumnKind.NUMBER, key="f1"))
        rows = []
        for row in self.rows:
            without = row.interval.status is IntervalStatus.UNDEFINED
            cells: list[Any] = [row.name, row.value, *_cells(None if without else row.estimate)]
            rows.append((*cells, row.f1) if with_f1 else tuple(cells))
        title = f"How often the group is guessed; at random: {format_percent(self.chance)}"
        return (Table("leakage", tuple(columns), tuple(rows), title=title),)

    def page(self) -> Page:
        """Return the report."""
        command = self.provenance.get("command")
        facts = {key: str(value) for key, value in self.provenance.items() if key != "command"}
        return Page(
            title=f"Leakage of {self.provenance.get('subject', 'labels')}",
            subtitle=f"groups: {', '.join(self.groups)}",
            headline=(Statement(_sentence(self.rows[-1]), self.verdict),),
            sections=(
                Section("Leakage", tables=self.tables(), figures=self._figures()),
                Section("Notes", notes=self.notes),
                Section("Provenance", facts=facts, collapsed=True),
                *([Section("Run it again", commands=(command,))] if command else []),
            ),
            limits=LIMITS,
            topic="Leakage",
            source="Wang et al. 2019, Balanced Datasets Are Not Enough (ICCV)",
        )

    def _figures(self) -> tuple[Figure, ...]:
        shown = [row for row in self.rows if len(row.rounds) > 1]
        if not shown:
            return ()
        unit = "run" if self.rows[-1].runs > 1 else "round"
        values = "; ".join(
            f"{row.name} from {min(row.rounds):.3f} to {max(row.rounds):.3f}" for row in shown
        )
        numbers = [tuple(map(float, range(1, len(row.rounds) + 1))) for row in shown]
        figure = SeriesPlot(
            name="rounds",
            title=f"The value of each {unit}",
            x_label=unit,
            y_label="value",
            series=tuple(
                Series(row.name, x, row.rounds, style="points")
                for row, x in zip(shown, numbers, strict=True)
            ),
            alternative=f"Value by {unit}: {values}.",
        )
        return (figure,)

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "groups": list(self.groups),
            "chance": self.chance,
            "notes": [note.to_dict() for note in self.notes],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> LeakageResult:
        """Read the JSON form."""
        return cls(
            tuple(LeakageRow.from_dict(row) for row in document["rows"]),
            tuple(document["groups"]),
            tuple(Note.from_dict(note) for note in document["notes"]),
            document["provenance"],
        )


def _cells(estimate: Estimate | None) -> tuple[Interval | None, Verdict | None]:
    return (None, None) if estimate is None else (estimate.interval, estimate.verdict)


def _sentence(row: LeakageRow) -> str:
    number = format_number(row.value, sign=row.measure is Measure.AMPLIFICATION)
    decided = row.verdict.decisive
    what = row.verdict.predicate if decided else "not enough evidence that the group can be guessed"
    return f"{row.name} {number}: {what}."
