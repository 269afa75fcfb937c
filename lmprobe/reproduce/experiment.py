"""What a reproduction is given and what it gives: rows of ours beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    figures: tuple[Figure, ...] = ()
    grid: tuple[str, str] | None = None
    """The two keys of `rows` that a printed table runs down and across; None is a list."""
    columns: tuple[tuple[str, str], ...] = ()
    """The headings of a printed list and the keys of `rows` under them; empty is the usual."""
    document: Mapping[str, Any] | None = None
    """The JSON document, where the experiment has one of its own schema."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document: the experiment's own, or that of all the others."""
        if self.document is not None:
            return dict(self.document)
        return {
            "schema": "lmprobe.reproduction/1",
            "experiment": self.name,
            "title": self.title,
            "paper": self.paper,
            "rows": [dict(row) for row in self.rows],
            "notes": list(self.notes),
        }


Experiment = Callable[[Settings], Reproduction]
"""The docstring's first line is what `lmprobe ls experiments` shows."""

experiments: Registry[Experiment] = Registry("experiments", "lmprobe.reproduce")


def in_order() -> tuple[str, ...]:
    """Return the names of all experiments, the tables of FitBERT first: most come for them."""
    return tuple(
        sorted(experiments.names(), key=lambda name: (not name.startswith("fitbert"), name))
    )
