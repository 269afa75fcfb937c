"""One number of a leakage measurement: what it is of, its intervals and verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lmprobe.core.tally import Floats
from lmprobe.results import Estimate, Interval, Verdict, decide


class Measure(StrEnum):
    """What a row of a leakage result is."""

    DATASET = "dataset leakage"
    """From the true labels, perturbed to an F1 where the row has one."""
    MODEL = "model leakage"
    BASE = "base leakage"
    """Of the base rates that a language model is compared with."""
    AMPLIFICATION = "leakage amplification"
    """Of the model minus that of the dataset or of the base."""


@dataclass(frozen=True, slots=True, eq=False)
class LeakageRow:
    """One number: how often the group is guessed, or a difference of two such numbers."""

    measure: Measure
    estimate: Estimate
    rounds: tuple[float, ...] = ()
    """The value of each round, of each template or of each run."""
    f1: float | None = None
    """Of the model's decisions, or the F1 that the perturbed labels reached."""
    by_row: Floats | None = None
    """Each example's share of rounds in which it was guessed, NaN where it was never tested."""
    over_runs: Estimate | None = None
    """The same value with the interval over training runs; None of a single run."""

    @property
    def name(self) -> str:
        """What the row is called in JSON and tables."""
        return self.measure.value

    @property
    def value(self) -> float:
        """The mean over rounds."""
        return self.estimate.value

    @property
    def interval(self) -> Interval:
        """The interval of the value."""
        return self.estimate.interval

    @property
    def verdict(self) -> Verdict:
        """What the interval allows to be claimed."""
        return self.estimate.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        document = {"name": self.name, **self.estimate.to_dict()}
        over_runs = self.over_runs and self.over_runs.to_dict()
        return document | {"rounds": list(self.rounds), "f1": self.f1, "over_runs": over_runs}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> LeakageRow:
        """Read the JSON form."""
        over_runs = document.get("over_runs")
        return cls(
            Measure(document["name"]),
            Estimate.from_dict(document),
            tuple(document["rounds"]),
            document["f1"],
            over_runs=None if over_runs is None else Estimate.from_dict(over_runs),
        )


def leakage_row(
    measure: Measure,
    value: float,
    interval: Interval,
    rounds: Sequence[float],
    *,
    chance: float = math.nan,
    f1: float | None = None,
    by_row: Floats | None = None,
    over_runs: Interval | None = None,
) -> LeakageRow:
    """Return a row with the verdicts that follow from its intervals.

    `chance` is what a leakage is compared with; a difference is compared with zero, and a
    leakage without an interval with nothing.
    """
    # An attacker that guesses less often than chance has learned nothing.
    above, below, reference = Verdict.LEAKS, Verdict.UNDECIDED, chance
    if measure is Measure.AMPLIFICATION:
        above, below, reference = Verdict.LEAKS_MORE, Verdict.LEAKS_LESS, 0.0
    estimate, of_runs = (
        ends and Estimate(value, ends, decide(ends, above=above, below=below, reference=reference))
        for ends in (interval, over_runs)
    )
    assert estimate is not None
    return LeakageRow(measure, estimate, tuple(rounds), f1, by_row, of_runs)
