"""How sure a leakage is: the spread over rounds, and the error of a finite test sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.intervals.method import checked_confidence
from lmprobe.leakage.inputs import Codes, GroupLabels
from lmprobe.leakage.rounds import Trial
from lmprobe.results.interval import Interval

METHOD = "t over rounds and test rows"
"""Adds two variances: between rounds (which examples, which start) and between test rows."""


def leakage_interval(
    values: Sequence[float],
    score: Floats,
    groups: GroupLabels,
    *,
    bounds: tuple[float, float],
    confidence: float,
) -> Interval:
    """Return the interval of the mean over rounds.

    `score` (n,) is what each example contributed, averaged over the rounds that tested
    it; NaN where none did. The variance between rounds alone would call five attackers
    that agree on the same 300 test rows certain, so that of a mean over test rows,
    stratified by group, is added; the degrees of freedom are Satterthwaite's.
    """
    from scipy import stats

    checked_confidence(confidence)
    runs = np.asarray(values, dtype=np.float64)
    between = float(runs.var(ddof=1)) / len(runs)
    within, tested = _row_variance(score, groups, bounds)
    total = between + within
    freedom = total**2 / (between**2 / (len(runs) - 1) + within**2 / (tested - 1))
    half = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(total)
    centre = float(runs.mean())
    return Interval(
        max(bounds[0], centre - half), min(bounds[1], centre + half), confidence, METHOD
    )


def _row_variance(
    score: Floats, groups: GroupLabels, bounds: tuple[float, float]
) -> tuple[float, int]:
    """Return the variance of the mean over test rows, every group weighing the same."""
    variance, tested = 0.0, 0
    for group in range(len(groups.names)):
        own = score[(groups.codes == group) & ~np.isnan(score)]
        # Two made-up rows, one at each bound: rows that all agree are not certainty.
        padded = np.append(own, bounds)
        variance += float(padded.var(ddof=1)) / len(own)
        tested += len(own)
    return variance / len(groups.names) ** 2, tested


def score_guesses(
    guesses: Sequence[Codes], trials: Sequence[Trial]
) -> tuple[tuple[float, ...], Floats]:
    """Return the accuracy of each round, and each example's over rounds (NaN if never tested)."""
    right, times = np.zeros((2, len(trials[0].groups.codes)))
    values = []
    for guess, trial in zip(guesses, trials, strict=True):
        correct = guess == trial.truth
        values.append(float(correct.mean()))
        right[trial.rows.test] += correct
        times[trial.rows.test] += 1
    return tuple(values), np.where(times > 0, right / np.maximum(times, 1), np.nan)
