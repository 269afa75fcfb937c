"""Several trained models as training runs of one: their mean, uncertain in two ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.probing.row import ProbeRow
from lmprobe.results import Estimate, Interval
from lmprobe.stats.methods.t import interval_over_runs
from lmprobe.stats.runs import mean_interval
from lmprobe.stats.verdicts import row_verdict
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
            foreign=any(row.foreign_lean for row in rows),
            obstacle=next((row.obstacle for row in rows if row.obstacle), None),
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
