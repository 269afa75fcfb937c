"""Tasks of uneven weight: the lean, the margins and the raking depend on a few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.worlds import Setting
from lmprobe.metrics.direction import Direction
from lmprobe.stats.row_tables import PARTS, STRENGTH

# Sizes, preference, and how often the version before covered value, association and preference.
CASES = {
    Direction.TASK_TO_ATTRIBUTE: (
        (0.0, 0.0, (0.988, 0.976, 0.932)),
        (0.0, 1.0, (0.988, 0.972, 1.000)),
        (1.0, 0.0, (0.996, 0.980, 0.904)),
        (1.0, 1.0, (0.872, 0.972, 0.896)),
        (2.0, 0.0, (0.952, 0.944, 0.600)),
        (2.0, 1.0, (0.692, 0.912, 0.708)),
    ),
    Direction.ATTRIBUTE_TO_TASK: (
        (0.0, 0.0, (1.000, 0.976, 0.992)),
        (0.0, 1.0, (0.988, 0.968, 0.992)),
        (1.0, 0.0, (1.000, 0.988, 0.988)),
        (1.0, 1.0, (0.956, 0.976, 0.960)),
        (2.0, 0.0, (0.956, 0.948, 0.900)),
        (2.0, 1.0, (0.932, 0.936, 0.928)),
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
In the version before (the figure before the arrow), the lean, the margins and the raking stayed
fixed while the tasks were resampled. The true values are the means of 500 probes of other templates
and as many other tasks. **The interval does not cover the preference given an attribute over all
tasks that there are so well**: with 10,000 tasks instead of 32 the preference is larger, and where
the model has none of its own it is covered in 0.940, 0.876 and 0.888 of the samples (sizes 0, 1 and
2); every other cell of the table is covered in at least 0.920 by that standard too.
"""
