"""The interval that every method returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that holds the true value with the stated confidence, by the named method.

    An end may be infinite (nothing is known on that side) or NaN (the method does not
    apply): a range that claims too much is worse than none.
    """

    low: float
    high: float
    confidence: float
    method: str

    @property
    def width(self) -> float:
        """The length of the range."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        """Tell whether `value` lies in the range, ends included."""
        return self.low <= value <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: an undefined or infinite end is null."""
        ends = [end if math.isfinite(end) else None for end in (self.low, self.high)]
        return {
            "low": ends[0],
            "high": ends[1],
            "confidence": self.confidence,
            "method": self.method,
        }
