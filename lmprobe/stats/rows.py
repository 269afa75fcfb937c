"""Estimates from labelled rows (vision, tabular), and their means over training runs.

The lean may come from the same rows. A pair of labels that is close to independent then leans
one way by chance, and the base rates of the same rows share that chance: the published value is
too small, and its interval too narrow. Holding a random fifth of the units out makes the lean and
the rates independent (as `leaning` does for counted sentences); what the lean of the others does
not show of an amplification is divided out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, check_confidence
from lmprobe.io.tables import LackingRows
from lmprobe.metrics.association import Floats, ratio
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import defined_mean
from lmprobe.metrics.raking import additive_rest
from lmprobe.results import Estimate, Interval, IntervalStatus, Note, NoteKind, Verdict, decide
from lmprobe.results.result import Result
from lmprobe.stats.base_uncertainty import HOLDOUT, Reliability
from lmprobe.stats.method import Sample, interval, student
from lmprobe.stats.resampling import REPLICATES, expanded_tail, percentile_interval, slices, thinned
from lmprobe.stats.row_sums import RowSums, Sums
from lmprobe.stats.verdicts import Unevenness

CLOSE = 2.0
"""A pair nearer to a tie than so many standard errors may lean the other way."""

# Ways to hold units out of the sample.
_DRAWS = 500
# Resamples for the spread, and ways to hold out within each; the latter's own noise is
# subtracted, so few are enough. Very many units are resampled fewer times.
_RESAMPLES, _FEWEST, _WAYS = 400, 100, 8
_DRAWN = 100_000_000
# Numbers held at a time.
_HELD = 5_000_000
# The interval is stretched as if the reliability were as low as this.
_LOWEST = 1 / 4
# The prior of a link in standard errors: it is one with a chance, and then normal with a scale.
_CHANCES = np.array([0.1, 0.2, 0.35, 0.5, 0.7, 1.0])
_SCALES = 0.25 * 2 ** (np.arange(17) / 2)
# Pairs that the prior is fitted to, at most, and points of each pair's posterior.
_FITTED, _POINTS = 2000, 41
# The quantile of the posterior that `even` is.
_CAUTION = 0.1
# Resamples for the errors of an unevenness.
_ERRORS = REPLICATES // 10
# What the logarithms of a strength need: units in every cell, and links beyond their noise.
_CELL, _RELIABLE = 5, 0.7


def bootstrap_interval(
    rows: RowSums,
    *,
    train: RowSums | None = None,
    keep_unseen: bool = False,
    confidence: float = 0.95,
    rng: np.random.Generator,
    replicates: int | None = None,
) -> dict[Direction, Interval]:
    """Return the bootstrap interval of each direction, from the sums of the units alone.

    The lean is that of the train rows, or of all rows, in every replicate.
    """
    check_confidence(confidence)
    if rows.units < 2:
        few = Interval.too_few_units(confidence, "bootstrap")
        return dict.fromkeys(rows.directions, few)
    lean = (train or rows).total.lean(keep_unseen=keep_unseen)
    values = [
        [sums.value(direction, lean) for direction in rows.directions]
        for sums in rows.resamples(replicates or rows.replicates, rng)
    ]
    return {
        direction: percentile_interval(
            np.concatenate(parts), units=rows.units, confidence=confidence
        )
        for direction, parts in zip(rows.directions, zip(*values, strict=True), strict=True)
    }


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """The amplification with a cross-fitted lean, its interval, and how much of it was seen."""

    value: float
    interval: Interval
    reliability: Reliability


def cross_fitted_amplification(
    rows: RowSums,
    *,
    labels: Links | None = None,
    keep_unseen: bool = False,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> dict[Direction, CrossFitted]:
    """Return the amplification of each direction with a lean that owes nothing to its rows.

    `labels` are the links of the rows, where they have been computed.

    The interval is Student's, with the spread of the estimate over resamples of the units. Both
    are divided by the share of an amplification that shows if it is proportional to the links,
    and the interval reaches as far as if it were the same for all links.
    """
    from scipy import special

    check_confidence(confidence)
    estimates = _estimates(rows, rows.times[None, :], _DRAWS, keep_unseen, rng)
    spread = _spread(rows, keep_unseen, rng) if rows.units > 1 else {}
    errors = float(special.stdtrit(rows.units - 1, (1 + confidence) / 2)) if spread else 0.0
    labels, fitted = labels or links(rows), {}
    for direction, ways in estimates.items():
        shown = reliability(labels, direction)
        value = float(ways.mean()) / shown.divisor
        half = errors * spread.get(direction, 0.0) / shown.divisor
        interval = Interval.too_few_units(confidence, "cross-fitted")
        if half > 0:
            interval = Interval(value - half, value + half, confidence, "cross-fitted")
            interval = shown.stretched(interval, least=_LOWEST)
        elif spread:
            interval = Interval.undefined(confidence, "cross-fitted")
        fitted[direction] = CrossFitted(value, interval.clipped(-1, 1), shown)
    return fitted


def _estimates(
    rows: RowSums, times: NDArray[np.int64], ways: int, keep_unseen: bool, rng: np.random.Generator
) -> dict[Direction, Floats]:
    """Return the estimate of each way to hold units out of samples `times` (S, U): (S, ways)."""
    estimates = {direction: np.empty(len(times) * ways) for direction in rows.directions}
    sample = np.repeat(np.arange(len(times)), ways)
    for part in slices(len(sample), max(rows.features.shape), _HELD):
        numbers, own = np.unique(sample[part], return_inverse=True)
        held = [
            thinned(times[number], HOLDOUT, repeats, rng)
            for number, repeats in zip(numbers, np.bincount(own), strict=True)
        ]
        whole = rows.sums(rows.samples(times[numbers]).columns[own])
        out = rows.samples(np.concatenate(held))
        lean = rows.sums(whole.columns - out.columns).lean(keep_unseen=True)
        _, attribute, task, _ = whole.marginals
        both_seen = (attribute[:, :, None] > 0) & (task[:, None, :] > 0)
        for direction in rows.directions:
            # lean * (predicted - true) of the units held out, scaled up to all.
            given = whole.given(direction)
            seen = np.broadcast_to(given > 0, lean.shape) if keep_unseen else both_seen
            change = lean * (out.predicted(direction) - out.marginals[3])
            scaled = change / np.where(seen, HOLDOUT * given, np.nan)
            estimates[direction][part] = defined_mean(scaled, axis=(1, 2))
    return {direction: values.reshape(-1, ways) for direction, values in estimates.items()}


def _spread(rows: RowSums, keep_unseen: bool, rng: np.random.Generator) -> dict[Direction, float]:
    """Return the standard deviation of the estimate over resamples of the units."""
    samples = int(np.clip(_DRAWN // (_WAYS * len(rows.times)), _FEWEST, _RESAMPLES))
    times = rows.drawn(samples, rng)
    spread = {}
    for direction, values in _estimates(rows, times, _WAYS, keep_unseen, rng).items():
        noise = float(np.nanmean(values.var(axis=1, ddof=1))) / _WAYS
        variance = float(np.nanvar(values.mean(axis=1), ddof=1)) - noise
        spread[direction] = math.sqrt(max(variance, 0.0))
    return spread


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """How far each pair of a table is from independence."""

    z: Floats
    """In standard errors, (A, T); NaN where all rows or none have a label."""
    error: Floats
    """The standard error of P(a, t) - P(a) P(t), (A, T)."""
    share: tuple[Floats, Floats]
    """P(a), (A, 1), and P(t), (1, T)."""
    units: int

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return int((~np.isnan(self.z)).sum())

    @property
    def close(self) -> int:
        """How many pairs are within two standard errors of a tie."""
        return int((np.abs(self.z) < CLOSE).sum())

    @property
    def p_value(self) -> float:
        """Of the hypothesis that no pair is linked: of the largest link, times the pairs."""
        from scipy import special

        if not self.pairs or self.units < 2:
            return 1.0
        # Of two groups, one mirrors the other.
        distinct = self.pairs / 2 if len(self.z) == 2 else self.pairs
        largest = float(np.nanmax(np.abs(self.z)))
        return float(min(1.0, 2 * distinct * special.stdtr(self.units - 1, -largest)))


def links(rows: RowSums, direction: Direction | None = None) -> Links:
    """Return how far the labels are from independence, or the predictions of a direction.

    A row adds w (a - p_a) (t - p_t) to the excess of a pair over independence; the squares of
    these, added up by unit first, are its variance. So weights may have any scale, and the rows
    of a cluster count together. A rare pair has small squares: its variance is at least that of
    independent rows. Of the excess of predictions, what that of the labels explains is
    subtracted, as if groups were exchanged among rows with equal labels.
    """
    total = rows.total
    whole = float(total.marginals[0][0, 0]) or 1.0
    tables = (None,) if direction is None else (direction, None)
    shares = [tuple(part[0] / whole for part in total.table(table)[:2]) for table in tables]
    shape = (len(tables), len(rows.attributes), len(rows.tasks))
    excess, products = np.zeros(shape), np.zeros((len(tables), *shape))
    squares = [np.zeros(size) for size in shape[1:]]
    for part in slices(len(rows.times), rows.features.shape[1], _HELD):
        units, times = rows.sums(rows.features[part].toarray() / whole), rows.times[part]
        added, weight = [], units.marginals[0]
        for table, (p_group, p_task) in zip(tables, shares, strict=True):
            group, task, both = units.table(table)
            group = group - weight * p_group
            added.append(both - p_group[:, None] * task[:, None, :] - group[:, :, None] * p_task)
            if table is direction:
                squares[0] += times @ group**2
                squares[1] += times @ (task - weight * p_task) ** 2
        excess += [np.tensordot(times, parts, 1) for parts in added]
        products += [[np.tensordot(times, left * right, 1) for right in added] for left in added]
    variance = products[0, 0]
    group, task = shares[0][0][:, None], shares[0][1][None, :]
    independent = np.minimum(group * (1 - group), rows.number * squares[0][:, None]) / rows.number
    independent = independent * np.minimum(task * (1 - task), rows.number * squares[1])
    widened = np.maximum(1.0, ratio(independent, variance))
    if direction is not None:
        slope = np.nan_to_num(ratio(products[0, 1], products[1, 1]))
        excess[0] -= slope * excess[1]
        rest = variance - slope * products[0, 1]
        variance = np.where(rest > 1e-9 * variance, rest, 0.0)
    error = np.sqrt(variance * np.nan_to_num(widened, nan=1.0))
    # Some rows have the label and some have not; sums of weights are rounded.
    varies = [np.minimum(share, 1 - share) > 1e-12 for share in (group, task)]
    z = np.where(varies[0] & varies[1], np.nan_to_num(ratio(excess[0], error)), np.nan)
    return Links(z, error, (group, task), rows.units)


def reliability(labels: Links, direction: Direction) -> Reliability:
    """Return how much of an amplification the cross-fitted lean of such labels shows.

    An empirical-Bayes prior says how large links are: a share of the pairs is linked, with
    normal links (in standard errors), the others are ties. Over what share and scale may be,
    `proportional` is the mean and `even`, which depends on the weakest links, a low quantile.
    """
    from scipy import special

    given = labels.share[direction.given_axis]
    size = labels.error / np.where(given > 0, given, 1.0)
    order = np.argsort(np.abs(labels.z), axis=None)[: labels.pairs]
    thinned = order[np.linspace(0, len(order) - 1, min(len(order), _FITTED)).astype(int)]
    z, size = labels.z.ravel()[thinned], size.ravel()[thinned]
    if not len(z):
        return Reliability(0.0, 0.0)
    points = special.ndtri((np.arange(_POINTS) + 0.5) / _POINTS)[:, None]
    likelihood, proportional, even = np.empty((3, len(_SCALES), len(_CHANCES)))
    for number, scale in enumerate(_SCALES):
        shrinkage = scale**2 / (1 + scale**2)
        link = np.abs(shrinkage * z + math.sqrt(shrinkage) * points)
        shown = 2 * special.ndtr(math.sqrt(1 - HOLDOUT) * link) - 1
        evidence = (shrinkage * z**2 - math.log1p(scale**2)) / 2
        linked = special.xlogy(1, _CHANCES)[:, None] + evidence
        either = np.logaddexp(linked, special.xlog1py(1, -_CHANCES)[:, None])
        linked = np.exp(linked - either)
        # The groups of a task add up to nothing: one of them says what the others do.
        likelihood[number] = either.sum(axis=1) * (1 - 1 / len(labels.z))
        proportional[number] = linked @ ((shown * link).mean(axis=0) * size)
        proportional[number] /= linked @ (link.mean(axis=0) * size)
        even[number] = linked @ shown.mean(axis=0) / len(z)
    chance = np.exp(likelihood - likelihood.max())
    chance /= chance.sum()
    order = np.argsort(even, axis=None)
    low = order[np.searchsorted(np.cumsum(chance.ravel()[order]), _CAUTION)]
    return Reliability(float((chance * proportional).sum()), float(even.ravel()[low]))


def unevenness(
    rows: RowSums, direction: Direction, *, confidence: float = 0.95, rng: np.random.Generator
) -> Unevenness:
    """Return how far predictions depend on what they are given, where the labels do not lean.

    The value is the mean over pairs of |P(predicted t | a) - P(predicted t)|, with the roles
    exchanged for task->attribute. The interval is that of a probe's unevenness (see there).
    """
    by_pair = _dependence(rows.total, direction)
    value = float(defined_mean(np.abs(by_pair)))
    interval = Interval.too_few_units(confidence, "bootstrap-deviation")
    if rows.units > 1:
        errors = [
            defined_mean(np.abs(_dependence(sums, direction) - by_pair), axis=(1, 2))
            for sums in rows.resamples(_ERRORS, rng)
        ]
        # Resampling n units loses a factor (n - 1) / n of the variance.
        widened = math.sqrt(rows.units / (rows.units - 1))
        reach = widened * float(np.nanquantile(np.concatenate(errors), confidence))
        interval = Interval(value - reach, value + reach, confidence, interval.method)
    return Unevenness(value, interval.clipped(0, 1), links(rows, direction).p_value)


def _dependence(sums: Sums, direction: Direction) -> Floats:
    """Return P(predicted | given) - P(predicted) of each pair, (R, A, T)."""
    group, task, both = sums.table(direction)
    predicted = (group[:, :, None], task[:, None, :])[direction.axis]
    return ratio(both, sums.given(direction)) - ratio(predicted, sums.marginals[0][:, :, None])


def strength(
    rows: RowSums, direction: Direction, *, confidence: float = 0.95, rng: np.random.Generator
) -> Estimate | None:
    """Return how many times as strong the links of the predictions are as those of the labels.

    It is the slope of the links (logarithms without row and column means) of the predicted
    table on those of the label table. Both come from the same rows, so that their errors are
    correlated: resamples give the errors' (co)variances, which are subtracted from the sums of
    squares and products. In a resample they are there twice. None without two tasks; withheld
    where cells are too small for logarithms, or where most of the links may be noise.
    """
    seen = [part[0] > 0 for part in rows.total.marginals[1:3]]
    if min(map(np.count_nonzero, seen)) < 2:
        return None
    few = Interval.too_few_units(confidence, "bootstrap-moments")
    withheld = Estimate(math.nan, few, decide(few))

    def tables(sums: Sums) -> Floats:
        """Return the table of the labels and that of the predictions, (2, R, A, T)."""
        both = np.stack([sums.marginals[3], sums.predicted(direction)])
        return both[:, :, seen[0]][..., seen[1]]

    total = tables(rows.total)
    squares = tables(rows.sums((rows.features.power(2).T @ rows.times)[None, :]))
    if rows.units < 2 or np.nan_to_num(ratio(total**2, squares)).min() < _CELL:
        return withheld
    # Half a unit in every cell, so that each has a logarithm.
    half = float(squares[0].sum() / total[0].sum()) / 2

    def moments(sums: Sums) -> tuple[Floats, Floats]:
        """Return the links of labels and predictions (2, R, A, T), and both sums of products."""
        logs = np.log(tables(sums) + half)
        rest = additive_rest(logs, np.ones_like(logs))
        return rest, (rest * rest[0]).sum(axis=(2, 3))

    mean, parts = np.zeros(1), []
    for sums in rows.resamples(_RESAMPLES, rng, held=_HELD):
        rests, products = moments(sums)
        mean = mean + rests.sum(axis=1) / _RESAMPLES
        parts.append(products)
    resampled = np.concatenate(parts, axis=1)
    noise = resampled.mean(axis=1) - (mean * mean[0]).sum(axis=(1, 2))
    noise = noise * _RESAMPLES / (_RESAMPLES - 1)
    labels, predicted = moments(rows.total)[1][:, 0] - noise
    if not labels >= _RELIABLE * (labels + noise[0]) > 0:
        return withheld
    value = float(predicted / labels)
    slopes = (resampled[1] - 2 * noise[1]) / (resampled[0] - 2 * noise[0])
    # A ratio has long tails: quantiles, not the standard deviation, say how far it reaches.
    tail = expanded_tail(confidence, rows.units)
    reach = float(np.ptp(np.quantile(slopes, (tail, 1 - tail)))) / 2
    interval = Interval(value - reach, value + reach, confidence, few.method)
    if not reach > 0:
        interval = Interval.undefined(confidence, few.method)
    return Estimate(value, interval, decide(interval, reference=1.0))


def interval_over_runs(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the t interval of the mean over trained runs (Figure 4, Table 1 of the paper).

    >>> round(interval_over_runs([0.01, 0.02, 0.03]).high, 4)
    0.0448
    """
    runs = np.asarray(values, dtype=np.float64)
    if runs.ndim != 1 or not runs.size or not np.isfinite(runs).all():
        raise InputError("`values` must be one finite number per run")
    sample = Sample(float(runs.mean()), runs)
    rng = np.random.default_rng(0)  # nothing is drawn
    return interval(sample, method=student, confidence=confidence, rng=rng)


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
    interval = _mean_interval(mean, [run.interval for run in estimates], claimed).clipped(*span)
    obstacle = next((run.obstacle for run in estimates if run.obstacle), None)
    verdict = decide(interval, above=above, below=below, reference=reference, obstacle=obstacle)
    if all(run.corrected is None for run in estimates):
        return Estimate(value, interval, verdict, obstacle=obstacle)
    return Estimate(value, interval, verdict, mean, value - mean, obstacle=obstacle)


def _mean_interval(
    mean: float, intervals: Sequence[Interval], claimed: Sequence[float]
) -> Interval:
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
    return over_rows.widened(mean, over_runs)


def runs_note(runs: int, units: str) -> Note:
    """Say what the interval of a mean over runs covers."""
    covered = f"both other {units} and other training runs than these {runs}"
    return Note(NoteKind.RUNS, f"the interval covers {covered} (Student's t over runs)")


R = TypeVar("R", bound=Result)


def with_left_out(result: R, left_out: Sequence[LackingRows | None]) -> R:
    """Return the result with a note about the rows that were left out, and their number."""
    answer: Any = result  # of a dataclass with notes and provenance, as every result is
    for rows in left_out:
        if rows is not None:
            notes = (*answer.notes, Note(NoteKind.LEFT_OUT, f"left out: {rows}"))
            number = {"table": rows.table, "rows": rows.rows, "of": rows.of}
            numbers = [*answer.provenance.get("rows_left_out", ()), number]
            facts = {**answer.provenance, "rows_left_out": numbers}
            answer = replace(answer, notes=notes, provenance=facts)
    changed: R = answer
    return changed
