"""What a check found: every row with its limit, and the outcome that decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from lmprobe.core.direction import Direction
from lmprobe.report.result import Result
from lmprobe.results import Column, ColumnKind, Estimate, Page, Section, Statement, Table, Verdict
from lmprobe.results.claim import Claim
from lmprobe.results.format import describe_interval, format_signed
from lmprobe.results.note import NoteKind


class Outcome(StrEnum):
    """What an interval allows one to say of a limit, the worst first."""

    FAILED = "failed"
    NO_VERDICT = "no_verdict"
    UNDECIDED = "undecided"
    PASSED = "passed"

    @property
    def exit_code(self) -> int:
        """The exit code of `lmprobe check`; 2 is for mistakes in the input, as everywhere."""
        return {"passed": 0, "failed": 1, "undecided": 3, "no_verdict": 4}[self.value]

    @property
    def label(self) -> str:
        """The outcome for a table."""
        labels = {Outcome.UNDECIDED: "not enough evidence", Outcome.NO_VERDICT: "no verdict"}
        return labels.get(self, self.value)


_REASONS = {
    Outcome.PASSED: "the whole interval is at or below the limit",
    Outcome.FAILED: "the whole interval is above the limit",
    Outcome.UNDECIDED: "the interval contains the limit, so the value may lie on either side; "
    "more data makes the interval shorter",
}
# How an outcome is coloured.
_VERDICTS = {
    Outcome.PASSED: Verdict.LOWER,
    Outcome.FAILED: Verdict.HIGHER,
    Outcome.UNDECIDED: Verdict.UNDECIDED,
    Outcome.NO_VERDICT: Verdict.UNINFORMED,
}


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """One number held against the largest value that is allowed."""

    claim: Claim
    limit: float
    exact: bool = False
    """Whether the number is compared as it is, without an interval."""

    @property
    def outcome(self) -> Outcome:
        """What the interval allows one to say; a value alone decides nothing."""
        estimate = self.claim.estimate
        if estimate.obstacle is not None:
            return Outcome.NO_VERDICT
        if estimate.interval.high <= self.limit:
            return Outcome.PASSED
        if estimate.interval.low > self.limit:
            return Outcome.FAILED
        return Outcome.UNDECIDED

    @property
    def reason(self) -> str:
        """Why the outcome is so, and whether the model would have given other answers."""
        obstacle, notes = self.claim.estimate.obstacle, self.claim.estimate.notes
        reason = _REASONS[self.outcome] if obstacle is None else obstacle.reason
        return "; ".join([reason, *(note.text for note in notes if note.kind is NoteKind.MASS)])

    @property
    def explanation(self) -> str:
        """The outcome in one sentence."""
        estimate = self.claim.estimate
        if self.exact:
            side = "at or below" if self.outcome is Outcome.PASSED else "above"
            return (
                f"{self.claim.label}: {estimate.value:.4g}, limit {self.limit:.4g}: "
                f"{self.outcome.label}; it is {side} the limit"
            )
        return (
            f"{self.claim.label}: {format_signed(estimate.claimed)}, "
            f"{describe_interval(estimate.interval)}, limit {format_signed(self.limit)}: "
            f"{self.outcome.label}; {self.reason}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "subject": self.claim.subject,
            "base": self.claim.base,
            "direction": self.claim.direction,
            **self.claim.estimate.to_dict(),
            "max": self.limit,
            "exact": self.exact,
            "outcome": self.outcome,
            "explanation": self.explanation,
        }

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> CheckedRow:
        """Read the JSON form."""
        direction = None if row["direction"] is None else Direction(row["direction"])
        claim = Claim(Estimate.from_dict(row), row["base"], direction, row["subject"])
        return cls(claim, row["max"], row.get("exact", False))


@dataclass(frozen=True, slots=True)
class CheckResult(Result):
    """Every row that was checked; the worst outcome is that of the whole."""

    kind: ClassVar[str] = "check"

    rows: tuple[CheckedRow, ...]
    relative: bool = False
    """Whether the values are differences from another result."""

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of any row."""
        outcomes = {row.outcome for row in self.rows}
        return next(outcome for outcome in Outcome if outcome in outcomes)

    @property
    def passed(self) -> bool:
        """Whether every row passed."""
        return self.outcome is Outcome.PASSED

    @property
    def exit_code(self) -> int:
        """The exit code of `lmprobe check`."""
        return self.outcome.exit_code

    def claims(self) -> tuple[Claim, ...]:
        """Return the numbers that were checked."""
        return tuple(row.claim for row in self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Return every row with its limit and outcome."""
        value = "difference" if self.relative else "value"
        columns = (
            Column("checked"),
            Column(value, ColumnKind.SIGNED),
            Column("interval", ColumnKind.INTERVAL),
            Column("limit", ColumnKind.SIGNED),
            Column("outcome"),
        )
        estimates = [row.claim.estimate for row in self.rows]
        cells = tuple(
            (row.claim.label, estimate.claimed, estimate.interval, row.limit, row.outcome.label)
            for row, estimate in zip(self.rows, estimates, strict=True)
        )
        return (Table("rows", columns, cells),)

    def page(self) -> Page:
        """Return the report: the outcome, then every row."""
        what = "The change since another result" if self.relative else "The result"
        worst = next(row for row in self.rows if row.outcome is self.outcome)
        headline = f"{what}: {self.outcome.label}; {worst.reason}."
        return Page(
            title="Checked against a limit",
            subtitle="",
            headline=(Statement(headline, _VERDICTS[self.outcome]),),
            sections=(Section("Rows", tables=self.tables()),),
            limits=("A limit passed says nothing about what the limit should be.",),
            name="check",
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "relative": self.relative,
            "rows": [row.to_dict() for row in self.rows],
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Self:
        """Read the JSON form."""
        rows = tuple(CheckedRow.from_dict(row) for row in document["rows"])
        return cls(rows, document["relative"])
