"""Two models compared: how often a difference is claimed that is not there, and one that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lmprobe.stats.comparison import equivalence_p_value, sign_flip_p_value
from lmprobe.stats.crossed import crossed_mean


@dataclass(frozen=True)
class Differences:
    """Differences of two models: effects of templates, of tasks and of single cells."""

    name: str
    templates: int
    tasks: int
    template_sd: float
    task_sd: float
    cell_sd: float
    skewed: bool = False

    def draw(self, effect: float, rng: np.random.Generator) -> np.ndarray:
        rows = self._effects((self.templates, 1), rng) * self.template_sd
        columns = self._effects((1, self.tasks), rng) * self.task_sd
        noise = rng.standard_normal((self.templates, self.tasks)) * self.cell_sd
        return np.asarray(effect + rows + columns + noise)

    def _effects(self, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        return rng.exponential(size=size) - 1 if self.skewed else rng.standard_normal(size)

    @property
    def standard_error(self) -> float:
        """The true spread of the mean difference."""
        k, t = self.templates, self.tasks
        parts = self.template_sd**2 / k + self.task_sd**2 / t + self.cell_sd**2 / (k * t)
        return float(np.sqrt(parts))


CASES = (
    Differences("both vary alike", 20, 32, 0.04, 0.05, 0.05),
    Differences("both vary alike, few templates", 6, 32, 0.02, 0.05, 0.05),
    Differences("both vary alike, three templates", 3, 32, 0.02, 0.05, 0.05),
    Differences("templates vary most, two templates", 2, 32, 0.05, 0.05, 0.05),
    Differences("few of both", 5, 8, 0.04, 0.05, 0.05),
    Differences("templates vary most", 20, 32, 0.10, 0.02, 0.05),
    Differences("tasks vary most", 20, 32, 0.01, 0.10, 0.05),
    Differences("only cells vary", 20, 32, 0.0, 0.0, 0.1),
    Differences("skewed effects", 20, 32, 0.04, 0.05, 0.05, skewed=True),
)


def one_axis(table: np.ndarray, rng: np.random.Generator) -> float:
    """The p-value as it was: the larger of two tests that each see one axis alone."""
    return max(
        float(sign_flip_p_value(table.mean(axis=1), rng)),
        float(sign_flip_p_value(table.mean(axis=0), rng)),
    )


# The two-way test takes microseconds, so its shares can be known to about 0.003.
_MORE = 20


def rejected(case: Differences, effect: float, runs: int, rng: np.random.Generator) -> np.ndarray:
    """The share of samples with p below 0.05: before, after, and equivalent within the margin."""
    margin = 4 * case.standard_error
    before, after = 0, np.zeros(2)
    for number in range(_MORE * runs):
        table = case.draw(effect, rng)
        if number < runs:
            before += one_axis(table, rng) <= 0.05
        mean = crossed_mean(table)
        assert mean is not None
        after += [mean.p_value() <= 0.05, equivalence_p_value(mean, margin) <= 0.05]
    return np.array([before / runs, *after / (_MORE * runs)])


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## Comparing two models\n"
    yield (
        "The share of samples in which a difference is claimed at 0.05. Before: the larger of two "
        "sign-flip tests, over templates and over tasks. After: the two-way test, on "
        f"{_MORE * runs:,} samples. *level*: there is no difference; *power*: it is three standard "
        "errors. *equivalent*: the models are called the same within four standard errors, when "
        "they are the same and when they differ by exactly that much.\n"
    )
    yield (
        "| differences | templates × tasks | level before | level after | power before | "
        "power after | equivalent, same | equivalent, at the margin |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for case in CASES:
        level = rejected(case, 0.0, runs, rng)
        power = rejected(case, 3 * case.standard_error, runs, rng)
        edge = rejected(case, 4 * case.standard_error, runs, rng)
        yield (
            f"| {case.name} | {case.templates} × {case.tasks} | {level[0]:.3f} | {level[1]:.3f} | "
            f"{power[0]:.3f} | {power[1]:.3f} | {level[2]:.3f} | {edge[2]:.3f} |"
        )
    yield _AFTER


_AFTER = """
A test over one axis takes the other as fixed, so if both vary, the larger p-value of two such
tests still rejects too often. The two-way test keeps its level, also with two or three templates;
for skewed effects, where no test of a mean is exact, it is slightly above.
"""
