"""The confidence interval of a number, and the verdict that follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar


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

    json_nan: ClassVar[str | None] = None

    low: float
    high: float
    confidence: float
    method: str
    status: IntervalStatus = IntervalStatus.OK

    def __post_init__(self) -> None:
        """Derive the status from the ends where the caller did not name a reason."""
        status = IntervalStatus(self.status)
        if status in (IntervalStatus.UNBOUNDED, IntervalStatus.TOO_FEW_UNITS):
            # In JSON an infinite end is null, as an undefined one is.
            object.__setattr__(self, "low", -math.inf if math.isnan(self.low) else self.low)
            object.__setattr__(self, "high", math.inf if math.isnan(self.high) else self.high)
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
        """Return the part of the interval within the range that its quantity can have."""
        if self.status is not IntervalStatus.OK:
            return self
        ends = min(max(self.low, low), high), max(min(self.high, high), low)
        return Interval(*ends, self.confidence, self.method)

    def widened(self, value: float, independent: Interval) -> Interval:
        """Return the interval around `value` with an independent error added in quadrature."""
        undefined = independent.status is IntervalStatus.UNDEFINED
        half = 0.0 if undefined else independent.width / 2
        low, high = math.hypot(value - self.low, half), math.hypot(self.high - value, half)
        return replace(self, low=value - low, high=value + high)

    def __contains__(self, value: float) -> bool:
        """Tell whether `value` lies in the range, ends included."""
        return self.low <= value <= self.high

    def validate(self) -> None:
        """Refuse ends in the wrong order and a confidence that is no probability."""
        if self.low > self.high or not 0 < self.confidence <= 1:
            raise ValueError(f"no interval: {self}")

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


class Tone(StrEnum):
    """Which way a verdict points; renderers choose colours by it, never by the words."""

    PLUS = "plus"
    MINUS = "minus"
    EVEN = "even"
    WARNING = "warning"


class Verdict(StrEnum):
    """What an interval establishes; the values are the names used in JSON."""

    AMPLIFIES = "amplifies"
    REDUCES = "reduces"
    FOLLOWS = "follows"
    OPPOSES = "opposes"
    EQUIVALENT = "equivalent"
    DIFFERS = "differs"
    HIGHER = "higher"
    LOWER = "lower"
    LEAKS = "leaks"
    LEAKS_MORE = "leaks_more"
    LEAKS_LESS = "leaks_less"
    UNEVEN = "uneven"
    UNDECIDED = "undecided"
    UNINFORMED = "uninformed"

    @property
    def words(self) -> VerdictWords:
        """The words for the verdict."""
        return _WORDS[self]

    @property
    def label(self) -> str:
        """The verdict in two or three words, for a table."""
        return self.words.label

    @property
    def tone(self) -> Tone:
        """The sign of the verdict, for colours."""
        return self.words.tone

    @property
    def decisive(self) -> bool:
        """Whether the verdict is a claim, not a lack of evidence."""
        return self.tone in (Tone.PLUS, Tone.MINUS) or self is Verdict.EQUIVALENT


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """The words of one verdict: `label` for a cell, `predicate` for a sentence about `{base}`."""

    label: str
    predicate: str
    tone: Tone


_WORDS = {
    Verdict.AMPLIFIES: VerdictWords("amplifies", "exaggerates the links in {base}", Tone.PLUS),
    Verdict.REDUCES: VerdictWords("reduces", "weakens the links in {base}", Tone.MINUS),
    Verdict.FOLLOWS: VerdictWords("follows", "follows the lean given for {base}", Tone.PLUS),
    Verdict.OPPOSES: VerdictWords("opposes", "goes against the lean given for {base}", Tone.MINUS),
    Verdict.EQUIVALENT: VerdictWords(
        "equivalent", "differs from {base} by less than the margin", Tone.EVEN
    ),
    Verdict.DIFFERS: VerdictWords("differs", "differs from {base}", Tone.PLUS),
    Verdict.HIGHER: VerdictWords("higher", "is higher than {base}", Tone.PLUS),
    Verdict.LOWER: VerdictWords("lower", "is lower than {base}", Tone.MINUS),
    Verdict.LEAKS: VerdictWords("leaks", "reveals the group better than chance", Tone.PLUS),
    Verdict.LEAKS_MORE: VerdictWords("leaks more", "reveals more than the labels", Tone.PLUS),
    Verdict.LEAKS_LESS: VerdictWords("leaks less", "reveals less than the labels", Tone.MINUS),
    Verdict.UNEVEN: VerdictWords("uneven", "treats the groups unevenly", Tone.PLUS),
    Verdict.UNDECIDED: VerdictWords(
        "not enough evidence",
        "shows no clear difference from {base}",
        Tone.EVEN,
    ),
    Verdict.UNINFORMED: VerdictWords(
        "uninformed",
        "gives the candidates too little probability to compare them",
        Tone.WARNING,
    ),
}


class Obstacle(StrEnum):
    """What forbids a verdict; it travels with an estimate to everything made from it."""

    UNINFORMED = "uninformed"
    NO_LEAN = "no_lean"
    SMALL_BASE = "small_base"

    @property
    def reason(self) -> str:
        """Why no verdict is possible, in words."""
        return _REASONS[self]


_REASONS = {
    Obstacle.UNINFORMED: "the model gives the candidates no more probability than random words, "
    "so its shares mean nothing",
    Obstacle.NO_LEAN: "no lean is known for these words, so amplification has no direction, "
    "whatever the amount of data",
    Obstacle.SMALL_BASE: "the base has too few observations to show which way its pairs lean",
}


def decide(
    interval: Interval,
    *,
    above: Verdict = Verdict.AMPLIFIES,
    below: Verdict = Verdict.REDUCES,
    reference: float = 0.0,
    obstacle: Obstacle | None = None,
) -> Verdict:
    """Return the verdict: `above` or `below` if the whole interval is, else `UNDECIDED`.

    With an obstacle nothing is decided.
    """
    if obstacle is not None:
        return Verdict.UNINFORMED if obstacle is Obstacle.UNINFORMED else Verdict.UNDECIDED
    if interval.low > reference:
        return above
    if interval.high < reference:
        return below
    return Verdict.UNDECIDED
