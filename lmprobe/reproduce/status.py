"""Whether a published number is reproduced: decided here, from what is known about the row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmprobe.reproduce.experiment import ReproducedRow


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


def decide_status(
    value: float,
    paper: float | None,
    *,
    decimals: int | None = None,
    spread: float | None = None,
    reason: Reason | None = None,
) -> Status:
    """Return the status of our `value` beside the number that the paper printed.

    Parameters
    ----------
    decimals
        How many decimals the paper printed; by default as many as `paper` needs.
    spread
        The standard deviation over repetitions that the paper printed beside the number.
    reason
        Why they cannot be compared.

    >>> decide_status(0.0333, 0.033).value, decide_status(0.0974, 0.0975).value
    ('reproduced', 'differs')
    >>> decide_status(68.42, 68.26, spread=0.31).value
    'reproduced'
    """
    if reason is not None or paper is None:
        return Status.NOT_COMPARABLE
    if decimals is None:
        decimals = _decimals(paper)
    # A tie may be rounded either way; the last bits of a float decide nothing.
    allowed = max(0.5 * 10.0**-decimals, spread or 0.0) + 1e-12 * max(1.0, abs(paper))
    return Status.REPRODUCED if abs(value - paper) <= allowed else Status.DIFFERS


def _decimals(number: float) -> int:
    """Return the decimals of a number in its shortest form, at least one unless it is an int."""
    exponent = Decimal(repr(number)).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


@dataclass(frozen=True, slots=True)
class Tally:
    """How many published numbers have each status, and why some cannot be compared."""

    reproduced: int
    differ: int
    reasons: Counter[Reason]

    @property
    def not_comparable(self) -> int:
        """How many published numbers ours cannot be compared with."""
        return self.reasons.total()

    @property
    def printed(self) -> int:
        """How many numbers were published."""
        return self.reproduced + self.differ + self.not_comparable

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
        numbers = "number" if self.printed == 1 else "numbers"
        verb = "is" if 1 in (self.reproduced, self.printed) else "are"
        parts = [f"{self.reproduced} of {self.printed} published {numbers} {verb} reproduced"]
        if self.differ:
            parts.append(f"{self.differ} {'differs' if self.differ == 1 else 'differ'}")
        if self.not_comparable:
            verb = "is" if self.not_comparable == 1 else "are"
            parts.append(f"{self.not_comparable} {verb} not comparable ({self.why})")
        return f"{', '.join(parts)}."


def count_statuses(rows: Iterable[ReproducedRow]) -> Tally:
    """Count the published numbers among the rows of one experiment.

    Rows of the same name belong to one number; the first is by the paper's own method.
    """
    first: dict[str, ReproducedRow] = {}
    for row in rows:
        if row.paper is not None:
            first.setdefault(row.name, row)
    statuses = Counter(row.status for row in first.values())
    reasons = Counter(row.reason for row in first.values() if row.reason is not None)
    return Tally(statuses[Status.REPRODUCED], statuses[Status.DIFFERS], reasons)


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """Return the counts of several experiments together."""
    total = Tally(0, 0, Counter())
    for tally in tallies:
        reproduced, differ = total.reproduced + tally.reproduced, total.differ + tally.differ
        total = Tally(reproduced, differ, total.reasons + tally.reasons)
    return total
