"""Many rows at once: how often every interval of a result covers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.probes import cell_tables
from lmprobe.stats.resampling import Replicates
from lmprobe.stats.verdicts import IntervalSettings

TEMPLATES, TASKS, ROWS = 20, 32, 6
WAYS = ("one by one", "Bonferroni", "simultaneous")


def rows(shared: float, rng: np.random.Generator) -> list[Replicates]:
    """Values of rows whose effects of templates and tasks have this share in common."""
    own, common = np.sqrt(1 - shared), np.sqrt(shared)

    def effects(*shape: int) -> np.ndarray:
        return np.asarray(
            common * rng.standard_normal((1, *shape)) + own * rng.standard_normal((ROWS, *shape))
        )

    noise = rng.standard_normal((ROWS, TEMPLATES, TASKS))
    cells = 0.05 * effects(TEMPLATES, 1) + 0.1 * effects(1, TASKS) + 0.05 * noise
    tables = [cell_tables(row) for row in cells]
    return [IntervalSettings().numbers_of(table, value_alone=True)["value"] for table in tables]


def together_study(shared: float, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Return, for each way, the share in which all intervals cover, and their mean width."""
    choices, results = IntervalSettings(simultaneous=True), np.zeros((len(WAYS), 2))
    for _ in range(runs):
        numbers = rows(shared, rng)
        for way, confidence in enumerate((0.95, 1 - 0.05 / ROWS, choices.each(numbers))):
            ends = [choices.interval_of(number, confidence) for number in numbers]
            results[way] += all(0.0 in end for end in ends), np.mean([end.width for end in ends])
    return results / runs


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 5, 20)
    yield "## Many rows at once\n"
    yield (
        f"{ROWS} rows of {TEMPLATES} templates and {TASKS} tasks, {runs} samples a line: the share "
        "in which all intervals cover (and their mean width), one by one, with Bonferroni's share "
        "and with `--simultaneous`.\n"
    )
    yield f"| effects in common | {' | '.join(WAYS)} |\n|---:|---|---|---|"
    for shared in (0.0, 0.5, 0.95):
        result = together_study(shared, runs, rng.spawn(1)[0])
        cells = " | ".join(f"{covers:.3f} ({width:.3f})" for covers, width in result)
        yield f"| {shared:.0%} | {cells} |"
