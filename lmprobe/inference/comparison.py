"""Compares two models on the same templates, tasks and base: paired, always.

Every cell of one model has its twin in the other, so what is resampled and tested is the
difference of the twins. An unpaired test would count the spread over templates twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.inference.equivalence import SMALLEST, equivalence_p_value
from lmprobe.inference.multiplicity import adjusted
from lmprobe.inference.permutation import sign_flip_p_value
from lmprobe.inference.units import unit_task_means
from lmprobe.intervals.crossed import crossed_mean
from lmprobe.intervals.method import checked_confidence
from lmprobe.intervals.probe import CellTable, probe_interval
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Interval, Note, NoteKind


@dataclass(frozen=True, slots=True)
class TaskDifference:
    """How far one task moved from the first model to the second."""

    task: str
    value: float
    p_value: float
    """Of the sign-flip test over templates (or families); NaN where the task is undefined."""
    p_holm: float
    p_benjamini_hochberg: float
    interval: Interval = field(default_factory=lambda: Interval.undefined(0.95, _TASK_METHOD))
    """Student's, over templates (or families)."""
    units: int = 0
    """How many templates or families the interval rests on."""

    def differs(self, level: float) -> bool:
        """Whether the family-wise test and the interval both say so, of a difference that shows."""
        return (
            self.p_holm <= level
            and abs(self.value) >= SMALLEST
            and self.interval.bounded
            and 0.0 not in self.interval
        )

    def at_once(self, claims: int) -> TaskDifference:
        """Return the task with an interval that covers together with so many others."""
        ends = self.interval
        if self.units < 2 or not ends.bounded:
            return self
        quantiles = [_quantile(ends.confidence, number, self.units) for number in (1, claims)]
        half = ends.width / 2 * quantiles[1] / quantiles[0]
        return replace(self, interval=replace(ends, low=self.value - half, high=self.value + half))


_TASK_METHOD = "bonferroni-t"


def _quantile(confidence: float, claims: int, units: int) -> float:
    """Return Student's quantile for so many claims at once (Bonferroni)."""
    from scipy import special

    return float(special.stdtrit(units - 1, 1 - (1 - confidence) / (2 * claims)))


@dataclass(frozen=True, slots=True)
class CellComparison:
    """The second model minus the first, in one direction against one base."""

    values: tuple[float, float]
    value: float
    """The difference of the values: positive where the second is larger."""
    interval: Interval
    p_value: float
    """Of the two-way test: would other templates and other tasks show a difference as well?"""
    p_equivalence: float | None
    """Of the tests against a difference of the margin or more; None without a margin."""
    tasks: tuple[TaskDifference, ...]
    notes: tuple[Note, ...] = ()


def compare_cells(
    first: Floats,
    second: Floats,
    *,
    tasks: Sequence[str],
    families: Sequence[str] | None = None,
    method: str = "bootstrap",
    resample: str = "both",
    confidence: float = 0.95,
    margin: float | None = None,
    rng: np.random.Generator,
) -> CellComparison:
    """Compare the amplification cells (K, A, T) of two models on the same words and templates.

    The test takes templates (or families) and tasks as samples, both (see `crossed_mean`).
    """
    checked_confidence(confidence)
    if first.shape != second.shape:
        raise InputError(
            f"paired cells must have one shape: found {first.shape} and {second.shape}"
        )
    cells = second - first
    interval, notes = probe_interval(
        cells, method=method, confidence=confidence, rng=rng, families=families, resample=resample
    )
    # A pair that one model lacks is in neither value, or the values would not differ by
    # the difference.
    paired = [np.where(np.isnan(cells), np.nan, model) for model in (first, second)]
    values = [float(CellTable.of(model, families).by_template.mean()) for model in paired]
    mean = crossed_mean(CellTable.of(cells, families).by_family_and_task)
    by_unit = unit_task_means(cells, families)
    task_means = np.asarray(defined_mean(cells, axis=(0, 1)))
    few = () if len(by_unit) >= _ENOUGH else (_too_few(len(by_unit)),)
    return CellComparison(
        values=(values[0], values[1]),
        value=values[1] - values[0],
        interval=interval,
        p_value=math.nan if mean is None else mean.p_value(),
        p_equivalence=None if margin is None else equivalence_p_value(mean, margin),
        tasks=_task_differences(by_unit, task_means, tasks, confidence, rng),
        notes=(*notes, *few),
    )


# Six sign flips are the first that can reach 0.05: 2 / 2**6.
_ENOUGH = 6


def _too_few(units: int) -> Note:
    text = (
        f"with {units} templates or families the permutation test of a task cannot go below "
        f"{2 / 2**units:.2g}"
    )
    return Note(NoteKind.FEW_UNITS, text)


def _task_differences(
    by_unit: Floats,
    means: Floats,
    tasks: Sequence[str],
    confidence: float,
    rng: np.random.Generator,
) -> tuple[TaskDifference, ...]:
    """Return every task with its test, controlled over all tasks, the largest first."""
    p = np.full(len(tasks), np.nan)
    whole = ~np.isnan(by_unit).any(axis=0)
    if whole.any():
        p[whole] = sign_flip_p_value(by_unit[:, whole], rng)
    holm, bh = adjusted(p, "holm"), adjusted(p, "benjamini-hochberg")
    # An undefined mean comes last.
    order = np.argsort(-np.abs(means), kind="stable")
    return tuple(
        TaskDifference(
            str(tasks[one]),
            float(means[one]),
            float(p[one]),
            float(holm[one]),
            float(bh[one]),
            _task_interval(float(means[one]), by_unit[:, one], confidence),
            len(by_unit),
        )
        for one in order
    )


def _task_interval(mean: float, by_unit: Floats, confidence: float) -> Interval:
    """Return Student's interval of one task's difference, undefined where a unit has none."""
    units = len(by_unit)
    if units < 2 or np.isnan(by_unit).any():
        return Interval.undefined(confidence, _TASK_METHOD)
    error = float(by_unit.std(ddof=1)) / math.sqrt(units)
    half = _quantile(confidence, 1, units) * error
    return Interval(mean - half, mean + half, confidence, _TASK_METHOD)
