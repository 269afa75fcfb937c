"""What became of a published number, and how many of an experiment are reproduced."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from lmprobe.errors import plural


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


@dataclass(frozen=True, slots=True)
class Tally:
    """How many published numbers have each status, and why some cannot be compared."""

    reproduced: int = 0
    differ: int = 0
    reasons: Counter[Reason] = field(default_factory=Counter)

    def __add__(self, other: Tally) -> Tally:
        """Return the counts of both."""
        reproduced, differ = self.reproduced + other.reproduced, self.differ + other.differ
        return Tally(reproduced, differ, self.reasons + other.reasons)

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
        verb = "is" if 1 in (self.reproduced, self.printed) else "are"
        numbers = plural(self.reproduced, "published number", of=self.printed)
        parts = [f"{numbers} {verb} reproduced"]
        if self.differ:
            parts.append(f"{self.differ} {'differs' if self.differ == 1 else 'differ'}")
        if self.not_comparable:
            verb = "is" if self.not_comparable == 1 else "are"
            parts.append(f"{self.not_comparable} {verb} not comparable ({self.why})")
        return f"{', '.join(parts)}."
