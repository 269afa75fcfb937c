"""What a reproduction is given and what it gives: rows of ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmprobe.figure import Figure
from lmprobe.progress import Progress, silent
from lmprobe.registry import Registry


@dataclass(frozen=True, slots=True)
class Settings:
    """What the caller may choose; an experiment ignores what it has no use for."""

    model: str | None = None
    preset: str | None = None
    wikipedia: Path | None = None
    seed: int = 0
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One published experiment, run again.

    Every row has `name`, `value` (ours) and `paper` (what was printed, or None), and
    whatever else the experiment needs.
    """

    name: str
    title: str
    paper: str
    """Where it was published, such as "Wang & Russakovsky 2021, Figure 6"."""
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = field(default=())


Experiment = Callable[[Settings], Reproduction]
"""The docstring's first line is what `lmprobe ls experiments` shows."""

experiments: Registry[Experiment] = Registry("experiments", "lmprobe.reproduce")
