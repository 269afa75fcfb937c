"""A number with its confidence interval, verdict and notes: the same in every job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmprobe.results.interval import Interval
from lmprobe.results.note import Note
from lmprobe.results.verdict import Obstacle, Verdict


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval, verdict and notes.

    `value` is what the published formula gives. `corrected` is None unless a known bias was
    removed; then the interval and the verdict belong to it, and `base_bias` is the bias (value
    minus corrected). `obstacle` is what forbids a verdict, if anything does.
    """

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

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; an undefined number is null."""
        return {
            "value": nullable(self.value),
            "corrected": nullable(self.corrected),
            "base_bias": nullable(self.base_bias),
            "interval": self.interval.to_dict(),
            "verdict": self.verdict.value,
            "obstacle": self.obstacle and self.obstacle.value,
            "notes": [note.to_dict() for note in self.notes],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Estimate:
        """Read the JSON form."""
        return cls(
            value=from_nullable(document["value"]),
            interval=Interval.from_dict(document["interval"]),
            verdict=Verdict(document["verdict"]),
            corrected=document.get("corrected"),
            base_bias=document.get("base_bias"),
            notes=tuple(Note.from_dict(note) for note in document.get("notes", ())),
            obstacle=read_obstacle(document),
        )


def read_obstacle(document: Mapping[str, Any]) -> Obstacle | None:
    """Read what forbids a verdict; earlier versions wrote it only as the verdict `uninformed`."""
    uninformed = document["verdict"] == Verdict.UNINFORMED
    name = document.get("obstacle") or (Obstacle.UNINFORMED if uninformed else None)
    return None if name is None else Obstacle(name)


def nullable(value: float | None) -> float | None:
    """Return the number as JSON has it: None where it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def from_nullable(value: float | None) -> float:
    """Read a number as JSON has it: NaN where it is null."""
    return math.nan if value is None else value
