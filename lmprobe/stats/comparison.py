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
from lmprobe.stats.resampling import Replicates, Spread
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import Choices, interval_notes

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
    tasks: tuple[TaskDifference, ...]
    number: Replicates
    bound: float
    """The largest size that the difference can have."""
    notes: tuple[Note, ...] = ()


def compare_tables(
    first: RowTables, second: RowTables, choices: Choices, *, margin: float | None = None
) -> TableComparison:
    """Compare two models on the same templates and tasks: paired, with the same draws.

    Every number has what a single probe's has: families and units of tasks, a lean and margins
    that belong to the tasks drawn, and the correction for a sampled base.
    """
    draws = choices.draws(first.units)
    one, other = (
        table.replicates(draws, tasks_fixed=choices.tasks_fixed)["value"]
        for table in (first, second)
    )
    number, middle = other.plus(one, -1.0), other.plus(one).times_factor(0.5)
    bound = first.bound + second.bound
    interval = choices.interval(number, choices.confidence, bound)
    spread = number.spread(choices.drawn)
    cells = second.claimed_cells() - first.claimed_cells()
    by_unit = unit_task_means(cells, first.families)
    task_means = np.asarray(defined_mean(cells, axis=(0, 1)))
    values = [float(np.nanmean(table.published()["value"])) for table in (first, second)]
    few = () if len(by_unit) >= _ENOUGH else (_too_few(len(by_unit)),)
    rng = np.random.default_rng(choices.seed)
    return TableComparison(
        values=(values[0], values[1]),
        corrected=number.value if first.sampled or second.sampled else None,
        interval=interval,
        p_value=spread.p_value(),
        p_equivalence=None if margin is None else equivalence_p_value(spread, margin),
        middle=choices.interval(middle, choices.confidence, bound),
        tasks=_task_differences(by_unit, task_means, first.tasks, choices.confidence, rng),
        number=number,
        bound=bound,
        notes=(*interval_notes(number, interval, choices), *few),
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


def equivalence_p_value(difference: Spread, margin: float) -> float:
    """Return the p-value against "the models differ by the margin or more".

    Both one-sided hypotheses must be rejected, so it is the larger of their p-values, and no
    correction for two tests is due.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise InputError(f"`margin` must be a positive number: found {margin}")
    return max(difference.p_below(-margin), difference.p_above(margin))
