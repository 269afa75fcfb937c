"""Tasks of uneven weight: the lean, the margins and the raking depend on a few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.worlds import Setting
from lmprobe.core.direction import Direction
from lmprobe.stats.row_tables import PARTS, STRENGTH

# Sizes, preference, and how often the version before covered value, association and preference.
CASES = {
    Direction.TASK_TO_ATTRIBUTE: (
        (0.0, 0.0, (0.987, 0.967, 0.907)),
        (0.0, 1.0, (0.987, 0.967, 1.000)),
        (1.0, 0.0, (0.993, 0.993, 0.793)),
        (1.0, 1.0, (0.880, 0.993, 0.900)),
        (2.0, 0.0, (0.913, 0.907, 0.587)),
        (2.0, 1.0, (0.693, 0.920, 0.707)),
    ),
    Direction.ATTRIBUTE_TO_TASK: (
        (0.0, 0.0, (0.993, 0.967, 0.993)),
        (0.0, 1.0, (0.987, 0.960, 0.993)),
        (1.0, 0.0, (0.993, 0.987, 0.980)),
        (1.0, 1.0, (0.960, 0.973, 0.947)),
        (2.0, 0.0, (0.953, 0.940, 0.847)),
        (2.0, 1.0, (0.907, 0.920, 0.933)),
    ),
}


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 4, 20)
    yield "## Tasks of uneven weight\n"
    yield (
        f"20 templates, 32 tasks, two groups, an exact base, a model whose links are 1.5 times as "
        f"strong, {runs} samples a line. *sizes*: the standard deviation of the logarithms of how "
        "often the tasks occur; *preference*: of the model for one group (T->A), or for some tasks "
        "(A->T), in logarithms.\n"
    )
    yield "| direction | sizes | preference | value | association | preference | strength |"
    yield "|---|---:|---:|---|---|---|---|"
    for direction, cases in CASES.items():
        for sizes, preference, before in cases:
            setting = Setting(
                direction, task_sizes=sizes, power=1.5, preference=preference, task_sd=0.1
            )
            tallies = setting.judged(runs, rng.spawn(1)[0])
            cells = [
                f"{old:.3f} → {tallies[part]}" for part, old in zip(PARTS, before, strict=True)
            ]
            shown = " | ".join([*cells, str(tallies[STRENGTH])])
            yield f"| {direction.short} | {sizes:g} | {preference:g} | {shown} |"
    yield _AFTER


_AFTER = """
The true values are those of 10,000 tasks. In the version before, the lean, the margins and the
raking stayed fixed while the tasks were resampled (the figure before the arrow, of 150 samples).
"""
