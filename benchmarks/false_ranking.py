"""How often a sweep ranks models that are the same: 20 copies of one model with noise.

The noise is independent between copies: of single cells, of whole templates, or of whole tasks.
A sweep errs if it separates any two. 5% are allowed.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

from lmprobe.sweeping.ranking import REPLICATES, Contest, rank

TEMPLATES, TASKS, COPIES = 20, 32, 20
NOISE = {
    "cells": (TEMPLATES, 2, TASKS),
    "templates": (TEMPLATES, 1, 1),
    "tasks": (1, 1, TASKS),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    options = parser.parse_args()
    for name, shape in NOISE.items():
        wrong = separated(shape, options.sweeps, options.replicates)
        p_value = stats.binomtest(wrong, options.sweeps, 0.05, alternative="greater").pvalue
        print(
            f"noise of {name}: {wrong} of {options.sweeps} sweeps separate two copies "
            f"({wrong / options.sweeps:.1%}), p = {p_value:.2g} of more than 5%",
            flush=True,
        )


def separated(shape: tuple[int, int, int], sweeps: int, replicates: int) -> int:
    """Return in how many simulated sweeps some two copies are separated."""
    rng = np.random.default_rng(14)
    wrong = 0
    for seed in range(sweeps):
        model = rng.normal(0, 0.1, (TEMPLATES, 2, TASKS))
        contest = Contest(
            models=tuple(f"copy {number}" for number in range(COPIES)),
            cells=tuple(model + rng.normal(0, 0.02, shape) for _ in range(COPIES)),
            tasks=tuple(f"task {number}" for number in range(TASKS)),
            families=tuple(f"template {number}" for number in range(TEMPLATES)),
            templates="set",
        )
        (found,) = rank([contest], replicates=replicates, seed=seed)
        wrong += bool(found.separated.any())
    return wrong


if __name__ == "__main__":
    main()
