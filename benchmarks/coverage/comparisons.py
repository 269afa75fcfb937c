"""Two models compared: how often a difference is claimed that is not there, and one that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.coverage.probes import FEW_LARGE, Crossed, cell_tables
from benchmarks.coverage.tally import Tally
from benchmarks.coverage.worlds import Setting
from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.stats.comparison import compare_tables
from lmprobe.stats.verdicts import IntervalSettings

# `before` is the level of the version before.
CASES = (
    Crossed("both vary alike", 20, 32, 0.04, 0.05, 0.05, 0.050),
    Crossed("both vary alike, three templates", 3, 32, 0.02, 0.05, 0.05, 0.043),
    Crossed("templates vary most, two templates", 2, 32, 0.05, 0.05, 0.05, 0.043),
    Crossed("few of both", 5, 8, 0.04, 0.05, 0.05, 0.042),
    Crossed("templates vary most", 20, 32, 0.10, 0.02, 0.05, 0.049),
    Crossed("tasks vary most", 20, 32, 0.01, 0.10, 0.05, 0.051),
    Crossed("only cells vary", 20, 32, 0.0, 0.0, 0.1, 0.027),
    Crossed("skewed effects", 20, 32, 0.04, 0.05, 0.05, 0.067, skewed=True),
    Crossed("families of 20, 4, 2, 2, 1, 1, 1, 1", 32, 32, 0.06, 0.02, 0.03, 0.268, FEW_LARGE),
    Crossed("families of 10, 3, 1", 14, 32, 0.06, 0.02, 0.03, 0.132, (10, 3, 1)),
)
_LEVEL = 0.05


def standard_error(case: Crossed) -> float:
    """Return the true spread of the mean difference."""
    k, t = case.templates, case.tasks
    # The templates of a family share 0.95 of their effect, and have 0.3 of their own.
    shared = sum(size**2 for size in case.families) / k**2
    by_template = 0.09 / k + 0.9025 * shared if case.families else 1 / k
    parts = case.template_sd**2 * by_template + case.task_sd**2 / t + case.cell_sd**2 / (k * t)
    return float(np.sqrt(parts))


def rejected(case: Crossed, effect: float, runs: int, rng: np.random.Generator) -> np.ndarray:
    """The shares of samples with a difference, and with equivalence within the margin, at 0.05."""
    margin = 4 * standard_error(case)
    result = np.zeros(2)
    for _ in range(runs):
        cells = effect + case.cells(rng)
        first, second = (cell_tables(cell, case.family) for cell in (0 * cells, cells))
        compared = compare_tables(first, second, IntervalSettings(), margin=margin)
        assert compared.p_equivalence is not None
        result += [compared.p_value <= _LEVEL, compared.p_equivalence <= _LEVEL]
    return result / runs


def counted_study(first: Setting, second: Setting, runs: int, rng: np.random.Generator) -> Tally:
    """Two models of the same worlds, against the same counted base."""
    tally = Tally()
    truth = second.truth()["value"] - first.truth()["value"]
    for _ in range(runs):
        # The same world and the same sentences; templates and cells have noise of their own.
        world, own = rng.spawn(2)
        joint = first.world(world)
        base = first.counts(joint, world)
        tables = [setting.tables(setting.model(joint, own), base) for setting in (first, second)]
        compared = compare_tables(tables[0], tables[1], IntervalSettings())
        tally.add(compared.interval, truth, claims=compared.p_value <= _LEVEL)
    return tally


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs * 3 // 10, 20)
    few = max(runs // 3, 10)
    yield "## Comparing two models\n"
    yield (
        f"The share of samples in which `compare` claims a difference at 0.05. *level*: there is "
        f"none ({runs} samples); *power*: it is three standard errors ({few} samples). "
        "*equivalent*: the models are called the same within four standard errors, when they are "
        "the same and when they differ by exactly that much.\n"
    )
    yield (
        "| differences | templates × tasks | level, version before | level | power | "
        "equivalent, same | equivalent, at the margin |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for case in CASES:
        generators, error = rng.spawn(3), standard_error(case)
        level = rejected(case, 0.0, runs, generators[0])
        power = rejected(case, 3 * error, few, generators[1])
        edge = rejected(case, 4 * error, few, generators[2])
        yield (
            f"| {case.name} | {case.templates} × {case.tasks} | {case.before:.3f} | "
            f"{level[0]:.3f} | {power[0]:.3f} | {level[1]:.3f} | {edge[1]:.3f} |"
        )
    yield (
        f"\nAgainst a base of 388 counted sentences, {few} samples a line; in the version before "
        "the interval covered 0.88.\n"
    )
    yield "| second model | direction | covers (width) | claims |\n|---|---|---|---:|"
    for name, times in (("is as truthful", 1.0), ("amplifies strong links most", 1.6)):
        for direction in DIRECTIONS:
            first = Setting(direction, sentences=388)
            tally = counted_study(first, replace(first, power=times), few, rng.spawn(1)[0])
            yield f"| {name} | {direction.short} | {tally} | {tally.share(tally.claims)} |"
    yield _AFTER


_AFTER = """
The degrees of freedom of families of uneven size are those of as many equal ones as are worth as
much. For skewed effects, where no test of a mean is exact, the level is slightly too high.
"""
