"""Several trained models as training runs of one: their mean, uncertain in two ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.probing.row import ProbeRow
from lmprobe.results import Verdict
from lmprobe.stats.runs import mean_of_runs
from lmprobe.sweeping.result import Question, RunMean


def run_mean(question: Question, rows: Sequence[ProbeRow]) -> RunMean | None:
    """Return the mean of the same row of several runs; None where a value is undefined."""
    estimates = [row.estimate for row in rows]
    if len(rows) < 2 or not np.isfinite([estimate.claimed for estimate in estimates]).all():
        return None
    above, below = Verdict.AMPLIFIES, Verdict.REDUCES
    if any(row.foreign_lean for row in rows):
        above, below = Verdict.FOLLOWS, Verdict.OPPOSES
    mean = mean_of_runs(estimates, above=above, below=below, span=(-1.0, 1.0))
    return RunMean(question, len(rows), mean)
