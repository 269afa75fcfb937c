"""Probes against a base of few counted sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.coverage.worlds import Setting
from lmprobe.metrics.direction import DIRECTIONS
from lmprobe.stats.verdicts import IntervalSettings

TRUTHFUL = Setting()
MODELS = {
    "tells the truth": (TRUTHFUL, (100, 388, 1000, 4000)),
    "amplifies strong links most": (Setting(power=1.6), (388, 4000)),
    "amplifies all links alike": (Setting(even=0.3), (388, 4000)),
}
TOGETHER = IntervalSettings(simultaneous=True, resample="templates")


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 6, 20)
    yield "## Bases of few counted sentences\n"
    yield (
        f"20 templates, 32 tasks, two groups, {runs} samples a line: `corrected`, its interval and "
        "its verdict. *claims*: the share of samples with a verdict other than undecided, for a "
        "model that tells the truth a false one; *refused*: too few sentences for one.\n"
    )
    yield "| model | direction | sentences | truth | value | claims | association | refused |"
    yield "|---|---|---:|---:|---|---:|---|---:|"
    for name, (model, sizes) in MODELS.items():
        for direction in DIRECTIONS:
            for sentences in sizes:
                setting = replace(model, direction=direction, sentences=sentences)
                tallies = setting.judged(runs, rng.spawn(1)[0])
                value = tallies["value"]
                yield (
                    f"| {name} | {direction.short} | {sentences:,} | "
                    f"{setting.truth()['value']:+.4f} | {value} | {value.share(value.claims)} | "
                    f"{tallies['association']} | {value.share(value.refused)} |"
                )
    yield (
        "\n`--simultaneous --resample templates`, a model that tells the truth, 388 sentences; in "
        "the version before, 0.50 of the verdicts were false.\n"
    )
    yield "| direction | value: claims | association: claims | preference: claims |"
    yield "|---|---:|---:|---:|"
    for direction in DIRECTIONS:
        setting = replace(TRUTHFUL, direction=direction, sentences=388)
        tallies = setting.judged(runs, rng.spawn(1)[0], TOGETHER)
        cells = " | ".join(tally.share(tally.claims) for tally in list(tallies.values())[:3])
        yield f"| {direction.short} | {cells} |"
    yield _AFTER


_AFTER = """
With the published formula, the verdict for a truthful model is almost always "reduces" if there
are few sentences (86 % of samples at 388): a pair that was counted too often by chance has the
lean +1 and a base rate that is too high. With a lean from other sentences than the rates this does
not happen at any size. The share of an amplification that a small base shows is estimated and
divided out, which makes the interval wide; if it is below one half there is no verdict. The last
model is the hardest case: it amplifies weak links as much as strong ones, and the lean of weak
links is most often wrong in a small base.
"""
