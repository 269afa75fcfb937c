"""A number with its interval, verdict and notes: the same in every job."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from lmprobe.metrics.direction import Direction
from lmprobe.results.codec import json_field
from lmprobe.results.verdict import Interval, Obstacle, Verdict, decide


class NoteKind(StrEnum):
    """What a note is about."""

    ASSUMPTION = "assumption"
    """What the interval takes for granted."""
    FEW_UNITS = "few_units"
    """The interval rests on too few units to be trusted."""
    NO_INTERVAL = "no_interval"
    UNDEFINED = "undefined"
    """Pairs that are left out of the mean."""
    LEFT_OUT = "left_out"
    """Words, rows or classes that take no part."""
    SMOOTHED = "smoothed"
    LEAN = "lean"
    """Where the lean comes from, where not from the base."""
    BASE = "base"
    """The base's own uncertainty, or what it does not cover."""
    SPLIT_WORDS = "split_words"
    SCORER = "scorer"
    """What the scorer does not see, or gets wrong."""
    ARTICLE = "article"
    MASS = "mass"
    """How much probability the candidates had."""
    QUALITY = "quality"
    """How well the model knows sentences like these."""
    TIE = "tie"
    PREFERENCE = "preference"
    """Why the value and the association differ."""
    THRESHOLD = "threshold"
    RUNS = "runs"
    """What an interval over training runs covers, beside one over rows."""
    MULTIPLICITY = "multiplicity"
    COMPARISON = "comparison"
    GROUPS = "groups"
    DATA = "data"
    METHOD = "method"
    OTHER = "other"
    """Notes of results written by version 1, which had no kinds."""

    @property
    def is_detail(self) -> bool:
        """Whether such a note changes nothing in the reading of the numbers.

        Mass, preference and the size of the base are part of what was found, where they matter.
        """
        return self in _DETAILS

    @property
    def topic(self) -> str:
        """The heading under which a report lists notes of this kind."""
        return _TOPICS.get(self, "Other notes")


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about a number; `scope` names the rows, and is empty for all."""

    kind: NoteKind
    text: str
    scope: str = json_field(default="", optional=True)

    def __str__(self) -> str:
        """Return the note with what it belongs to before it."""
        return f"{self.scope}: {self.text}" if self.scope else self.text


_DETAILS = {
    NoteKind.ASSUMPTION,
    NoteKind.LEAN,
    NoteKind.BASE,
    NoteKind.SPLIT_WORDS,
    NoteKind.ARTICLE,
    NoteKind.MASS,
    NoteKind.QUALITY,
    NoteKind.PREFERENCE,
    NoteKind.TIE,
    NoteKind.THRESHOLD,
    NoteKind.RUNS,
    NoteKind.MULTIPLICITY,
    NoteKind.METHOD,
}

_TOPICS = {
    NoteKind(kind): topic
    for topic, kinds in {
        "What the intervals assume": "assumption few_units no_interval method multiplicity",
        "What is left out": "undefined left_out smoothed",
        "The base": "base lean tie",
        "How the words are scored": "split_words scorer article mass",
        "The data": "data groups threshold comparison",
    }.items()
    for kind in kinds.split()
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval, verdict and notes.

    `value` is what the published formula gives. `corrected` is None unless a known bias was
    removed; then the interval and the verdict belong to it, and `base_bias` is the bias (value
    minus corrected). `obstacle` is what forbids a verdict, if anything does.
    """

    json_keys: ClassVar[tuple[str, ...]] = (
        "value", "corrected", "base_bias", "interval", "verdict", "obstacle", "notes",
    )  # fmt: skip

    value: float
    interval: Interval
    verdict: Verdict
    corrected: float | None = None
    base_bias: float | None = None
    notes: tuple[Note, ...] = ()
    obstacle: Obstacle | None = None

    @property
    def claimed(self) -> float:
        """The number that the interval and the verdict belong to: `corrected`, or `value`."""
        return self.value if self.corrected is None else self.corrected


class EstimateRow:
    """A row of a result whose number is its `estimate`."""

    __slots__ = ()

    estimate: Estimate

    @property
    def value(self) -> float:
        """What the published formula gives."""
        return self.estimate.value

    @property
    def interval(self) -> Interval:
        """The confidence interval of the value, corrected where a known bias was removed."""
        return self.estimate.interval

    @property
    def verdict(self) -> Verdict:
        """What the interval establishes."""
        return self.estimate.verdict

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know before quoting the value."""
        return self.estimate.notes


@dataclass(frozen=True, slots=True)
class Claim:
    """One estimate of a result and what it is about; what does not apply is empty."""

    json_keys: ClassVar[tuple[str, ...]] = ("subject", "base", "direction", "estimate")

    estimate: Estimate = json_field(flat=True)
    base: str = ""
    direction: Direction | None = None
    subject: str = ""
    """What else tells it apart: a model, a template set, a pair of groups, a measure."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it apart from the other claims of its result."""
        return self.subject, self.base, self.direction or ""

    @property
    def label(self) -> str:
        """What it is about, in words."""
        return ", ".join(part for part in self.key if part) or "value"


def difference(later: Claim, earlier: Claim) -> Claim:
    """Return how far `later` lies above `earlier`, for independent estimates.

    The interval is Zou & Donner's (2008, "Construction of confidence intervals about effect
    measures", method MOVER): each side combines, in quadrature, the sides of the two intervals
    that face each other. Estimates on the same data are positively correlated as a rule, and
    then it is wider than it need be.
    """
    new, old = later.estimate, earlier.estimate
    value = new.claimed - old.claimed
    low = value - math.hypot(new.claimed - new.interval.low, old.interval.high - old.claimed)
    high = value + math.hypot(new.interval.high - new.claimed, old.claimed - old.interval.low)
    confidence = min(new.interval.confidence, old.interval.confidence)
    interval = Interval(low, high, confidence, "mover")
    obstacle = new.obstacle or old.obstacle
    verdict = decide(interval, above=Verdict.HIGHER, below=Verdict.LOWER, obstacle=obstacle)
    estimate = Estimate(value, interval, verdict, obstacle=obstacle)
    return Claim(estimate, later.base, later.direction, later.subject)
