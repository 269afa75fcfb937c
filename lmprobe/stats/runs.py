"""The mean over several training runs, with what it is uncertain of: rows, and runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmprobe.results import Interval, Note, NoteKind


def mean_interval(intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of values, each of which has its own.

    The runs see the same rows (or templates) as a rule, so their errors go together; the
    spread of a mean is at most the mean of the spreads, and that is what it gets.

    >>> found = mean_interval([Interval(0, 2, 0.95, "t"), Interval(1, 4, 0.95, "t")])
    >>> found.low, found.high
    (0.5, 3.0)
    """
    first = intervals[0]
    if len(intervals) == 1:
        return first
    low = float(np.mean([one.low for one in intervals]))
    high = float(np.mean([one.high for one in intervals]))
    return Interval(low, high, first.confidence, first.method)


def runs_note(runs: int, units: str) -> Note:
    """Say which question each of the two intervals answers."""
    return Note(
        NoteKind.RUNS,
        f"the interval over {units} says what other {units} would give with these {runs} trained "
        f"models; the one over runs (Student's t) what other training runs would give on these "
        f"{units}",
    )
