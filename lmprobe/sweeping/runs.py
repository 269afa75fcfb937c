"""Several trained models as training runs of one: their mean, uncertain in two ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.intervals.base_uncertainty import is_enough
from lmprobe.intervals.methods.t import interval_over_runs
from lmprobe.intervals.runs import mean_interval
from lmprobe.probing.row import ProbeRow, row_verdict
from lmprobe.results import Column, ColumnKind, Estimate, Interval, Table
from lmprobe.sweeping.row import Question


@dataclass(frozen=True, slots=True)
class RunMean:
    """The mean over training runs for one template set, base and direction."""

    question: Question
    runs: int
    estimate: Estimate
    """The interval is that of a run: over templates and tasks, as each probe has it."""
    over_runs: Estimate
    """The same value with Student's interval over runs."""

    @classmethod
    def of(cls, question: Question, rows: Sequence[ProbeRow], confidence: float) -> RunMean | None:
        """Return the mean of the same row of several runs; None where a value is undefined."""
        estimates = [row.estimate for row in rows]
        claimed = [one.claimed for one in estimates]
        if len(rows) < 2 or not np.isfinite(claimed).all():
            return None
        value, corrected = (float(np.mean(part)) for part in ([row.value for row in rows], claimed))

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

        return cls(
            question,
            len(rows),
            estimate(mean_interval([one.interval for one in estimates])),
            estimate(interval_over_runs(claimed, confidence)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **self.question.to_dict(),
            "runs": self.runs,
            **self.estimate.to_dict(),
            "over_runs": self.over_runs.to_dict(),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> RunMean:
        """Read the JSON form."""
        return cls(
            Question.from_dict(document),
            int(document["runs"]),
            Estimate.from_dict(document),
            Estimate.from_dict(document["over_runs"]),
        )


def run_table(means: Sequence[RunMean]) -> Table:
    """Return one line per template set, base and direction."""
    columns = (
        Column("set"),
        Column("base"),
        Column("direction", ColumnKind.DIRECTION),
        Column("mean", ColumnKind.SIGNED, "value"),
        Column("interval over templates", ColumnKind.INTERVAL, "interval"),
        Column("verdict", ColumnKind.VERDICT),
        Column("over runs", ColumnKind.INTERVAL, "over_runs"),
        Column("verdict over runs", ColumnKind.VERDICT),
    )
    rows = tuple(
        (
            *one.question,
            one.estimate.claimed,
            one.estimate.interval,
            one.estimate.verdict,
            one.over_runs.interval,
            one.over_runs.verdict,
        )
        for one in means
    )
    title = f"The mean of {means[0].runs} training runs" if means else ""
    return Table("runs", columns, rows, title=title)
