"""Models that prefer words: what row and column factors do to the value and to its association."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.worlds import Setting
from lmprobe.metrics.direction import DIRECTIONS

FACTORS = (0.0, 0.5, 1.0, 2.0)
MODELS = {"tells the truth": 1.0, "amplifies strong links most": 1.6}


def factor_study(
    setting: Setting, strength: float, runs: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """The mean value, the mean association, and the largest change of the latter."""
    values, parts, change = [], [], 0.0
    for _ in range(runs):
        joint = setting.world(rng)
        logs = setting.model(joint, rng)
        factors = rng.normal(0, strength, (10, 2, 1)) + rng.normal(0, strength, (10, 1, 32))
        plain, distorted = (
            setting.tables(table, joint).published() for table in (logs, logs + factors)
        )
        values.append(distorted["value"].mean())
        parts.append(distorted["association"].mean())
        change = max(change, float(np.abs(plain["association"] - distorted["association"]).max()))
    return float(np.mean(values)), float(np.mean(parts)), change


def study(runs: int, rng: np.random.Generator) -> Iterator[str]:
    """Give the section of the page."""
    runs = max(runs // 5, 20)
    yield "## Association under preferences\n"
    yield (
        f"Every template's table is multiplied by random factors of its rows and columns, {runs} "
        "samples a line; *factors* is the standard deviation of their logarithms.\n"
    )
    yield (
        "| model | direction | factors | mean value | mean association | "
        "largest change of a template's association |"
    )
    yield "|---|---|---:|---:|---:|---:|"
    for kind, power in MODELS.items():
        for direction in DIRECTIONS:
            for strength in FACTORS:
                setting = Setting(direction, templates=10, power=power)
                value, part, change = factor_study(setting, strength, runs, rng)
                yield (
                    f"| {kind} | {direction.short} | {strength:g} | {value:+.4f} | {part:+.4f} | "
                    f"{change:.0e} |"
                )
    yield _AFTER


_AFTER = """
The association does not depend on the factors; the value of the same model can even change its
sign.
"""
