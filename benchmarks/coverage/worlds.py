"""Worlds of groups and tasks, and models of them: what the studies of probes draw from.

Every study takes its figures from `estimate_rows`, as a probe does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks.coverage.tally import Tally
from lmprobe.metrics.association import Floats, lean_of_counts
from lmprobe.metrics.direction import Direction
from lmprobe.results import NoteKind, Verdict
from lmprobe.sources import align_base_rates, load_base_rates
from lmprobe.stats.row_tables import PARTS, STRENGTH, RowTables
from lmprobe.stats.verdicts import IntervalSettings, estimate_rows
from lmprobe.templates import load_templates

# Probes whose mean is the truth.
_PROBES = 500


@dataclass(frozen=True)
class Setting:
    """A world, a model of it, the templates and tasks of a probe and the base that it knows."""

    direction: Direction = Direction.TASK_TO_ATTRIBUTE
    templates: int = 20
    tasks: int = 32
    groups: int = 2
    task_sizes: float = 0.7
    """The standard deviation of the logarithms of how often the tasks occur."""
    power: float = 1.0
    """How many times as strong the model's links are as the world's."""
    even: float = 0.0
    """What the model adds to the logarithm of every pair that leans up, and takes from the rest."""
    preference: float = 0.0
    """For the first group, or (given a group) for some tasks, in logarithms."""
    template_sd: float = 0.1
    """Of the power and of the preference, by template."""
    task_sd: float = 0.0
    """Of the model's own error about each pair."""
    cell_sd: float = 0.2
    sentences: int = 0
    """How many were counted for the base; 0 for a base that is known."""
    rates: str = "normal"
    """Of the log odds of the groups; or "labor", that of the occupations of the bundled base."""
    known_lean: bool = False
    """Whether a lean is declared: quicker, where only the strength matters."""

    def world(self, rng: np.random.Generator) -> Floats:
        """Return shares of attributes and tasks, (A, T): weak and strong links."""
        if self.rates == "labor":
            drawn = _labor()[:, rng.integers(0, _labor().shape[1], self.tasks)]
            return np.asarray(drawn / drawn.sum())
        sizes = np.exp(rng.normal(0, self.task_sizes, self.tasks))
        odds = np.exp(rng.normal(0.8, 1.1, (self.groups, self.tasks)))
        odds[-1] = 1.0
        joint = odds / odds.sum(axis=0) * sizes
        return np.asarray(joint / joint.sum())

    def model(self, joint: Floats, rng: np.random.Generator) -> Floats:
        """Return the logarithms of a model's tables, (K, A, T)."""
        logs = np.log(joint)
        link = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
        power = self.power - 1 + self.template_sd * rng.standard_normal((self.templates, 1, 1))
        logs = logs + self.even * lean_of_counts(joint, self.direction)
        logs = logs + self.task_sd * rng.standard_normal(logs.shape)
        if self.direction is Direction.TASK_TO_ATTRIBUTE:
            logs[0] += self.preference
        else:
            logs = logs + self.preference * rng.standard_normal(self.tasks)
        shape = (self.templates, self.groups, self.tasks)
        return np.asarray(
            logs
            + power * link
            + self.template_sd * rng.standard_normal((self.templates, self.groups, 1))
            + self.cell_sd * rng.standard_normal(shape)
        )

    def draw(self, rng: np.random.Generator) -> RowTables:
        """Draw a world, a model and a base."""
        joint = self.world(rng)
        logs = self.model(joint, rng)
        return self.tables(logs, self.counts(joint, rng) if self.sentences else joint)

    def counts(self, joint: Floats, rng: np.random.Generator) -> Floats:
        """Draw the sentences of a base, (A, T)."""
        drawn = rng.multinomial(self.sentences, joint.ravel()).reshape(joint.shape)
        return np.asarray(drawn, dtype=np.float64)

    def tables(self, logs: Floats, base: Floats) -> RowTables:
        """Return the tables of a model and a base; tasks that were never counted are left out."""
        seen = base.sum(axis=0) > 0
        base, logs = base[:, seen], logs[..., seen]
        declared = np.ones(base.shape) if self.known_lean else None
        return row_tables(self.direction, logs, base, declared=declared, counted=self.sentences > 0)

    @cache  # noqa: B019 - settings are few and live as long as the studies
    def truth(self) -> dict[str, float]:
        """Return the mean numbers of such probes, were their base rates known."""
        exact = replace(self, sentences=0)
        rng = np.random.default_rng(0)
        published = [exact.draw(rng).published() for _ in range(_PROBES)]
        return {part: float(np.mean([probe[part] for probe in published])) for part in PARTS}

    def judged(
        self, runs: int, rng: np.random.Generator, choices: IntervalSettings | None = None
    ) -> dict[str, Tally]:
        """Return how often the intervals of the parts and of the strength cover, and claim."""
        truth = self.truth() | {STRENGTH: self.power}
        tallies = {part: Tally() for part in (*PARTS, STRENGTH)}
        for _ in range(runs):
            (row,) = estimate_rows([self.draw(rng)], [None], choices or IntervalSettings())
            noted = any(note.kind is NoteKind.FEW_UNITS for note in row.notes)
            for part, estimate in (*row.parts.items(), (STRENGTH, row.strength)):
                assert estimate is not None
                tallies[part].add(
                    estimate.interval,
                    truth[part],
                    claims=estimate.verdict is not Verdict.UNDECIDED,
                    refused=estimate.obstacle is not None,
                    noted=noted,
                )
        return tallies


@cache
def _labor() -> Floats:
    words = load_templates("fitbert")
    rates = align_base_rates(load_base_rates("labor"), words.attributes, words.tasks)
    return rates.association.joint


def row_tables(
    direction: Direction,
    logs: Floats,
    base: Floats,
    *,
    families: np.ndarray | None = None,
    declared: Floats | None = None,
    counted: bool = False,
) -> RowTables:
    """Return the tables of a model, from logarithms (K, A, T), and a base (A, T)."""
    given = np.exp(logs - logs.max(axis=direction.axis, keepdims=True))
    names = tuple(map(str, range(base.shape[1])))
    return RowTables(
        direction,
        given / given.sum(axis=direction.axis, keepdims=True),
        logs,
        base,
        tuple(map(str, np.arange(len(logs)) if families is None else families)),
        names,
        names,
        declared=declared,
        counted=counted,
    )
