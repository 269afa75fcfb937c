"""What an engine of a sweep does, and the registry that finds it by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lmprobe.registry import Registry
from lmprobe.sweeping.jobs import Job


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one job ended: its result is in the folder, or an error says why not."""

    job: Job
    error: str | None = None


class SweepEngine(Protocol):
    """Runs jobs and yields each outcome as it ends, in any order.

    The first line of the docstring is what `lmprobe ls sweep_engines` shows.
    """

    def __call__(self, jobs: Sequence[Job], folder: Path, *, workers: int) -> Iterator[Outcome]:
        """Yield the outcome of every job once; results are files `KEY.json` in the folder."""
        ...


sweep_engines: Registry[SweepEngine] = Registry("sweep_engines", "lmprobe.sweeping.engines")
