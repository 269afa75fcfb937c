"""The choices of a plan, each with its default and help text.

Nothing heavy is imported here: the command line reads this module for its help.
"""

from __future__ import annotations

from dataclasses import dataclass

from lmprobe.results.settings import Settings, setting


# Without slots, so that `PlanSettings.power` is the default: signatures are written with it.
@dataclass(frozen=True)
class PlanSettings(Settings):
    """What a plan takes as given."""

    method: str | None = setting(
        None, "One interval method; all by default.", flags=("--interval", "--method")
    )
    group_share: float = setting(0.5, "Share of the smaller group, at most 0.5.")
    cost_bound: float = setting(1.0, "The largest cost of a row.")
    variance: float | None = setting(
        None, "Known variance, with --interval; by default the worst case."
    )
    confidence: float = setting(0.95, "Confidence level of the interval, between 0 and 1.")
    power: float = setting(0.8, "Share of samples that are to claim a true effect of that size.")
