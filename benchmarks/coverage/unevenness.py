"""Deviations without a lean: how often "uneven" is said where the groups are exchangeable."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.worlds import row_tables
from lmprobe.metrics.direction import Direction
from lmprobe.results import Verdict
from lmprobe.stats.verdicts import unevenness

# Families, templates of each, tasks, noise of a family and of a template; the version before.
CASES = (
    (8, 4, 16, 0.3, 0.1, 0.98),
    (5, 8, 16, 0.3, 0.1, 1.00),
    (12, 2, 16, 0.3, 0.3, 0.27),
    (20, 1, 16, 0.0, 0.3, 0.02),
)


def uneven_study(
    case: tuple[int, int, int, float, float, float], effect: float, runs: int,
    rng: np.random.Generator,
) -> tuple[float, float]:  # fmt: skip
    """Return how often "uneven" is said, and how often the interval covers."""
    families, size, tasks, family_sd, template_sd, _ = case
    family = np.repeat(np.arange(families), size)
    base = np.full((2, tasks), 0.5)
    claims = covers = 0
    for _ in range(runs):
        true = effect * rng.choice([-1.0, 1.0], tasks) * np.array([[1.0], [-1.0]])
        logs = true + family_sd * rng.standard_normal((families, 2, tasks))[family]
        logs = logs + template_sd * rng.standard_normal((len(family), 2, tasks))
        predicted = row_tables(Direction.TASK_TO_ATTRIBUTE, logs, base).predicted
        result = unevenness(predicted, base, families=[str(item) for item in family], rng=rng)
        claims += result.verdict is Verdict.UNEVEN
        covers += abs(0.5 - 1 / (1 + np.exp(2 * effect))) in result.interval
    return claims / runs, covers / runs


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs * 3 // 10, 20)
    yield "## Uneven without a lean\n"
    yield (
        f'{runs} samples a line, 16 tasks, two groups. *false*: the share that is "uneven" though '
        "the groups are exchangeable; *found*: where every pair is 0.05 away from even.\n"
    )
    yield (
        "| families × templates | noise of a family | of a template | false, version before | "
        "false | found | covers 0 | covers 0.05 |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for case in CASES:
        families, size, _, family_sd, template_sd, before = case
        none, some = (uneven_study(case, effect, runs, rng.spawn(1)[0]) for effect in (0.0, 0.1))
        yield (
            f"| {families} × {size} | {family_sd:g} | {template_sd:g} | {before:.2f} | "
            f"{none[0]:.3f} | {some[0]:.3f} | {none[1]:.3f} | {some[1]:.3f} |"
        )
    yield _AFTER


_AFTER = """
Groups are exchanged within whole families. The version before exchanged them within single
templates, as if the templates of a family had nothing in common.
"""
