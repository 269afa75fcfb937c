"""The choices of `amplify` and of `disparity`, each with its default and help text.

Nothing heavy is imported here: the command line reads this module for its help.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from lmprobe.errors import InputError
from lmprobe.metrics.direction import DisparityMeasure
from lmprobe.results.settings import Settings, setting

TableEngine = Literal["local", "ray"]
"""Where a table is counted: on this machine, or file by file on a Ray cluster."""

RowInterval = Literal["bootstrap", "none"]
"""The intervals of a table; `none` asks for the value alone."""


# Without slots, so that `AmplifySettings.seed` is the default: signatures are written with it.
@dataclass(frozen=True)
class AmplifySettings(Settings):
    """Which columns hold what, and how amplification is measured on them."""

    attribute: tuple[str, ...] = setting(
        (),
        "Column of the groups; several columns are crossed.",
        flags=("--attribute", "-a"),
        repeated=True,
    )
    task: tuple[str, ...] = setting(
        (),
        "Column of the task labels; each of several 0/1 columns is one task.",
        flags=("--task", "-t"),
        repeated=True,
    )
    task_prediction: tuple[str, ...] = setting(
        (),
        "Column of the predicted task, one per --task.",
        flags=("--task-prediction", "-p"),
        repeated=True,
    )
    attribute_prediction: tuple[str, ...] = setting(
        (), "Column of the predicted group, one per --attribute.", repeated=True
    )
    score: tuple[str, ...] = setting(
        (),
        "Column of scores, turned into predictions by --threshold, one per --task.",
        repeated=True,
    )
    threshold: str | None = setting(
        None,
        "The threshold of the scores: a number, `all`, or `calibrated` (default), at which as many "
        "rows are predicted positive as are labelled positive.",
    )
    validation: str | None = setting(None, "Table of whose scores the threshold is calibrated.")
    train: str | None = setting(
        None, "Table whose labels determine the lean; by default the table itself."
    )
    weight: str | None = setting(None, "Column of row weights.")
    train_weight: str | None = setting(None, "Column of row weights in the train table.")
    run_column: str | None = setting(None, "Column that names the training run of a row.")
    cluster: str | None = setting(
        None,
        "Column that names the cluster of a row, such as the person on a photo; clusters are "
        "resampled as a whole.",
    )
    keep_unseen: bool = setting(
        False, "Count pairs whose label never occurs as 0, as the published code does."
    )
    metrics: tuple[str, ...] = setting(
        (),
        "Another metric to compute too: see `lmprobe ls metrics`.",
        flags=("--metric",),
        repeated=True,
    )
    interval: RowInterval = setting("bootstrap", "The interval method.")
    confidence: float = setting(0.95, "Confidence level of the interval, between 0 and 1.")
    seed: int = setting(0, "Random seed.", minimum=0)
    engine: TableEngine = setting("local", "Where the table is counted.")

    def __post_init__(self) -> None:
        """Check that the choices go together."""
        from lmprobe.stats.method import intervals

        intervals.refuse_removed(self.interval)
        Settings.__post_init__(self)
        if not 0 < self.confidence < 1:
            raise InputError(
                f"`confidence` must lie between 0 and 1, both excluded: found {self.confidence}"
            )
        if not self.score and (self.threshold or self.validation):
            raise InputError("--threshold and --validation need --score")
        if self.validation and self.fixed_threshold is not None:
            raise InputError("--validation chooses a threshold; --threshold gives one already")
        if self.train_weight and not self.train:
            raise InputError("--train-weight needs --train")

    @property
    def fixed_threshold(self) -> float | None:
        """The value of the threshold, where it is given as a value."""
        if self.threshold in (None, "calibrated", "all"):
            return None
        try:
            value = float(str(self.threshold))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(
                f"--threshold must be calibrated, all or a number, found {self.threshold!r}"
            )
        return value


@dataclass(frozen=True)
class DisparitySettings(Settings):
    """What decides the numbers of a disparity, apart from the table and its columns."""

    measure: DisparityMeasure = setting(
        "demographic_parity",
        "The measure that is compared between the groups.",
        flags=("--measure", "-m"),
    )
    method: str = setting(
        "auto",
        "The interval method: see `lmprobe ls intervals`; auto is exact for 0/1 costs, "
        "betting for others.",
        flags=("--interval", "--method"),
    )
    group_share: float | None = setting(
        None, "Known lower bound on the smaller group's share of the population."
    )
    confidence: float = setting(0.95, "Confidence level of the interval, between 0 and 1.")
    seed: int = setting(0, "Random seed.", minimum=0)
