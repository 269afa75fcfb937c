"""The mean over several training runs: one estimate, uncertain over rows and over runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lmprobe.results import Estimate, Interval, IntervalStatus, Note, NoteKind, Verdict, decide
from lmprobe.stats.methods.resampled import interval_over_runs


def mean_of_runs(
    estimates: Sequence[Estimate],
    *,
    above: Verdict = Verdict.AMPLIFIES,
    below: Verdict = Verdict.REDUCES,
    reference: float = 0.0,
    span: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Return the mean of what several runs claim; `span` is the range of the quantity.

    The runs see the same rows (or templates) as a rule, so the mean of their half-widths covers
    other rows, and Student's interval over the claimed values other runs. The two are
    independent, so each side is the root of the sum of squares. What forbids a verdict for one
    run forbids it for the mean.

    >>> ends = Interval(0.0, 0.5, 0.95, "bootstrap")
    >>> mean = mean_of_runs([Estimate(0.25, ends, decide(ends)) for _ in range(3)])
    >>> mean.value, mean.interval.high
    (0.25, 0.5)
    """
    if len(estimates) == 1:
        return estimates[0]
    claimed = [run.claimed for run in estimates]
    value = float(np.mean([run.value for run in estimates]))
    mean = float(np.mean(claimed))
    interval = _interval(mean, [run.interval for run in estimates], claimed).clipped(*span)
    obstacle = next((run.obstacle for run in estimates if run.obstacle), None)
    verdict = decide(interval, above=above, below=below, reference=reference, obstacle=obstacle)
    if all(run.corrected is None for run in estimates):
        return Estimate(value, interval, verdict, obstacle=obstacle)
    return Estimate(value, interval, verdict, mean, value - mean, obstacle=obstacle)


def _interval(mean: float, intervals: Sequence[Interval], claimed: Sequence[float]) -> Interval:
    first = intervals[0]
    few = any(interval.status is IntervalStatus.TOO_FEW_UNITS for interval in intervals)
    if few or not math.isfinite(mean):
        return Interval.too_few_units(first.confidence, first.method)
    over_runs = interval_over_runs(claimed, first.confidence)
    # Resamples of a run that all agree have no spread to add.
    sides = [
        (value - ends.low, ends.high - value)
        for value, ends in zip(claimed, intervals, strict=True)
        if ends.status is not IntervalStatus.UNDEFINED
    ]
    if not sides:
        return over_runs
    below, above = np.mean(sides, axis=0)
    over_rows = Interval(mean - below, mean + above, first.confidence, f"{first.method}+t")
    return _widened(over_rows, mean, over_runs)


def _widened(interval: Interval, value: float, over_runs: Interval) -> Interval:
    half = 0.0 if over_runs.status is IntervalStatus.UNDEFINED else over_runs.width / 2
    low = value - math.hypot(value - interval.low, half)
    return replace(interval, low=low, high=value + math.hypot(interval.high - value, half))


def read_mean(document: Mapping[str, Any]) -> Estimate:
    """Read a mean over runs; earlier versions had one interval over rows and one over runs."""
    estimate, earlier = Estimate.from_dict(document), document.get("over_runs")
    if earlier is None or earlier["interval"] == document["interval"]:
        return estimate
    runs = Estimate.from_dict(earlier)
    verdict = estimate.verdict if runs.verdict is estimate.verdict else Verdict.UNDECIDED
    interval = _widened(estimate.interval, estimate.claimed, runs.interval)
    return replace(estimate, interval=interval, verdict=verdict)


def runs_note(runs: int, units: str) -> Note:
    """Say what the interval of a mean over runs covers."""
    covered = f"both other {units} and other training runs than these {runs}"
    return Note(NoteKind.RUNS, f"the interval covers {covered} (Student's t over runs)")
