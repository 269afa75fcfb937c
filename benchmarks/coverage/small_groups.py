"""Where a bootstrap of two groups cannot cover: what was given before, what is given now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.coverage.tally import Tally
from lmprobe.results import NoteKind
from lmprobe.stats.method import groups_sample, interval
from lmprobe.tabular.disparity import group_disparity

CELLS = (
    ((5, 45), (0.1, 0.1)),
    ((12, 48), (0.3, 0.2)),
    ((20, 180), (0.05, 0.05)),
    ((20, 180), (0.3, 0.2)),
    ((100, 100), (0.3, 0.2)),
)


def small_study(
    sizes: tuple[int, int], rates: tuple[float, float], runs: int, rng: np.random.Generator
) -> tuple[Tally, Tally, float, Tally]:
    """Return the bootstrap as it was, as it is, how often it warns, and `auto`."""
    before, after, auto = Tally(), Tally(), Tally()
    warned = 0
    groups = np.repeat(["a", "b"], sizes)
    truth = rates[0] - rates[1]
    for _ in range(runs):
        costs = [(rng.random(n) < rate).astype(float) for n, rate in zip(sizes, rates, strict=True)]
        share = min(sizes) / sum(sizes)
        sample = groups_sample(*costs, cost_bound=1.0, group_share=share)
        bare = interval(sample, method="bootstrap", rng=rng)
        # No spread and no width: an interval that misses.
        before.add(bare, truth)
        shared: dict[str, Any] = {"sensitive_features": groups, "protected": "a"}
        given = group_disparity(None, 1 - np.concatenate(costs), method="bootstrap", **shared)
        after.add(given.interval, truth)
        warned += any(note.kind is NoteKind.FEW_UNITS for note in given.notes)
        auto.add(group_disparity(None, 1 - np.concatenate(costs), **shared).interval, truth)
    return before, after, warned / runs, auto


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    yield "## The bootstrap of small groups and rare costs, before and after\n"
    yield "| rows | rates | bootstrap before | bootstrap now | warns | auto |"
    yield "|---|---|---|---|---:|---|"
    for sizes, rates in CELLS:
        before, after, warned, auto = small_study(sizes, rates, min(runs, 200), rng)
        cells = f"{before} | {after} | {warned:.0%} | {auto}"
        yield f"| {sizes[0]} / {sizes[1]} | {rates[0]:g} / {rates[1]:g} | {cells} |"
    yield _AFTER


_AFTER = """
At most 200 samples. "Before" is the bootstrap without the rules, "now" with them: a group of
fewer than ten rows, or one whose costs are all equal, has no bootstrap interval ("none"), and a
note says why; fewer than twenty rows, or five of the rarer cost, give a warning. `auto` always
gives an interval.
"""
