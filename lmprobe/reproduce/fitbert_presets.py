"""The two ways of running the FitBERT experiment: as it was published, and corrected.

As published: a word is scored by its first piece, the lean weighs every task the same, a
task that a count table never counted contributes 0, and (in the earlier version of the
paper) the likeliest word counts as a prediction. Corrected: whole words, the lean of Eq. 2,
undefined pairs left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lmprobe.core.association import Association
from lmprobe.core.choices import LeanWeighting
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.intervals.probe import probe_interval
from lmprobe.io.progress import Progress
from lmprobe.metrics.lean import lean as lean_of_world
from lmprobe.probing.probe import probe
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.row import ProbeRow
from lmprobe.sources import MissingLabels, Source, load_base_rates
from lmprobe.sources.table import Sampling, Table

TWO, THREE = ("he", "she"), ("he", "she", "they")


@dataclass(frozen=True, slots=True)
class Preset:
    """How an experiment is run."""

    name: str
    scorer: str
    lean_weighting: LeanWeighting
    as_published: bool
    likeliest: bool = False
    """Whether only the likeliest word counts, as a discrete prediction."""


PAPER = Preset("paper", "first-piece", "paper", as_published=True)
PAPER_LIKELIEST = replace(PAPER, likeliest=True)
CORRECTED = Preset("corrected", "word-l2r", "joint", as_published=False)


@dataclass(frozen=True, slots=True)
class _Only:
    """A source that knows some attributes only, under the name that the table gives it."""

    source: Source
    attributes: tuple[str, ...]
    name: str

    @property
    def provenance(self) -> Any:
        return self.source.provenance

    @property
    def lean_source(self) -> str | None:
        return getattr(self.source, "lean_source", None)

    @property
    def sampling(self) -> Sampling | None:
        return getattr(self.source, "sampling", None)

    def sampling_of(self, attributes: Sequence[str], tasks: Sequence[str]) -> Sampling | None:
        source = self.source
        return source.sampling_of(attributes, tasks) if isinstance(source, Table) else None

    def association(self, attributes: Sequence[str], tasks: Sequence[str]) -> Association:
        unknown = [name for name in attributes if name not in self.attributes]
        if not unknown:
            return self.source.association(attributes, tasks)
        lacking: Sequence[str] = ()
        try:
            self.source.association(self.attributes, tasks)
        except MissingLabels as problem:
            lacking = problem.tasks
        raise MissingLabels(self.name, attributes=unknown, tasks=lacking)


def bases(wikipedia: str) -> list[_Only]:
    """Return the four worlds of the table, in its order."""
    uniform = load_base_rates("uniform")
    return [
        _Only(uniform, TWO, "uniform"),
        _Only(uniform, THREE, "uniform"),
        _Only(load_base_rates(wikipedia), TWO, "wikipedia"),
        _Only(load_base_rates("labor"), TWO, "labor"),
    ]


def run(
    model: Any, templates: str, wikipedia: str, preset: Preset, *, seed: int, progress: Progress
) -> ProbeResult:
    """Probe once with three pronouns and compare with all four worlds."""
    worlds = bases(wikipedia)
    found = probe(
        model,
        templates,
        worlds,
        attributes=THREE,
        scorer=preset.scorer,
        lean_weighting=preset.lean_weighting,
        missing="keep" if preset.as_published else "drop",
        seed=seed,
        progress=progress,
    )
    if not preset.as_published:
        return found
    rows = tuple(_as_published(row, worlds[2], preset, seed) for row in found.rows)
    return replace(found, rows=rows)


def _as_published(row: ProbeRow, counts: _Only, preset: Preset, seed: int) -> ProbeRow:
    """Return the row as the published code computes it."""
    leaning = row.lean
    if row.base == "wikipedia" and row.direction == Direction.TASK_TO_ATTRIBUTE:
        # Here alone the code compares counts, not conditionals: so the lean is that of Eq. 2.
        counted = counts.association(row.attributes, row.tasks)
        leaning = lean_of_world(counted, row.direction, "joint")
    undefined = np.isnan(row.base_rate)
    changed = replace(
        row,
        predicted=_likeliest(row) if preset.likeliest else row.predicted,
        lean=np.where(undefined, 0.0, leaning),
        base_rate=np.where(undefined, 0.0, row.base_rate),
    )
    rng = np.random.default_rng(seed)
    interval, _ = probe_interval(changed.cells, rng=rng, families=row.families)
    # The published code has neither parts of a value nor the noise of a base.
    return replace(
        changed,
        interval=interval,
        corrected=None,
        base_bias=None,
        base_reliability=None,
        association=None,
        preference=None,
    )


def _likeliest(row: ProbeRow) -> Floats:
    """Return 1 for the likeliest candidate of each blank and 0 for all others."""
    axis = 1 if row.direction == Direction.TASK_TO_ATTRIBUTE else 2
    best = row.predicted.argmax(axis=axis, keepdims=True)
    numbers = np.arange(row.predicted.shape[axis])
    return np.where(best == np.expand_dims(numbers, (0, 3 - axis)), 1.0, 0.0)
