"""Probes against a base of few counted sentences, with the lean as published and cross-fitted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.coverage.tally import Tally, fewer
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.results.interval import Interval
from lmprobe.stats.base_uncertainty import BaseCorrection, is_enough, reliability
from lmprobe.stats.cross_fit import cross_fitted_lean
from lmprobe.stats.method import interval
from lmprobe.stats.probe import CellTable, probe_sample

TEMPLATES, TASKS = 20, 32
SENTENCES = (100, 388, 1000, 3880, 40_000)
MODELS = ("tells the truth", "amplifies strong links most", "amplifies all links alike")
# Ways to hold out: results use 4,000.
_DRAWS = 300
_WORLDS = 300


def world(rng: np.random.Generator) -> np.ndarray:
    """Shares of attributes and tasks, (2, T): common and rare tasks, weak and strong links."""
    tasks = np.exp(rng.normal(0, 0.7, TASKS))
    rate = 1 / (1 + np.exp(-rng.normal(0.8, 1.1, TASKS)))
    return np.stack([rate, 1 - rate]) * tasks / tasks.sum()


def model(joint: np.ndarray, kind: str, templates: int, rng: np.random.Generator) -> np.ndarray:
    """Tables of a model, (K, 2, T), with effects of templates and of cells."""
    logs = np.log(joint)
    link = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    if kind == MODELS[1]:
        logs = logs + 0.6 * link
    elif kind == MODELS[2]:
        logs = logs + 0.3 * lean_of_counts(joint, Direction.TASK_TO_ATTRIBUTE)
    noise = 0.1 * rng.standard_normal((templates, 1, 1)) * link
    return np.exp(logs + noise + 0.2 * rng.standard_normal((templates, *joint.shape)))


def predicted(tables: np.ndarray, direction: Direction) -> np.ndarray:
    return np.asarray(tables / tables.sum(axis=direction.axis, keepdims=True))


def truth(kind: str, direction: Direction, rng: np.random.Generator) -> float:
    """The mean over many worlds with base rates that are known."""
    values = []
    for _ in range(_WORLDS):
        joint = world(rng)
        change = predicted(model(joint, kind, 40, rng), direction) - predicted(joint, direction)
        values.append((lean_of_counts(joint, direction) * change).mean())
    return float(np.mean(values))


@dataclass
class Outcome:
    """What the runs of one cell found, before or after."""

    tally: Tally = field(default_factory=Tally)
    values: list[float] = field(default_factory=list)
    claims: int = 0
    refused: int = 0

    def add(self, value: float, found: Interval, true: float, *, refused: bool = False) -> None:
        self.tally.add(found, true)
        self.values.append(value)
        self.refused += refused
        self.claims += not refused and 0.0 not in found

    def __str__(self) -> str:
        claimed = f"{self.claims / len(self.values):.0%}"
        return f"{np.mean(self.values):+.3f} | {self.tally} | {claimed}"


def corrected(counts: np.ndarray, direction: Direction, rng: np.random.Generator) -> BaseCorrection:
    lean = cross_fitted_lean(counts, direction, rng=rng, draws=_DRAWS)
    return BaseCorrection(lean, reliability(counts, direction, rng=rng), int(counts.sum()), lean)


def base_study(
    kind: str, direction: Direction, sentences: int, runs: int, rng: np.random.Generator
) -> tuple[Outcome, Outcome, float]:
    true = truth(kind, direction, rng)
    before, after = Outcome(), Outcome()
    for _ in range(runs):
        joint = world(rng)
        tables = model(joint, kind, TEMPLATES, rng)
        counts = rng.multinomial(sentences, joint.ravel()).reshape(joint.shape).astype(float)
        kept = counts.sum(axis=0) > 0
        counts, said = counts[:, kept], predicted(tables[:, :, kept], direction)
        plain = lean_of_counts(counts, direction) * (said - predicted(counts, direction))
        fix = corrected(counts, direction, rng)
        for cells, outcome in ((plain, before), (fix.cells(said), after)):
            sample = fewer(probe_sample(CellTable.of(cells, None), "both"))
            found = interval(sample, method="bootstrap", rng=rng)
            if outcome is before:
                before.add(sample.value, found, true)
                continue
            refused = not is_enough(fix.reliability.proportional)
            after.add(sample.value, fix.widened(found), true, refused=refused)
    return before, after, true


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 4, 20)
    yield "## Bases of few counted sentences\n"
    yield (
        f"{TEMPLATES} templates, {TASKS} tasks, two groups, {runs} samples a line. Before: the "
        "published value with the default interval. After: `corrected`, with the interval that "
        "covers the base's noise. *claims*: the share of samples with a verdict other than "
        "undecided; *refused*: too few sentences for one.\n"
    )
    yield (
        "| model | direction | sentences | truth | before: mean | coverage (width) | claims | "
        "after: mean | coverage (width) | claims | refused |"
    )
    yield "|---|---|---:|---:|---:|---|---:|---:|---|---:|---:|"
    for kind in MODELS:
        for direction in DIRECTIONS:
            for sentences in SENTENCES:
                before, after, true = base_study(kind, direction, sentences, runs, rng)
                yield (
                    f"| {kind} | {direction.short} | {sentences:,} | {true:+.3f} | {before} | "
                    f"{after} | {after.refused / runs:.0%} |"
                )
    yield _AFTER


_AFTER = """
With the published formula, the verdict for a truthful model is almost always "reduces" if there
are few sentences: a pair that was counted too often by chance has the lean +1 and a base rate
that is too high. With the cross-fitted lean this does not happen at any size. The share of an
amplification that a small base shows is estimated and divided out, which makes the interval wide;
if it is below one half there is no verdict. The last model is the hardest case: it amplifies weak
links as much as strong ones, and the lean of weak links is most often wrong in a small base.
"""
