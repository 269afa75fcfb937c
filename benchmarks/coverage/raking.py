"""Models that prefer words: what row and column factors do to the value and to its association."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.coverage.counted_bases import MODELS, model, predicted, world
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.metrics.raking import raked_conditional

STRENGTHS = (0.0, 0.5, 1.0, 2.0)


def factor_study(
    kind: str, direction: Direction, strength: float, runs: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """The mean value, the mean association, and the largest change of the latter."""
    values, parts, change = [], [], 0.0
    for _ in range(runs):
        joint = world(rng)
        tables = model(joint, kind, 10, rng)
        factors = rng.normal(0, strength, (10, 2, 1)) + rng.normal(0, strength, (10, 1, 32))
        base, lean = predicted(joint, direction), lean_of_counts(joint, direction)
        plain, distorted = (
            (lean * (raked_conditional(logs, joint, direction) - base)).mean(axis=(1, 2))
            for logs in (np.log(tables), np.log(tables) + factors)
        )
        values.append((lean * (predicted(tables * np.exp(factors), direction) - base)).mean())
        parts.append(distorted.mean())
        change = max(change, float(np.abs(plain - distorted).max()))
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
    for kind in MODELS[:2]:
        for direction in DIRECTIONS:
            for strength in STRENGTHS:
                value, part, change = factor_study(kind, direction, strength, runs, rng)
                yield (
                    f"| {kind} | {direction.short} | {strength:g} | {value:+.4f} | {part:+.4f} | "
                    f"{change:.0e} |"
                )
    yield _AFTER


_AFTER = """
The association does not depend on the factors; the value of the same model can even change its
sign.
"""
