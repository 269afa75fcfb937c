"""Leakage of language models that tell the truth: how often they leak more, or less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.coverage.tally import Tally
from benchmarks.coverage.worlds import Setting
from lmprobe.leakage.language import guess_rule
from lmprobe.leakage.result import LeakageMeasure, leakage_row
from lmprobe.metrics.direction import Direction
from lmprobe.results import Verdict
from lmprobe.stats.verdicts import IntervalSettings

# Noise of the cells, sentences of the base, false verdicts of the version before.
CASES = ((0.1, 0, 0.19), (0.3, 0, 0.87), (0.6, 0, 1.00), (0.1, 388, 0.97), (0.3, 388, 0.78))


def leakage_study(noise: float, sentences: int, runs: int, rng: np.random.Generator) -> Tally:
    """The amplification row of `language_leakage`; the truth is 0."""
    setting = Setting(
        Direction.ATTRIBUTE_TO_TASK, template_sd=0.0, cell_sd=noise, sentences=sentences
    )
    tally, choices = Tally(), IntervalSettings()
    for _ in range(runs):
        tables = replace(setting.draw(rng), own_rule=guess_rule, divides=False)
        number = choices.numbers_of(tables, value_alone=True)["value"]
        difference = number.combined(len(tables.tasks), number, 0.0)
        ends = choices.interval_of(difference, choices.confidence, 1.0)
        row = leakage_row(LeakageMeasure.AMPLIFICATION, difference.value, ends, ())
        tally.add(ends, 0.0, claims=row.estimate.verdict is not Verdict.UNDECIDED)
    return tally


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 4, 20)
    yield "## Leakage of a language model that tells the truth\n"
    yield (
        f"20 templates, 32 tasks, two groups, {runs} samples a line: the share that leaks more or "
        "less than the base.\n"
    )
    yield "| noise of the cells | base | false, version before | false | covers (width) |"
    yield "|---:|---:|---:|---:|---|"
    for noise, sentences, before in CASES:
        tally = leakage_study(noise, sentences, runs, rng.spawn(1)[0])
        base = f"{sentences:,}" if sentences else "exact"
        yield f"| {noise:g} | {base} | {before:.2f} | {tally.share(tally.claims)} | {tally} |"
    yield _AFTER


_AFTER = """
Both sides guess by the rule of the base. The version before let the guesser know the model, who
then finds more in one with more noise, and took counted sentences as exact.
"""
