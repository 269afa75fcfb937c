"""The choices of `lmprobe reproduce`; an experiment ignores those it has no use for.

Nothing heavy is imported here: the command line reads this module for its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmprobe.results.settings import COMPARED, MODEL, STATISTICS, Settings, setting

Preset = Literal["paper", "corrected"]
"""As the paper's published code computes it, or with its known mistakes corrected."""


@dataclass(frozen=True)
class ExperimentSettings(Settings):
    """What the caller of an experiment may choose."""

    model: str | None = setting(
        None,
        "The model to probe, a name or a folder; by default bert-base-uncased, as in the paper, or "
        "a bundled one where that is missing.",
        MODEL,
        metavar="MODEL",
    )
    preset: Preset | None = setting(
        None, "Compute as the paper's code does, or corrected; by default both.", COMPARED
    )
    wikipedia: str | None = setting(
        None, "A CSV with counts of Wikipedia, made by `lmprobe count`.", COMPARED, metavar="FILE"
    )
    seed: int = setting(0, "Random seed.", STATISTICS, minimum=0)
