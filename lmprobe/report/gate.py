"""Tells whether a result passes a limit: below, above, or not enough evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lmprobe.report.words import ends, percent, signed
from lmprobe.result import ProbeRow

Outcome = Literal["passed", "failed", "not enough evidence"]


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """One row held against the largest value that is allowed.

    It passes only when the whole interval lies at or below the limit, and fails only when the
    whole interval lies above it. A value alone decides nothing.
    """

    row: ProbeRow
    limit: float

    @property
    def outcome(self) -> Outcome:
        """What the interval allows one to say."""
        if self.row.interval.high <= self.limit:
            return "passed"
        if self.row.interval.low > self.limit:
            return "failed"
        return "not enough evidence"

    @property
    def explanation(self) -> str:
        """The outcome in one sentence."""
        row = self.row
        said = {
            "passed": "the whole interval is at or below the limit",
            "failed": "the whole interval is above the limit",
            "not enough evidence": "the interval holds the limit, so the value may lie on either "
            "side; more templates or tasks make the interval shorter",
        }[self.outcome]
        return (
            f"{row.base}, {row.direction}: {signed(row.value)}, "
            f"{percent(row.interval.confidence)} interval {ends(row.interval)}, "
            f"limit {signed(self.limit)}: {self.outcome}; {said}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "base": self.row.base,
            "direction": self.row.direction,
            "value": self.row.value,
            "interval": self.row.interval.to_dict(),
            "max": self.limit,
            "outcome": self.outcome,
            "explanation": self.explanation,
        }
