"""Labelled rows: directional amplification with the lean fixed or resampled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.coverage.tally import Tally
from lmprobe.core.axis import read_axis
from lmprobe.core.direction import Direction
from lmprobe.intervals.cross_fitted_rows import cross_fitted_amplification
from lmprobe.intervals.rows import amplification_interval, row_sums


def rows_study(n: int, lean: str, runs: int, rng: np.random.Generator) -> Tally:
    """Two groups, one task; the model says 0.7 and 0.3 where the world has 0.6 and 0.4."""
    found = Tally()
    for _ in range(runs):
        group = rng.integers(0, 2, n)
        if group.min() == group.max():
            continue
        task = (rng.random(n) < np.where(group == 1, 0.6, 0.4)).astype(int)
        guess = (rng.random(n) < np.where(group == 1, 0.7, 0.3)).astype(int)
        ends = amplification_interval(group, task, task_predictions=guess, lean=lean, rng=rng)
        found.add(ends["attribute->task"], 0.1)
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
    ) -> pd.DataFrame:
        chance = 0.3 + (group[:, None] - 0.5) * links * factor
        names = [f"task {number}" for number in range(self.tasks)]
        return pd.DataFrame((rng.random(chance.shape) < chance).astype(int), columns=names)


WAYS = ("fixed", "resampled", "cross-fitted", "train")


def weak_study(weak: WeakLinks, runs: int, rng: np.random.Generator) -> dict[str, Tally]:
    """The lean of the rows themselves, in three ways, and that of as many other rows."""
    found = {way: Tally() for way in WAYS}
    direction = Direction.ATTRIBUTE_TO_TASK
    for _ in range(runs):
        links = rng.normal(0, weak.link_sd, weak.tasks)
        true = float(np.abs(links).mean()) * (weak.multiplied - 1) / 2
        group, other = rng.integers(0, 2, (2, weak.rows))
        labels, guess = (weak.draw(links, by, rng, group) for by in (1.0, weak.multiplied))
        train = {
            "train_attribute_labels": np.array(["a", "b"])[other],
            "train_task_labels": weak.draw(links, 1.0, rng, other),
        }
        names = np.array(["a", "b"])[group]
        for way, more in (("fixed", {}), ("resampled", {"lean": "resampled"}), ("train", train)):
            ends = amplification_interval(
                names, labels, task_predictions=guess, rng=rng, replicates=500, **more
            )
            found[way].add(ends[direction], true)
        axes = read_axis("attribute", names), read_axis("task", labels, guess)
        sums = row_sums(*axes, None, np.arange(weak.rows))
        fitted = cross_fitted_amplification(sums, rng=rng)
        found["cross-fitted"].add(fitted[direction].interval, true)
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
