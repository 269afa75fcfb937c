"""The confidence interval of a number, and the verdict that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Self


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


class Tone(StrEnum):
    """Which way a verdict points; renderers choose colours by it, never by the words."""

    PLUS = "plus"
    MINUS = "minus"
    EVEN = "even"
    WARNING = "warning"


class Verdict(StrEnum):
    """What an interval establishes: the name used in JSON, the words for it, and its tone.

    `predicate` continues a sentence about `{base}`; those of leakage are sentences themselves.
    """

    AMPLIFIES = "amplifies", "exaggerates the links in {base}", Tone.PLUS
    REDUCES = "reduces", "weakens the links in {base}", Tone.MINUS
    FOLLOWS = "follows", "follows the lean given for {base}", Tone.PLUS
    OPPOSES = "opposes", "goes against the lean given for {base}", Tone.MINUS
    EQUIVALENT = "equivalent", "differs from {base} by less than the margin", Tone.EVEN
    DIFFERS = "differs", "differs from {base}", Tone.PLUS
    HIGHER = "higher", "is higher than {base}", Tone.PLUS
    LOWER = "lower", "is lower than {base}", Tone.MINUS
    LEAKS = "leaks", "the group can be guessed better than by chance", Tone.PLUS
    LEAKS_MORE = (
        "leaks_more",
        "the model reveals more of the group than {base}",
        Tone.PLUS,
        "leaks more",
    )
    LEAKS_LESS = (
        "leaks_less",
        "the model reveals less of the group than {base}",
        Tone.MINUS,
        "leaks less",
    )
    UNEVEN = "uneven", "treats the groups unevenly", Tone.PLUS
    UNDECIDED = (
        "undecided",
        "shows no clear difference from {base}",
        Tone.EVEN,
        "not enough evidence",
    )
    UNINFORMED = (
        "uninformed",
        "gives the candidates too little probability to compare them",
        Tone.WARNING,
    )

    predicate: str
    tone: Tone
    label: str
    """The verdict in two or three words, for a table."""

    def __new__(
        cls, name: str, predicate: str = "", tone: Tone = Tone.EVEN, label: str = ""
    ) -> Self:
        """Make a verdict that is its name; the label is the name too, where none is given."""
        verdict = str.__new__(cls, name)
        verdict._value_ = name
        verdict.predicate, verdict.tone, verdict.label = predicate, tone, label or name
        return verdict

    @property
    def decisive(self) -> bool:
        """Whether the verdict is a claim, not a lack of evidence."""
        return self.tone in (Tone.PLUS, Tone.MINUS) or self is Verdict.EQUIVALENT


class Obstacle(StrEnum):
    """What forbids a verdict, and why; it travels with an estimate to everything made from it."""

    UNINFORMED = (
        "uninformed",
        "the model gives the candidates no more probability than random words, so its shares "
        "mean nothing",
    )
    NO_LEAN = (
        "no_lean",
        "no lean is known for these words, so amplification has no direction, whatever the "
        "amount of data",
    )
    SMALL_BASE = (
        "small_base",
        "the base has too few observations to show which way its pairs lean",
    )

    reason: str

    def __new__(cls, name: str, reason: str = "") -> Self:
        """Make an obstacle that is its name."""
        obstacle = str.__new__(cls, name)
        obstacle._value_, obstacle.reason = name, reason
        return obstacle


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
