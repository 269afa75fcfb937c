"""Probes: templates crossed with tasks, with effects of both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.tally import Tally
from benchmarks.coverage.worlds import row_tables
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.results import NoteKind, Verdict
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings, estimate_rows


@dataclass(frozen=True)
class Crossed:
    """Templates crossed with tasks: effects of both, and noise of their own in each cell."""

    name: str
    templates: int
    tasks: int
    template_sd: float
    task_sd: float
    cell_sd: float
    before: float
    """The coverage of the version before, in 250 to 1,000 samples."""
    families: tuple[int, ...] = ()
    """How many templates each family has; without, every template is one."""
    skewed: bool = False

    def cells(self, rng: np.random.Generator) -> Floats:
        """Draw the amplification of each template and task, (K, T), whose expectation is 0."""
        rows = self._effects(self.templates, rng) * self.template_sd
        if self.families:
            # Templates of a family share most of their effect, also on a single task.
            rows = (
                0.3 * rows
                + 0.95 * (self._effects(len(self.families), rng) * self.template_sd)[self.family]
            )
        columns = self._effects(self.tasks, rng) * self.task_sd
        noise = rng.standard_normal((self.templates, self.tasks)) * self.cell_sd
        return np.asarray(rows[:, None] + columns + noise)

    @property
    def family(self) -> np.ndarray:
        return (
            np.repeat(np.arange(len(self.families)), self.families)
            if self.families
            else np.arange(self.templates)
        )

    def _effects(self, size: int, rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(size=size) - 1 if self.skewed else rng.standard_normal(size)


FEW_LARGE = (20, 4, 2, 2, 1, 1, 1, 1)
PROBES = (
    Crossed("a typical probe", 5, 32, 0.03, 0.1, 0.05, 0.993),
    Crossed("a typical probe", 20, 32, 0.03, 0.1, 0.05, 0.959),
    *(
        Crossed("templates vary most", templates, 32, 0.1, 0.05, 0.05, before)
        for templates, before in ((2, 0.720), (3, 0.878), (5, 0.952), (20, 0.956))
    ),
    Crossed("tasks vary most", 20, 32, 0.01, 0.15, 0.05, 0.965),
    Crossed("few of both", 5, 8, 0.05, 0.05, 0.05, 0.984),
    Crossed("few tasks", 20, 8, 0.03, 0.1, 0.05, 0.954),
    Crossed("only noise in the cells", 20, 32, 0.0, 0.0, 0.1, 1.000),
    Crossed("skewed effects", 20, 32, 0.05, 0.1, 0.05, 0.938, skewed=True),
    Crossed("skewed effects of few templates", 5, 32, 0.1, 0.05, 0.05, 0.918, skewed=True),
    *(
        Crossed("skewed effects of tasks", 40, tasks, 0.01, 0.08, 0.02, before, skewed=True)
        for tasks, before in ((10, 0.912), (14, 0.956), (20, 0.928), (32, 0.940))
    ),
    Crossed("10 families of 4", 40, 32, 0.1, 0.05, 0.05, 0.956, (4,) * 10),
    Crossed("families of 20, 4, 2, 2, 1, 1, 1, 1", 32, 32, 0.06, 0.02, 0.03, 0.952, FEW_LARGE),
    Crossed("the same, tasks vary as well", 32, 32, 0.06, 0.06, 0.03, 0.964, FEW_LARGE),
    Crossed("families of 10, 3, 1", 14, 32, 0.06, 0.02, 0.03, 0.852, (10, 3, 1)),
)


def cell_tables(cells: Floats, families: np.ndarray | None = None) -> RowTables:
    """Return tables of two groups whose amplification is `cells` (K, T), by a declared lean."""
    shift = np.clip(cells, -0.499, 0.499)
    logs = np.log(np.stack([0.5 + shift, 0.5 - shift], axis=1))
    base, lean = np.ones((2, cells.shape[1])), np.array([[1.0], [-1.0]])
    return row_tables(
        Direction.TASK_TO_ATTRIBUTE, logs, base, families=families, declared=lean * base
    )


def probe_study(
    probe: Crossed, runs: int, rng: np.random.Generator, resample: str = "both"
) -> Tally:
    tally = Tally()
    choices = IntervalSettings(resample=resample)
    for _ in range(runs):
        tables = cell_tables(probe.cells(rng), probe.family)
        (row,) = estimate_rows([tables], [None], choices)
        value = row.parts["value"]
        tally.add(
            value.interval,
            0.0,
            claims=value.verdict is not Verdict.UNDECIDED,
            noted=any(note.kind is NoteKind.FEW_UNITS for note in row.notes),
        )
    return tally


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs * 6 // 10, 20)
    yield "## Probes: templates crossed with tasks\n"
    yield (
        f"{runs} samples a line, the true value is 0. *false*: the share of samples with a verdict "
        "other than undecided; *note*: of those with a note that the units are few for effects "
        "as skewed as theirs.\n"
    )
    yield "| probe | templates × tasks | drawn | version before | now | false | note |"
    yield "|---|---|---|---:|---|---:|---:|"
    for probe in PROBES:
        for resample in ("both", "templates") if probe is PROBES[1] else ("both",):
            # A generator of its own, so that a new line changes no other.
            tally = probe_study(probe, runs, rng.spawn(1)[0], resample)
            before = f"{probe.before:.3f}" if resample == "both" else ""
            yield (
                f"| {probe.name} | {probe.templates} × {probe.tasks} | {resample} | {before} | "
                f"{tally} | {tally.share(tally.claims)} | {tally.share(tally.noted)} |"
            )
    yield _AFTER


_AFTER = """
The interval is Student's, with a standard error from a jackknife over families and resamples of
the tasks. It must hold for templates and tasks together and for each alone, so it is wider than
necessary where only single cells vary. **Where effects are skewed and the units are few, coverage
is too low**, and a note says so. An interval that resamples templates alone does not cover the
value over all tasks, which is the true value here. That 20 templates which vary most are covered
less often than 0.95 is chance: of 2,000 other samples 0.945 are.
"""
