"""Group disparities: every method on populations of costs with known means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.tally import Tally, fewer
from lmprobe.results.verdict import Interval
from lmprobe.stats.method import Sample, groups_sample, interval
from lmprobe.stats.methods.proportions import score_interval

DISPARITY = ("bernstein", "score", "bootstrap")


@dataclass(frozen=True)
class Population:
    """Two groups whose rows cost 1 with these chances (or so much on average)."""

    name: str
    chances: tuple[float, float]
    share: float
    skewed: bool = False

    @property
    def truth(self) -> float:
        return self.chances[0] - self.chances[1]

    def draw(self, n: int, rng: np.random.Generator) -> Sample | None:
        protected = int(rng.binomial(n, self.share))
        sizes = (protected, n - protected)
        if min(sizes) == 0:
            return None
        costs = [self._costs(p, size, rng) for p, size in zip(self.chances, sizes, strict=True)]
        sample = groups_sample(
            costs[0], costs[1], cost_bound=1.0, group_share=min(self.share, 1 - self.share)
        )
        return fewer(sample)

    def _costs(self, mean: float, size: int, rng: np.random.Generator) -> np.ndarray:
        if self.skewed:
            # The share of five annotators who disagree, as in the paper's MNLI experiment.
            return rng.binomial(5, rng.beta(mean, 1 - mean, size)) / 5
        return (rng.random(size) < mean).astype(np.float64)


POPULATIONS = (
    Population("common costs, 0.5 and 0.4, even groups", (0.5, 0.4), 0.5),
    Population("common costs, 0.5 and 0.4, 10 % protected", (0.5, 0.4), 0.1),
    Population("rare costs, 0.05 and 0.02, even groups", (0.05, 0.02), 0.5),
    Population("rare costs, 0.05 and 0.02, 10 % protected", (0.05, 0.02), 0.1),
    Population("no difference, 0.2, 20 % protected", (0.2, 0.2), 0.2),
    Population("fractions of five, mean 0.2 and 0.1, 30 % protected", (0.2, 0.1), 0.3, skewed=True),
)
SIZES = (50, 200, 1000, 5000)


def disparity_study(
    population: Population, n: int, runs: int, rng: np.random.Generator
) -> dict[str, Tally]:
    methods = [name for name in DISPARITY if name != "score"]
    tallies = {name: Tally() for name in DISPARITY}
    counts: list[tuple[int, int, int, int]] = []
    done = 0
    while done < runs:
        sample = population.draw(n, rng)
        if sample is None:
            continue
        done += 1
        for name in methods:
            tallies[name].add(interval(sample, method=name, rng=rng), population.truth)
        groups = sample.groups
        assert groups is not None
        counts.append(
            (int(groups.protected.sum()), len(groups.protected),
             int(groups.other.sum()), len(groups.other))
        )  # fmt: skip
    if population.skewed:
        del tallies["score"]
        return tallies
    for low, high in zip(*score_interval(*np.array(counts).T, confidence=0.95), strict=True):
        tallies["score"].add(Interval(low, high, 0.95, "score"), population.truth)
    return tallies


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## Group disparities\n"
    yield "| population | n | " + " | ".join(DISPARITY) + " |"
    yield "|---|---:" + "|---" * len(DISPARITY) + "|"
    for population in POPULATIONS:
        for n in SIZES:
            result = disparity_study(population, n, runs, rng)
            cells = [str(result[name]) if name in result else "–" for name in DISPARITY]
            yield f"| {population.name} | {n} | " + " | ".join(cells) + " |"
    yield _AFTER


_AFTER = """
`bernstein` is as published: it takes the variance and the group shares as known, and they are
estimated here. The coverage of `score` and of the bootstrap approaches 95 % as n grows. **If a
group has few rows, or few of the rarer cost, the bootstrap interval is far too narrow**: a cost
that does not occur in the sample occurs in no resample. Results then have no bootstrap interval
or a warning; use `auto` (the next sections).
"""
