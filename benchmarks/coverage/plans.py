"""Plans: how often the planned rows claim an effect, and the planned templates are enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
from scipy import stats

from benchmarks.coverage.disparities import Population
from lmprobe.stats.method import interval
from lmprobe.stats.planning import (
    VARIANCE_IS,
    Components,
    sample_size,
    smallest,
    templates_needed,
    variance_components,
)

EFFECTS = (0.3, 0.2, 0.1)
# A plan that asks for more units than this is none that anybody follows.
_MOST = 5000


@dataclass(frozen=True)
class Pilot:
    """A pilot, the units that are planned from it, and the effect in half-widths of the pilot."""

    name: str
    units: tuple[int, int]
    """Families of templates, and tasks."""
    deviations: tuple[float, float, float]
    """Of templates, of tasks and of single cells."""
    planned: str
    reach: float
    sizes: tuple[int, ...] = (1,)
    """Templates of each family, repeated in this order."""
    skewed: bool = False

    @property
    def effect(self) -> float:
        parts = Components(*(sd**2 for sd in self.deviations), *self.units, self.evenness)
        return self.reach * parts.halfwidth(*self.units, 0.95, 0.5)

    @property
    def evenness(self) -> float:
        sizes = np.bincount(self.families(self.units[0]))
        return float(sizes.sum() ** 2 / (sizes**2).sum() / len(sizes))

    def families(self, number: int) -> np.ndarray:
        """Return the family of each template."""
        return np.repeat(np.arange(number), list(islice(cycle(self.sizes), number)))

    def draw(self, families: int, tasks: int, rng: np.random.Generator) -> np.ndarray:
        """Return cells (K, 1, T): effects of families and tasks, and noise in each cell."""
        effects = (
            sd * (rng.exponential(size=n) - 1 if self.skewed else rng.standard_normal(n))
            for n, sd in zip((families, tasks), self.deviations[:2], strict=True)
        )
        family = self.families(families)
        rows, columns = next(effects)[family], next(effects)
        noise = rng.standard_normal((len(family), tasks)) * self.deviations[2]
        return (rows[:, None] + columns + noise)[:, None]


_ROWS, _COLUMNS = (0.1, 0.02, 0.05), (0.02, 0.1, 0.05)
PILOTS = (
    *(Pilot("templates vary most", size, _ROWS, "templates", 0.6) for size in ((10, 16), (20, 32))),
    Pilot("templates vary most, a larger effect", (10, 16), _ROWS, "templates", 1.6),
    *(Pilot("tasks vary most", size, _COLUMNS, "tasks", 0.7) for size in ((10, 16), (20, 32))),
    *(
        Pilot("both vary alike", size, (0.05, 0.05, 0.05), "templates", 1.2)
        for size in ((10, 16), (20, 32))
    ),
    Pilot("both vary alike", (20, 32), (0.05, 0.05, 0.05), "tasks", 1.2),
    *(
        Pilot("cells vary most", size, (0.02, 0.02, 0.1), "templates", 1.1)
        for size in ((10, 16), (20, 32))
    ),
    Pilot("uneven families", (12, 16), _ROWS, "templates", 0.6, sizes=(1, 1, 2, 8)),
    Pilot("a small pilot", (4, 6), _ROWS, "templates", 1.2),
    Pilot("skewed effects", (20, 32), _ROWS, "templates", 0.6, skewed=True),
)


def halfwidth(cells: np.ndarray, family: np.ndarray) -> float:
    """Return the half-width of Student's 95 % interval over families and tasks."""
    table = cells[:, 0]
    sizes, total = np.bincount(family), np.bincount(family, weights=table.mean(axis=1))
    left_out = (total.sum() - total) / (sizes.sum() - sizes)
    squares = np.array([left_out.var() * (len(sizes) - 1), table.mean(axis=0).var(ddof=1)])
    squares[1] /= table.shape[1]
    degrees = np.array([sizes.sum() ** 2 / (sizes**2).sum() - 1, table.shape[1] - 1])
    joint = squares.sum() ** 2 / (squares**2 / degrees).sum()
    errors = np.sqrt([squares.sum(), *squares])
    return float((stats.t.isf(0.025, [joint, *degrees]) * errors).max())


def normal_plan(pilot: Pilot, cells: np.ndarray, families: list[str]) -> int | None:
    """The plan as it was: the estimated variance taken as known, with the normal quantile."""
    parts, (k, t) = variance_components(cells, families), pilot.units

    def enough(n: int) -> bool:
        rows, columns = (n, t) if pilot.planned == "templates" else (k, n)
        variance = parts.templates / rows + parts.tasks / columns + parts.rest / (rows * columns)
        return stats.norm.isf(0.025) * math.sqrt(variance) < pilot.effect

    return smallest(enough, most=_MOST)


@dataclass
class Plans:
    """How many plans were made and held, and the units that they asked for."""

    runs: int
    units: list[int]
    held: int = 0

    def __str__(self) -> str:
        if not self.units:
            return "none | | "
        share, none = self.held / len(self.units), 1 - len(self.units) / self.runs
        return f"{share:.3f} | {none:.3f} | {np.median(self.units):.0f}"


def pilot_study(pilot: Pilot, runs: int, rng: np.random.Generator) -> tuple[Plans, Plans]:
    """Return the plans as they were and as they are."""
    before, after = Plans(runs, []), Plans(runs, [])
    names = [str(family) for family in pilot.families(pilot.units[0])]
    for _ in range(runs):
        cells = pilot.draw(*pilot.units, rng)
        plan = templates_needed(cells, pilot.effect, families=names)
        needed = plan.templates if pilot.planned == "templates" else plan.tasks
        for plans, n in ((before, normal_plan(pilot, cells, names)), (after, needed)):
            if n is not None and n <= _MOST:
                families, tasks = (n, pilot.units[1])
                if pilot.planned == "tasks":
                    families, tasks = pilot.units[0], n
                probe = pilot.draw(families, tasks, rng)
                plans.units.append(n)
                plans.held += halfwidth(probe, pilot.families(families)) < pilot.effect
    return before, after


def claimed(method: str, effect: float, n: int, runs: int, rng: np.random.Generator) -> float:
    """Return the share of samples of n rows whose interval excludes zero."""
    population = Population("", (0.5 + effect / 2, 0.5 - effect / 2), 0.5)
    samples = (population.draw(n, rng) for _ in range(runs))
    intervals = [interval(sample, method=method, rng=rng) for sample in samples if sample]
    return sum(0 not in interval for interval in intervals) / runs


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    few = min(runs, 300)
    yield "## Plans\n"
    yield (
        f"The share of {few} samples that claim an effect that is exactly the planned one, with "
        "the rows of the published definition and with those for a power of 0.8. Costs of 0 and "
        "1, even groups, rates around one half.\n"
    )
    yield "| method | effect | rows | claimed | rows for the power | claimed |"
    yield "|---|---:|---:|---:|---:|---:|"
    for method in VARIANCE_IS:
        for effect in EFFECTS:
            cells = [method, f"{effect:g}"]
            for power in (None, 0.8):
                n = sample_size(effect, method=method, power=power)
                cells += [f"{n}", f"{claimed(method, effect, n, few, rng):.3f}"]
            yield f"| {' | '.join(cells)} |"
    yield (
        f"\nPilots, {runs} of each: the share of plans whose probe has a half-width below the "
        "effect (*held*), the share of pilots without a plan, and the median number of units. "
        "Before: the estimated variance taken as known, with the normal quantile.\n"
    )
    yield (
        "| effects | pilot | planned | effect | before: held | no plan | units | "
        "now: held | no plan | units |"
    )
    yield "|---|---|---|---:" + "|---:" * 6 + "|"
    for pilot in PILOTS:
        before, after = pilot_study(pilot, runs, rng.spawn(1)[0])
        size = " × ".join(map(str, pilot.units))
        yield (
            f"| {pilot.name} | {size} | {pilot.planned} | {pilot.effect:.4f} | {before} | {after} |"
        )
    yield _AFTER


_AFTER = """
The published definition asks that an estimate as large as the effect be claimed, which half of
the samples show. `bernstein` plans with the largest variance that an amortized disparity can
have, so that more samples claim. `betting` and `bootstrap` are planned by the normal
approximation and fall short of it where fewer than about 150 rows are planned.

A pilot's plan uses an upper limit of each variance that the new probe will see, Student's
quantile and the variation of its own standard error, so that it asks for more units. It is made
for normal effects; where they are skewed, variances are estimated less well than it assumes.
Pilots without a plan say that no number of units is enough while the others stay the same. Where
they are many, the others are those that found small variances, and fewer of their plans hold.
"""
