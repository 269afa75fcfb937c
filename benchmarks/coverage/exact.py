"""0/1 costs of two small groups: coverage at every pair of rates, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
from scipy import stats

from lmprobe.stats.methods.proportions import exact_interval, score_interval

SIZES = (5, 10, 20, 40, 60)
GRID = np.unique([*np.linspace(0, 1, 201), 0.0005, 0.001, 0.002, 0.998, 0.999, 0.9995])


def intervals_of(n_a: int, n_b: int, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of every outcome, (n_a + 1, n_b + 1) each."""
    x, y = np.meshgrid(np.arange(n_a + 1), np.arange(n_b + 1), indexing="ij")
    if method == "score":
        return score_interval(x, n_a, y, n_b, confidence=0.95)
    ends = [
        [exact_interval(a, n_a, b, n_b, confidence=0.95) for b in range(n_b + 1)]
        for a in range(n_a + 1)
    ]
    return np.array(ends)[..., 0], np.array(ends)[..., 1]


def coverage(n_a: int, n_b: int, method: str) -> tuple[float, float]:
    """Return the least coverage over the grid of rates, and the mean width over outcomes."""
    low, high = intervals_of(n_a, n_b, method)
    first, second = (stats.binom.pmf(np.arange(n + 1), n, GRID[:, None]) for n in (n_a, n_b))
    least = 1.0
    for p_a, chances in zip(GRID, first, strict=True):
        for p_b, others in zip(GRID, second, strict=True):
            covers = (low <= p_a - p_b + 1e-12) & (p_a - p_b - 1e-12 <= high)
            least = min(least, float(chances @ covers @ others))
    return least, float((high - low).mean())


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page; nothing in it is random."""
    yield "## Two small groups with 0/1 costs: least coverage over all rates\n"
    yield "| rows | score | exact | width of score | width of exact |\n|---|---:|---:|---:|---:|"
    for n_a, n_b in combinations_with_replacement(SIZES, 2):
        before, after = (coverage(n_a, n_b, method) for method in ("score", "exact"))
        cells = (f"{before[0]:.4f}", f"{after[0]:.4f}", f"{before[1]:.3f}", f"{after[1]:.3f}")
        yield f"| {n_a} / {n_b} | " + " | ".join(cells) + " |"
    yield _AFTER


_AFTER = f"""
Every outcome is enumerated, at each pair of {len(GRID)} rates from 0 to 1: the numbers are exact,
not simulated. `exact`, the default for 0/1 costs, is guaranteed: its coverage is never below 95
%. `score` inverts the same test with an approximate distribution, and its coverage falls below 95
% for rates near 0 and 1. The cost of the guarantee is the difference of the widths, averaged over
all outcomes.
"""
