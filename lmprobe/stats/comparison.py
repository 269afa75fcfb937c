"""Compares two models on the same templates, tasks and base: paired, always.

Every cell of one model has its twin in the other, so what is resampled and tested is the
difference of the twins. An unpaired test would count the spread over templates twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError, did_you_mean
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Interval, Note, NoteKind
from lmprobe.stats.crossed import CrossedMean, crossed_mean
from lmprobe.stats.method import checked_confidence
from lmprobe.stats.probe import CellTable, probe_interval

SMALLEST = 0.00005
"""A smaller difference is not claimed: values are shown with four digits."""
CONTROLS = ("holm", "benjamini-hochberg")

_TASK_METHOD = "bonferroni-t"
# Up to so many pairs, every way of flipping signs is tried; beyond, so many at random.
_EXACT_PAIRS, _FLIPS = 12, 9_999
# Six sign flips are the first that can reach 0.05: 2 / 2**6.
_ENOUGH = 6


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
            str(tasks[number]),
            float(means[number]),
            float(p[number]),
            float(holm[number]),
            float(bh[number]),
            _task_interval(float(means[number]), by_unit[:, number], confidence),
            len(by_unit),
        )
        for number in order
    )


def _task_interval(mean: float, by_unit: Floats, confidence: float) -> Interval:
    """Return Student's interval of one task's difference, undefined where a unit has none."""
    units = len(by_unit)
    if units < 2 or np.isnan(by_unit).any():
        return Interval.undefined(confidence, _TASK_METHOD)
    error = float(by_unit.std(ddof=1)) / math.sqrt(units)
    half = _quantile(confidence, 1, units) * error
    return Interval(mean - half, mean + half, confidence, _TASK_METHOD)


def unit_task_means(cells: Floats, families: Sequence[str] | None) -> Floats:
    """Return the mean of each family (or template) and task, (F, T), of cells (K, A, T).

    A family in which nothing is defined is left out; a single undefined mean is NaN.
    """
    names = np.arange(len(cells)) if families is None else np.asarray(families, dtype=str)
    units, family = np.unique(names, return_inverse=True)
    means = [defined_mean(cells[family == unit], axis=(0, 1)) for unit in range(len(units))]
    table: Floats = np.stack(means)
    return table[~np.isnan(table).all(axis=1)]


def sign_flip_p_value(differences: Floats, rng: np.random.Generator) -> Floats:
    """Return the two-sided p-value of "the differences are as often up as down", (...,).

    `differences` is (n, ...): n paired differences of each of many statistics. Under the null
    hypothesis each is as likely with the other sign; the p-value is the share of sign flips
    whose mean is at least as far from zero. With n pairs it cannot be below 2 / 2**n.
    """
    n = len(differences)
    if not n:
        raise InputError("a paired test needs at least one pair")
    flat = differences.reshape(n, -1)
    observed = np.abs(flat.mean(axis=0))
    if n <= _EXACT_PAIRS:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
        extra = 0
    else:
        signs = rng.integers(0, 2, size=(_FLIPS, n)) * 2.0 - 1.0
        # What was observed is one of the flips (Phipson & Smyth 2010): never a p-value of 0.
        extra = 1
    flipped = np.abs(signs @ flat / n)
    # The identity is among the flips; rounding must not make it smaller than itself.
    extreme = flipped >= observed * (1 - 1e-12)
    p = (extreme.sum(axis=0) + extra) / (len(signs) + extra)
    return np.asarray(p).reshape(differences.shape[1:])


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


def equivalence_p_value(difference: CrossedMean | None, margin: float) -> float:
    """Return the p-value against "the models differ by the margin or more".

    Both one-sided hypotheses must be rejected, so it is the larger of their p-values, and no
    correction for two tests is due.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise InputError(f"`margin` must be a positive number: found {margin}")
    if difference is None:
        return math.nan
    return max(difference.p_below(-margin), difference.p_above(margin))
