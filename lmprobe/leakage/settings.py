"""The choices of a leakage measurement, each with its default and help text.

Nothing heavy is imported here: the command line reads this module for its help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmprobe.metrics.direction import MissingCells
from lmprobe.results.settings import (
    EXPERT,
    STATISTICS,
    Settings,
    confidence_setting,
    missing_cells_setting,
    setting,
)

Average = Literal["macro", "micro"]
"""`macro`: the mean over labels, which the paper's code uses; `micro`: all decisions pooled."""


# Without slots, so that `LeakageSettings.seed` is the default: signatures are written with it.
@dataclass(frozen=True)
class LeakageSettings(Settings):
    """What decides the leakage of a table, apart from its columns."""

    at: float | None = setting(
        None, "Perturb the labels until they have this F1 and measure their leakage.", EXPERT
    )
    average: Average = setting("macro", "How the F1 is averaged over labels.", EXPERT)
    threshold: float | None = setting(
        None, "The score above which a label is predicted; by default 0.5, or 0 for logits.", EXPERT
    )
    attacker: str = setting(
        "auto",
        "The attacker that guesses the group: see `lmprobe ls attackers`; auto counts (exact) "
        "where labels have few combinations, and is logistic elsewhere.",
        STATISTICS,
    )
    layers: int | None = setting(None, "Layers of the attacker mlp, 4 in the paper.", EXPERT)
    width: int | None = setting(None, "Width of the attacker mlp, 300 in the paper.", EXPERT)
    share: float = setting(1.0, "Share of the train rows that the attacker sees.", EXPERT)
    rounds: int = setting(5, "Number of rounds, each with newly drawn balanced rows.", STATISTICS)
    missing_cells: MissingCells = missing_cells_setting()
    device: str = setting("auto", "The device: auto, cpu, cuda, cuda:1, mps.", EXPERT)
    confidence: float = confidence_setting()
    seed: int = setting(0, "Random seed.", STATISTICS, minimum=0)
