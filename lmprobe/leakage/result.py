"""The answer of every leakage measurement: rows of numbers with verdicts, tables, a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from lmprobe.metrics.association import Floats
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
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
    closing_sections,
    decide,
    json_field,
    table_of,
)
from lmprobe.results.estimate import Claim, EstimateRow
from lmprobe.results.format import format_number, format_percent
from lmprobe.results.result import Result
from lmprobe.stats.rows import mean_of_runs

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


class LeakageMeasure(StrEnum):
    """What a row of a leakage result is."""

    DATASET = "dataset leakage"
    """From the true labels, perturbed to an F1 where the row has one."""
    MODEL = "model leakage"
    BASE = "base leakage"
    """Of the base rates that a language model is compared with."""
    AMPLIFICATION = "leakage amplification"
    """Of the model minus that of the dataset or of the base."""


@dataclass(frozen=True, slots=True, eq=False)
class LeakageRow(EstimateRow):
    """One number: how often the group is guessed, or a difference of two such numbers."""

    json_keys: ClassVar[tuple[str, ...]] = ("measure", "estimate", "rounds", "f1", "over_runs")

    measure: LeakageMeasure = json_field(key="name")
    estimate: Estimate = json_field(flat=True)
    rounds: tuple[float, ...] = ()
    """The value of each round, of each template or of each run."""
    f1: float | None = None
    """Of the model's decisions, or the F1 that the perturbed labels reached."""
    by_row: Floats | None = json_field(default=None, inherited=True)
    """Each example's share of rounds in which it was guessed, NaN where it was never tested.

    It is not written to JSON.
    """
    over_runs: Estimate | None = None
    """The estimate where it is the mean of several training runs: its interval covers them."""


def leakage_row(
    measure: LeakageMeasure,
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
    span = (-1.0, 1.0) if measure is LeakageMeasure.AMPLIFICATION else (0.0, 1.0)
    estimates = [row.estimate for row in rows]
    estimate = mean_of_runs(estimates, span=span, **_verdicts(measure, chance))
    return LeakageRow(
        measure,
        estimate,
        tuple(row.value for row in rows),
        sum(f1) / len(f1) if f1 else None,
        over_runs=estimate,
    )


def _verdicts(measure: LeakageMeasure, chance: float) -> dict[str, Any]:
    """Return what an interval above or below the reference establishes."""
    if measure is LeakageMeasure.AMPLIFICATION:
        return {"above": Verdict.LEAKS_MORE, "below": Verdict.LEAKS_LESS, "reference": 0.0}
    # An attacker that guesses less often than chance has learned nothing.
    return {"above": Verdict.LEAKS, "below": Verdict.UNDECIDED, "reference": chance}


@dataclass(frozen=True, slots=True, eq=False)
class LeakageResult(Result):
    """What labels, predictions or a language model reveal of the group; the last row is the answer.

    `value`, `interval`, `verdict` and `f1` are those of the last row.
    """

    kind: ClassVar[str] = "leakage"
    json_keys: ClassVar[tuple[str, ...]] = ("rows", "groups", "chance", "notes", "provenance")

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
        of_model = any(row.measure is LeakageMeasure.BASE for row in self.rows)
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
        return self.row(LeakageMeasure.MODEL)

    @property
    def dataset(self) -> LeakageRow:
        """The leakage of the true labels, at the model's F1 where there is a model."""
        return self.row(LeakageMeasure.DATASET)

    @property
    def base(self) -> LeakageRow:
        """The leakage of the base rates that a language model is compared with."""
        return self.row(LeakageMeasure.BASE)

    def row(self, measure: LeakageMeasure | str) -> LeakageRow:
        """Return the row of a measure; KeyError where it was not measured."""
        return {row.measure: row for row in self.rows}[LeakageMeasure(measure)]

    def claims(self) -> tuple[Claim, ...]:
        """Return the answer alone: the other rows are what it is compared with."""
        return (Claim(self.rows[-1].estimate, subject=self.rows[-1].measure),)

    def tables(self) -> tuple[Table, ...]:
        """Return the one table."""

        def if_measured(name: str) -> Callable[[LeakageRow], Any]:
            undefined = IntervalStatus.UNDEFINED
            return lambda row: None if row.interval.status is undefined else getattr(row, name)

        runs = " over rows and runs" if self.rows[-1].over_runs else ""
        heading = f"{format_percent(self.interval.confidence)} interval{runs}"
        columns = [
            ColumnOf("measure", "measure"),
            ColumnOf("value", "value", ColumnKind.NUMBER),
            ColumnOf(heading, if_measured("interval"), ColumnKind.RANGE, "interval"),
            ColumnOf("verdict", if_measured("verdict"), ColumnKind.VERDICT),
        ]
        if any(row.f1 is not None for row in self.rows):
            columns.append(ColumnOf("F1", "f1", ColumnKind.NUMBER, "f1"))
        title = f"How often the group is guessed; at random: {format_percent(self.chance)}"
        return (table_of("leakage", self.rows, columns, title=title, empty=True),)

    def page(self) -> Page:
        """Return the report."""
        facts = {key: str(value) for key, value in self.provenance.items() if key != "command"}
        return Page(
            title=f"Leakage of {self.provenance.get('subject', 'labels')}",
            subtitle=f"groups: {', '.join(self.groups)}",
            headline=(Statement(_sentence(self), self.verdict), *map(Statement, _shares(self))),
            sections=(
                Section("Leakage", tables=self.tables(), figures=self._figures()),
                *closing_sections(self.notes, facts, self.provenance.get("command", "")),
            ),
            limits=LIMITS,
            topic="Leakage",
            source="Wang et al. 2019, Balanced Datasets Are Not Enough (ICCV)",
        )

    def _figures(self) -> tuple[Figure, ...]:
        shown = [row for row in self.rows if len(row.rounds) > 1]
        if not shown:
            return ()
        unit = "run" if self.rows[-1].over_runs else "round"
        values = "; ".join(
            f"{row.measure} from {min(row.rounds):.3f} to {max(row.rounds):.3f}" for row in shown
        )
        figure = SeriesPlot(
            name="rounds",
            title=f"The value of each {unit}",
            x_label=unit,
            y_label="value",
            series=tuple(
                Series(
                    row.measure,
                    tuple(map(float, range(1, 1 + len(row.rounds)))),
                    row.rounds,
                    style="points",
                )
                for row in shown
            ),
            alternative=f"Value by {unit}: {values}.",
        )
        return (figure,)


_COMPARED = {LeakageMeasure.BASE: "the base rates", LeakageMeasure.DATASET: "those labels"}


def _shares(result: LeakageResult) -> Iterator[str]:
    """Yield both numbers of a difference, and what is reached by guessing at random."""
    shares = {row.measure: format_percent(row.value) for row in result.rows}
    model = shares.get(LeakageMeasure.MODEL)
    for measure, source in _COMPARED.items():
        if model and measure in shares and result.rows[-1].measure is LeakageMeasure.AMPLIFICATION:
            yield (
                f"The group is guessed right in {model} of cases from the predictions and in "
                f"{shares[measure]} from {source}; at random, in {format_percent(result.chance)}."
            )


def _sentence(result: LeakageResult) -> str:
    row = result.rows[-1]
    difference = row.measure is LeakageMeasure.AMPLIFICATION
    number = format_number(row.value, sign=difference)
    of_base = any(row.measure is LeakageMeasure.BASE for row in result.rows)
    base = "its base rates do" if of_base else "labels of the same accuracy do"
    unsure = f"reveals more of the group than {base}" if difference else "the group can be guessed"
    what = f"not enough evidence that {'the model ' * difference}{unsure}"
    if row.verdict.decisive:
        what = row.verdict.predicate.format(base=base)
    return f"{row.measure} {number}: {what}."
