"""Compares two models on the same templates, tasks and base: paired, always.

Every number of one model has its twin in the other, made with the same draws, so what is resampled
and tested is the difference of the twins. An unpaired test would count what they share twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lmprobe.errors import InputError, did_you_mean, invalid
from lmprobe.metrics.association import Floats
from lmprobe.results import Interval, Note
from lmprobe.stats.resampling import Replicates, Spread
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings, interval_notes

SMALLEST = 0.00005
"""A smaller difference is not claimed: values are shown with four digits."""
CONTROLS = ("holm", "benjamini-hochberg")

_TASK_METHOD = "bonferroni-t"


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """How far one task moved from the first model to the second."""

    task: str
    value: float
    p_value: float
    """Of Student's test over templates (or families); NaN where the task is undefined."""
    p_holm: float
    p_benjamini_hochberg: float
    interval: Interval = field(default_factory=lambda: Interval.undefined(0.95, _TASK_METHOD))
    """Student's, over templates (or families), such that all tasks are covered at once."""

    def differs(self, level: float) -> bool:
        """Whether the family-wise test and the interval both say so, of a difference that shows."""
        return (
            self.p_holm <= level
            and abs(self.value) >= SMALLEST
            and self.interval.bounded
            and 0.0 not in self.interval
        )


@dataclass(frozen=True, slots=True, eq=False)
class TableComparison:
    """The second model minus the first, in one direction against one base."""

    values: tuple[float, float]
    """As published."""
    corrected: float | None
    """The difference without the bias of a sampled base; None for an exact one."""
    interval: Interval
    """Of `corrected`, or of the difference of the values."""
    p_value: float
    """Of the test whether other templates and other tasks would show a difference as well."""
    p_equivalence: float | None
    """Of the tests against a difference of the margin or more; None without a margin."""
    middle: Interval
    """Of the mean of both: its side of zero says which way is away from the base."""
    tasks: dict[str, Spread]
    """The difference of each task, and how much it varies between families, and items."""
    number: Replicates
    bound: float
    """The largest size that the difference can have."""
    notes: tuple[Note, ...] = ()


def compare_tables(
    first: RowTables, second: RowTables, settings: IntervalSettings, *, margin: float | None = None
) -> TableComparison:
    """Compare two models on the same templates and tasks: paired, with the same draws.

    Every number has what a single probe's has: families and units of tasks, a lean and margins
    that belong to the tasks drawn, and the correction for a sampled base.
    """
    before, after = (
        settings.numbers_of(table, value_alone=True)["value"] for table in (first, second)
    )
    number, middle = after.combined(1.0, before, -1.0), after.combined(0.5, before, 0.5)
    bound = first.bound + second.bound
    interval = settings.interval_of(number, settings.confidence, bound)
    spread = number.spread(settings.drawn)
    values = [float(np.nanmean(table.published()["value"])) for table in (first, second)]
    tasks, others = second.numbers_by_task(), first.numbers_by_task()
    return TableComparison(
        values=(values[0], values[1]),
        corrected=number.value if first.sampled or second.sampled else None,
        interval=interval,
        p_value=spread.p_value(),
        p_equivalence=None if margin is None else equivalence_p_value(spread, margin),
        middle=settings.interval_of(middle, settings.confidence, bound),
        tasks={
            task: own.combined(1.0, others[task], -1.0).spread("templates")
            for task, own in tasks.items()
        },
        number=number,
        bound=bound,
        notes=interval_notes(number, interval, settings),
    )


def task_differences(
    rows: Sequence[dict[str, Spread]], confidence: float
) -> list[tuple[TaskDifference, ...]]:
    """Return the tasks of every row with tests controlled over all of them, the largest first."""
    p_values = np.array([spread.p_value() for row in rows for spread in row.values()])
    holm, rate = (iter(adjusted(p_values, control)) for control in CONTROLS)
    each = 1 - (1 - confidence) / max(len(p_values), 1)
    differences = []
    for row in rows:
        tasks = [
            TaskDifference(
                task,
                spread.value,
                spread.p_value(),
                float(next(holm)),
                float(next(rate)),
                replace(spread.interval(each, _TASK_METHOD), confidence=confidence),
            )
            for task, spread in row.items()
        ]
        # An undefined difference comes last.
        tasks.sort(key=lambda task: math.inf if math.isnan(task.value) else -abs(task.value))
        differences.append(tuple(tasks))
    return differences


def adjusted(p_values: Floats, control: str) -> Floats:
    """Return p-values that may be compared with the level although there are many.

    `holm` bounds the chance of any false claim, `benjamini-hochberg` the share of false
    ones among the claims. An undefined (NaN) p-value stays undefined and is no test.

    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    if control not in CONTROLS:
        raise InputError(f'no control called "{control}"; {did_you_mean(control, CONTROLS)}')
    from scipy import stats

    values = np.full(len(p_values), np.nan)
    defined = np.flatnonzero(~np.isnan(p_values))
    m = len(defined)
    if not m:
        return values
    if control == "benjamini-hochberg":
        values[defined] = stats.false_discovery_control(p_values[defined], method="bh")
        return values
    order = defined[np.argsort(p_values[defined], kind="stable")]
    steps = np.maximum.accumulate(p_values[order] * np.arange(m, 0, -1))
    values[order] = np.minimum(steps, 1.0)
    return values


def equivalence_p_value(difference: Spread, margin: float) -> float:
    """Return the p-value against "the models differ by the margin or more".

    Both one-sided hypotheses must be rejected, so it is the larger of their p-values, and no
    correction for two tests is due.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise invalid("margin", f" must be a positive number: found {margin}")
    return difference.tail(abs(difference.value) - margin)
