"""How often a sweep ranks models that are the same: 20 copies of one model with noise.

The noise is independent between copies: of single cells, of whole templates, or of whole tasks.
A sweep errs if it separates any two. 5% are allowed.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

from lmprobe.metrics.direction import Direction
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings
from lmprobe.sweeping.summary import Contest, rank

TEMPLATES, TASKS, COPIES = 20, 32, 20
NOISE = {
    "cells": (TEMPLATES, 1, TASKS),
    "templates": (TEMPLATES, 1, 1),
    "tasks": (1, 1, TASKS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=500)
    options = parser.parse_args()
    for name, shape in NOISE.items():
        wrong = separated(shape, options.sweeps)
        p_value = stats.binomtest(wrong, options.sweeps, 0.05, alternative="greater").pvalue
        print(
            f"noise of {name}: {wrong} of {options.sweeps} sweeps separate two copies "
            f"({wrong / options.sweeps:.1%}), p = {p_value:.2g} of more than 5%",
            flush=True,
        )


def tables(cells: np.ndarray) -> RowTables:
    """Return the tables of a model whose amplification has these cells, (K, 1, T)."""
    predicted = np.concatenate([0.5 + cells, 0.5 - cells], axis=1)
    templates, tasks = (tuple(map(str, range(number))) for number in (TEMPLATES, TASKS))
    lean = np.array([[1.0], [-1.0]]) * np.ones(TASKS)
    return RowTables(
        Direction.TASK_TO_ATTRIBUTE,
        predicted,
        np.log(predicted),
        np.ones((2, TASKS)),
        templates,
        tasks,
        tasks,
        declared=lean,
    )


def separated(shape: tuple[int, int, int], sweeps: int) -> int:
    """Return in how many simulated sweeps some two copies are separated."""
    rng = np.random.default_rng(14)
    wrong = 0
    for seed in range(sweeps):
        model = rng.normal(0, 0.05, (TEMPLATES, 1, TASKS))
        contest = Contest(
            tuple(f"copy {number}" for number in range(COPIES)),
            tuple(tables(model + rng.normal(0, 0.02, shape)) for _ in range(COPIES)),
        )
        (result,) = rank([contest], IntervalSettings(seed=seed))
        wrong += bool(result.separated.any())
    return wrong


if __name__ == "__main__":
    main()
