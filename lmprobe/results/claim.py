"""A number of a result that can be held against a limit, and how two of them differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lmprobe.core.direction import Direction
from lmprobe.results.estimate import Estimate
from lmprobe.results.interval import Interval
from lmprobe.results.verdict import Verdict, decide


@dataclass(frozen=True, slots=True)
class Claim:
    """One estimate of a result and what it is about; what does not apply is empty."""

    estimate: Estimate
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
