"""Several trained models as training runs of one: their mean, uncertain in two ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.probing.row import ProbeRow, row_verdict
from lmprobe.results import Estimate, Interval
from lmprobe.stats.base_uncertainty import is_enough
from lmprobe.stats.methods.t import interval_over_runs
from lmprobe.stats.runs import mean_interval
from lmprobe.sweeping.result import Question, RunMean


def run_mean(question: Question, rows: Sequence[ProbeRow], confidence: float) -> RunMean | None:
    """Return the mean of the same row of several runs; None where a value is undefined."""
    estimates = [row.estimate for row in rows]
    claimed = [estimate.claimed for estimate in estimates]
    if len(rows) < 2 or not np.isfinite(claimed).all():
        return None
    value, corrected = float(np.mean([row.value for row in rows])), float(np.mean(claimed))

    def estimate(interval: Interval) -> Estimate:
        verdict = row_verdict(
            interval,
            any(row.foreign_lean for row in rows),
            informed=all(row.informed for row in rows),
            reliable=all(is_enough(row.base_reliability) for row in rows),
        )
        if all(one.corrected is None for one in estimates):
            return Estimate(value, interval, verdict)
        return Estimate(value, interval, verdict, corrected, value - corrected)

    return RunMean(
        question,
        len(rows),
        estimate(mean_interval([one.interval for one in estimates])),
        estimate(interval_over_runs(claimed, confidence)),
    )
