"""What every study shares: counting how often intervals cover, and quicker bootstraps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from lmprobe.results.verdict import Interval
from lmprobe.stats.method import Sample

# Enough for the quantiles of a study; results use 10,000.
REPLICATES = 2000


class Study(Protocol):
    """One section of the page: lines of Markdown, the first of them its heading."""

    def __call__(self, runs: int, rng: np.random.Generator) -> Iterator[str]: ...


@dataclass
class Tally:
    """How many intervals covered the truth, how wide they were, how many there were not."""

    runs: int = 0
    held: int = 0
    none: int = 0
    width: float = 0.0
    claims: int = 0
    """How many samples had a verdict other than undecided."""
    refused: int = 0
    """How many had something that forbids a verdict."""
    noted: int = 0
    """How many had a note about few units."""

    def add(
        self,
        interval: Interval,
        truth: float,
        *,
        claims: bool = False,
        refused: bool = False,
        noted: bool = False,
    ) -> None:
        self.claims += claims
        self.refused += refused
        self.noted += noted
        if not np.isfinite(interval.width):
            self.none += 1
            return
        self.runs += 1
        self.held += truth in interval
        self.width += interval.width

    def share(self, number: int) -> str:
        """Return a number of samples as a share of all."""
        return f"{number / (self.runs + self.none):.3f}"

    @property
    def coverage(self) -> float:
        return self.held / self.runs if self.runs else float("nan")

    @property
    def mean_width(self) -> float:
        return self.width / self.runs if self.runs else float("nan")

    def __str__(self) -> str:
        if not self.runs:
            return "none"
        share = self.none / (self.runs + self.none)
        without = f"; {share:.0%} none" if share >= 0.005 else ""
        return f"{self.coverage:.3f} ({self.mean_width:.3f}{without})"


def fewer(sample: Sample) -> Sample:
    """Return the same sample with fewer replicates per interval."""
    resampled = sample.resampled
    assert resampled is not None
    # Every kind of bootstrap interval is made of the same replicates.
    retained: list[np.ndarray] = []

    def once(_: int, rng: np.random.Generator) -> np.ndarray:
        if not retained:
            retained.append(resampled(REPLICATES, rng))
        return retained[0]

    return replace(sample, resampled=once)
