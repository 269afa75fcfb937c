"""The interval that every method returns, and why one has no ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class IntervalStatus(StrEnum):
    """Whether an interval has both its ends, and if not, why."""

    OK = "ok"
    UNBOUNDED = "unbounded"
    """An end is infinite: the method gives no bound on that side."""
    UNDEFINED = "undefined"
    """The method does not apply, or the resamples show no spread."""
    TOO_FEW_UNITS = "too_few_units"
    """There is one unit only, so its spread cannot be estimated."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval: its ends, confidence level, method and status.

    An end may be infinite (the method gives no bound on that side) or NaN (the method does
    not apply); `status` says why.
    """

    low: float
    high: float
    confidence: float
    method: str
    status: IntervalStatus = IntervalStatus.OK

    def __post_init__(self) -> None:
        """Derive the status from the ends where the caller did not name a reason."""
        status = IntervalStatus(self.status)
        if math.isnan(self.low) or math.isnan(self.high):
            status = IntervalStatus.UNDEFINED
        elif status is IntervalStatus.OK and not (
            math.isfinite(self.low) and math.isfinite(self.high)
        ):
            status = IntervalStatus.UNBOUNDED
        object.__setattr__(self, "status", status)

    @classmethod
    def undefined(cls, confidence: float, method: str) -> Interval:
        """Return an interval with undefined ends: the method does not apply."""
        return cls(math.nan, math.nan, confidence, method, IntervalStatus.UNDEFINED)

    @classmethod
    def too_few_units(cls, confidence: float, method: str) -> Interval:
        """Return the interval from a single unit: unbounded."""
        return cls(-math.inf, math.inf, confidence, method, IntervalStatus.TOO_FEW_UNITS)

    @property
    def bounded(self) -> bool:
        """Whether at least one end is a number, so that the interval says something."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    @property
    def width(self) -> float:
        """The length of the range."""
        return self.high - self.low

    def clipped(self, low: float, high: float) -> Interval:
        """Return the part inside the range of the quantity; an end that is missing stays so."""

        def inside(end: float) -> float:
            return end if math.isinf(end) else min(max(end, low), high)

        return replace(self, low=inside(self.low), high=inside(self.high))

    def __contains__(self, value: float) -> bool:
        """Tell whether `value` lies in the range, ends included."""
        return self.low <= value <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: an end that is not a finite number is null."""
        ends = [end if math.isfinite(end) else None for end in (self.low, self.high)]
        return {
            "low": ends[0],
            "high": ends[1],
            "confidence": self.confidence,
            "method": self.method,
            "status": self.status.value,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Interval:
        """Read the JSON form; version 1 had no status, and its open ends were infinite."""
        status = IntervalStatus(document.get("status", IntervalStatus.OK))
        undefined = status is IntervalStatus.UNDEFINED
        low, high = document["low"], document["high"]
        interval = cls(
            (math.nan if undefined else -math.inf) if low is None else low,
            (math.nan if undefined else math.inf) if high is None else high,
            document["confidence"],
            document["method"],
            status,
        )
        if interval.low > interval.high or not 0 < interval.confidence <= 1:
            raise ValueError(f"no interval: {dict(document)}")
        return interval
