"""The interval around directional amplification on labelled rows (vision, tabular)."""

from __future__ import annotations

import numpy as np

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.intervals.method import checked_confidence
from lmprobe.intervals.methods.bootstrap import of_replicates
from lmprobe.intervals.row_sums import RowSums
from lmprobe.results.interval import Interval


def bootstrap_interval(
    rows: RowSums,
    *,
    train: RowSums | None = None,
    keep_unseen: bool = False,
    confidence: float = 0.95,
    rng: np.random.Generator,
    replicates: int | None = None,
) -> dict[Direction, Interval]:
    """Return the bootstrap interval of each direction, from the sums of the units alone.

    The lean is that of the train rows, or of all rows, in every replicate.
    """
    checked_confidence(confidence)
    if rows.units < 2:
        return {one: Interval.too_few_units(confidence, "bootstrap") for one in rows.directions}
    signs = (train or rows).total.lean(keep_unseen=keep_unseen)
    values: dict[Direction, list[Floats]] = {direction: [] for direction in rows.directions}
    for count in rows.blocks(replicates or rows.replicates):
        sums = rows.resampled(count, rng)
        for direction in rows.directions:
            values[direction].append(sums.value(direction, signs))
    return {
        direction: of_replicates(np.concatenate(parts), units=rows.units, confidence=confidence)
        for direction, parts in values.items()
    }
