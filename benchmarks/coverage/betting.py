"""Bounded costs that are not 0/1: `betting` beside methods without a guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.tally import Tally, fewer
from lmprobe.stats.method import groups_sample, interval

METHODS = ("bernstein", "betting", "bootstrap")
SIZES = ((10, 15), (40, 60), (160, 240))


@dataclass(frozen=True)
class Costs:
    """Costs of both groups with their means."""

    name: str
    draw: tuple[Callable[[np.random.Generator, int], np.ndarray], ...]
    means: tuple[float, float]


def beta(a: float, b: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: rng.beta(a, b, n)


def rare(chance: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return small costs, and now and then the largest."""
    return lambda rng, n: np.where(rng.random(n) < chance, 1.0, rng.beta(1, 20, n))


COSTS = (
    Costs("Beta(2, 6) in both groups", (beta(2, 6), beta(2, 6)), (0.25, 0.25)),
    Costs("Beta(4, 4) and Beta(2, 6)", (beta(4, 4), beta(2, 6)), (0.5, 0.25)),
    Costs(
        "small costs, 2 % and 5 % of 1",
        (rare(0.02), rare(0.05)),
        (0.02 + 0.98 / 21, 0.05 + 0.95 / 21),
    ),
)


def betting_study(
    costs: Costs, sizes: tuple[int, int], runs: int, rng: np.random.Generator
) -> dict[str, Tally]:
    results = {name: Tally() for name in METHODS}
    for _ in range(runs):
        first, second = (draw(rng, n) for draw, n in zip(costs.draw, sizes, strict=True))
        sample = fewer(groups_sample(first, second, cost_bound=1.0, group_share=0.4))
        for name in METHODS:
            truth = costs.means[0] - costs.means[1]
            results[name].add(interval(sample, method=name, rng=rng), truth)
    return results


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## Bounded costs that are not 0/1\n"
    yield "| costs | rows | " + " | ".join(METHODS) + " |"
    yield "|---|---" + "|---" * len(METHODS) + "|"
    for costs in COSTS:
        for sizes in SIZES:
            result = betting_study(costs, sizes, runs, rng)
            cells = " | ".join(map(str, result.values()))
            yield f"| {costs.name} | {sizes[0]} / {sizes[1]} | {cells} |"
    yield _AFTER


_AFTER = """
`betting`, the default for such costs, is guaranteed and adapts to the variance. `bernstein` takes
the variance as known. The bootstrap is narrower and not guaranteed.
"""
