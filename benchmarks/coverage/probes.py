"""Probes: templates crossed with tasks, with effects of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.tally import Tally, fewer
from lmprobe.stats.method import interval
from lmprobe.stats.probe import CellTable, probe_sample

PROBE = ("bootstrap", "t-crossed", "t", "bernstein")


@dataclass(frozen=True)
class Crossed:
    """Templates crossed with tasks: effects of both, and noise of their own in each cell."""

    name: str
    templates: int
    tasks: int
    template_sd: float
    task_sd: float
    cell_sd: float
    families: int | None = None
    skewed: bool = False
    truth: float = 0.05

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, list[str] | None]:
        family = None
        rows = self._effects(self.templates, rng) * self.template_sd
        if self.families is not None:
            # Templates of a family share most of their effect.
            family = np.repeat(np.arange(self.families), self.templates // self.families)
            rows = 0.3 * rows + 0.95 * self._effects(self.families, rng)[family] * self.template_sd
        columns = self._effects(self.tasks, rng) * self.task_sd
        noise = rng.standard_normal((self.templates, 2, self.tasks)) * self.cell_sd
        cells = self.truth + rows[:, None, None] + columns[None, None, :] + noise
        names = None if family is None else [str(one) for one in family]
        return cells, names

    def _effects(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(size=size) - 1 if self.skewed else rng.standard_normal(size)


PROBES = (
    *(Crossed("a typical probe", k, 32, 0.03, 0.1, 0.05) for k in (5, 10, 20, 50)),
    *(Crossed("templates vary most", k, 32, 0.1, 0.05, 0.05) for k in (2, 3, 5, 20)),
    Crossed("tasks vary most", 20, 32, 0.01, 0.2, 0.05),
    Crossed("skewed effects", 20, 32, 0.05, 0.1, 0.05, skewed=True),
    Crossed("skewed effects of few templates", 5, 32, 0.1, 0.05, 0.05, skewed=True),
    Crossed("few tasks", 20, 8, 0.03, 0.1, 0.05),
    Crossed("only noise in the cells", 20, 32, 0.0, 0.0, 0.1),
    Crossed("40 templates in 10 families", 40, 32, 0.1, 0.05, 0.05, families=10),
)


def probe_study(
    probe: Crossed, runs: int, rng: np.random.Generator, resample: str = "both"
) -> dict[str, Tally]:
    found = {name: Tally() for name in PROBE}
    for _ in range(runs):
        cells, families = probe.draw(rng)
        sample = fewer(probe_sample(CellTable.of(cells, families), resample))
        for name in PROBE:
            found[name].add(interval(sample, method=name, rng=rng), probe.truth)
    return found


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## Probes: templates crossed with tasks\n"
    yield "| probe | templates × tasks | drawn | " + " | ".join(PROBE) + " |"
    yield "|---|---|---" + "|---" * len(PROBE) + "|"
    for probe in PROBES:
        for resample in ("both", "templates") if probe is PROBES[2] else ("both",):
            # A generator of its own, so that a new line changes no other.
            found = probe_study(probe, runs, rng.spawn(1)[0], resample)
            size = f"{probe.templates} × {probe.tasks} | {resample}"
            yield f"| {probe.name} | {size} | {' | '.join(map(str, found.values()))} |"
    yield _AFTER


_AFTER = """
`bootstrap` is the percentile interval widened for few units (Hesterberg 2015); it is the default
because its coverage is closest to the nominal level without being far below it. With few
templates it is wider than necessary if the tasks vary most, and so it is where only the cells
vary, because both axes are resampled. With fewer than five templates that vary most it is too
narrow, because no resample is further away than the extreme template; a note then recommends
`t-crossed`, which is accurate for normal effects with any number of templates. For skewed effects
of few templates the coverage of both is too low. `t` and `bernstein` take the templates as the
sample and the tasks as fixed, so they do not cover the value over all tasks, which is the true
value in this table; the same is true of a bootstrap that resamples templates only.
"""
