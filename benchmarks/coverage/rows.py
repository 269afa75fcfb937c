"""Labelled rows: directional amplification with the lean fixed or resampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.tally import Tally
from lmprobe.core.direction import Direction
from lmprobe.results import Interval
from lmprobe.stats.methods.bootstrap import of_replicates
from lmprobe.stats.row_sums import RowSums
from lmprobe.stats.rows import bootstrap_interval, cross_fitted_amplification
from lmprobe.tabular.counting import Counted

GIVEN = Direction.ATTRIBUTE_TO_TASK


def counted(group: np.ndarray, labels: np.ndarray, guess: np.ndarray) -> RowSums:
    """Count the kinds of rows, as `amplify` does: groups 0 and 1, tasks (n, T)."""
    kinds, times = np.unique(np.column_stack([group, labels, guess]), axis=0, return_counts=True)
    tasks = labels.shape[1]
    cells = kinds.astype(np.float64)
    return Counted(
        groups=kinds[:, 0],
        group_guesses=None,
        tasks=cells[:, 1 : tasks + 1],
        task_guesses=cells[:, tasks + 1 :],
        weight=np.ones(len(kinds)),
        times=times,
        unit=None,
        added=False,
    ).row_sums((0, 1), tuple(range(tasks)))


def resampled_lean(rows: RowSums, rng: np.random.Generator, replicates: int = 10_000) -> Interval:
    """Return what the interval would be if each replicate determined its own lean."""
    sums = rows.resampled(replicates, rng)
    values = sums.value(GIVEN, sums.lean())
    return of_replicates(values[~np.isnan(values)], units=rows.units, confidence=0.95)


def rows_study(n: int, lean: str, runs: int, rng: np.random.Generator) -> Tally:
    """Two groups, one task; the model says 0.7 and 0.3 where the world has 0.6 and 0.4."""
    found = Tally()
    for _ in range(runs):
        group = rng.integers(0, 2, n)
        if group.min() == group.max():
            continue
        task = (rng.random(n) < np.where(group == 1, 0.6, 0.4)).astype(int)
        guess = (rng.random(n) < np.where(group == 1, 0.7, 0.3)).astype(int)
        rows = counted(group, task[:, None], guess[:, None])
        fixed = lean == "fixed"
        ends = bootstrap_interval(rows, rng=rng)[GIVEN] if fixed else resampled_lean(rows, rng)
        found.add(ends, 0.1)
    return found


@dataclass(frozen=True)
class WeakLinks:
    """Two groups and tasks with weak links, which a model multiplies."""

    rows: int
    tasks: int
    link_sd: float
    multiplied: float

    def draw(
        self, links: np.ndarray, factor: float, rng: np.random.Generator, group: np.ndarray
    ) -> np.ndarray:
        chance = 0.3 + (group[:, None] - 0.5) * links * factor
        return (rng.random(chance.shape) < chance).astype(int)


WAYS = ("fixed", "resampled", "cross-fitted", "train")
_REPLICATES = 500


def weak_study(weak: WeakLinks, runs: int, rng: np.random.Generator) -> dict[str, Tally]:
    """The lean of the rows themselves, in three ways, and that of as many other rows."""
    found = {way: Tally() for way in WAYS}
    for _ in range(runs):
        links = rng.normal(0, weak.link_sd, weak.tasks)
        true = float(np.abs(links).mean()) * (weak.multiplied - 1) / 2
        group, other = rng.integers(0, 2, (2, weak.rows))
        labels, guess = (weak.draw(links, by, rng, group) for by in (1.0, weak.multiplied))
        rows = counted(group, labels, guess)
        seen = weak.draw(links, 1.0, rng, other)
        train = counted(other, seen, seen)
        ends = {
            "fixed": bootstrap_interval(rows, rng=rng, replicates=_REPLICATES)[GIVEN],
            "resampled": resampled_lean(rows, rng, _REPLICATES),
            "cross-fitted": cross_fitted_amplification(rows, rng=rng)[GIVEN].interval,
            "train": bootstrap_interval(rows, train=train, rng=rng, replicates=_REPLICATES)[GIVEN],
        }
        for way, one in ends.items():
            found[way].add(one, true)
    return found


WEAK = (
    WeakLinks(300, 20, 0.0, 1.0),
    WeakLinks(1000, 20, 0.0, 1.0),
    WeakLinks(1000, 20, 0.04, 1.0),
    WeakLinks(1000, 20, 0.04, 2.0),
    WeakLinks(300, 5, 0.1, 2.0),
)


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## Labelled rows: directional amplification\n"
    yield "| rows | lean fixed | lean resampled |\n|---:|---|---|"
    for n in (50, 100, 500, 2000):
        tallies = [rows_study(n, lean, runs, rng) for lean in ("fixed", "resampled")]
        yield f"| {n} | {tallies[0]} | {tallies[1]} |"
    yield _AFTER
    weak_runs = max(runs // 10, 20)
    yield f"### Many tasks with weak links, {weak_runs} samples a line\n"
    yield "| rows | tasks | links (sd) | model multiplies by | " + " | ".join(WAYS) + " |"
    yield "|---:|---:|---:|---:" + "|---" * len(WAYS) + "|"
    for weak in WEAK:
        cells = " | ".join(map(str, weak_study(weak, weak_runs, rng).values()))
        known = f"{weak.rows} | {weak.tasks} | {weak.link_sd:g} | {weak.multiplied:g}"
        yield f"| {known} | {cells} |"
    yield _AFTER_WEAK


_AFTER = """
Two groups and one task, an amplification of 0.1. With the lean fixed by the sample itself, a
small sample whose lean has the wrong sign by chance gives a value of the wrong sign; resampling
the lean covers that. A lean from a train set does not have this problem.
"""
_AFTER_WEAK = """
`fixed` and `resampled` take lean and rates from the same rows, so the lean of a pair that is
close to a tie depends on its noise. If pairs are within two standard errors of a tie and there is
no train table, `lmprobe amplify` reports the `cross-fitted` value as `corrected`, with its
interval.
"""
