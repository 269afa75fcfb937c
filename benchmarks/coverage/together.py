"""Many rows at once: how often every interval of a result covers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lmprobe.stats.probe import probe_interval
from lmprobe.stats.simultaneous import JointRow, simultaneous_intervals

TEMPLATES, TASKS, ROWS = 20, 32, 8
FAMILIES = tuple(map(str, range(TEMPLATES)))
NAMES = tuple(map(str, range(TASKS)))


def rows(shared: float, rng: np.random.Generator) -> list[JointRow]:
    """Rows whose effects of templates and tasks have this share in common."""
    own, common = np.sqrt(1 - shared), np.sqrt(shared)

    def effects(*shape: int) -> np.ndarray:
        return np.asarray(
            common * rng.standard_normal((1, *shape)) + own * rng.standard_normal((ROWS, *shape))
        )

    cells = (
        0.05 * effects(TEMPLATES, 1, 1)
        + 0.1 * effects(1, 1, TASKS)
        + 0.05 * rng.standard_normal((ROWS, TEMPLATES, 2, TASKS))
    )
    return [JointRow(one, NAMES) for one in cells]


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 10, 20)
    yield "## Many rows at once\n"
    yield (
        f"{ROWS} rows of {TEMPLATES} templates and {TASKS} tasks, {runs} samples a line: the share "
        "in which all intervals cover, one by one and with `--simultaneous`, and their mean "
        "width.\n"
    )
    yield "| effects in common | one by one | simultaneous |\n|---:|---|---|"
    for shared in (0.0, 0.5, 0.95):
        covered, width = np.zeros(2), np.zeros(2)
        for _ in range(runs):
            drawn = rows(shared, rng)
            alone = [probe_interval(one.cells, rng=rng)[0] for one in drawn]
            joint = simultaneous_intervals(drawn, families=FAMILIES, rng=rng)
            covered += [all(0.0 in one for one in found) for found in (alone, joint)]
            width += [np.mean([one.width for one in found]) for found in (alone, joint)]
        cells = [f"{c / runs:.3f} ({w / runs:.3f})" for c, w in zip(covered, width, strict=True)]
        yield f"| {shared:.0%} | {cells[0]} | {cells[1]} |"
