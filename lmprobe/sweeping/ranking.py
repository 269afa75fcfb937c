"""Which models can be told apart: simultaneous paired intervals of every two of them.

All models of a sweep are measured on the same templates and tasks, so templates and tasks are
drawn once for all of them and every difference is paired. The intervals hold at once for all
pairs of models and all rows of the sweep (Bonferroni), so that the chance that any two equal
models are separated anywhere is at most 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Interval
from lmprobe.stats.probe import CellTable
from lmprobe.stats.weights import draws

REPLICATES = 4_000
"""Joint resamples: a spread needs fewer than the end of an interval."""

_METHOD = "bonferroni-t"
# A difference that four decimals do not show is no difference to rank by.
_NEGLIGIBLE = 5e-5


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """The models that answered one question: one template set, base and direction."""

    models: tuple[str, ...]
    cells: tuple[Floats, ...]
    """One (K, A, T) per model, on the same templates, attributes and tasks."""
    tasks: tuple[str, ...]
    families: tuple[str, ...]
    templates: str
    """The name of the set: contests of one set share their draws."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The order that the data allow."""

    models: tuple[str, ...]
    """By value, lowest first."""
    halfwidth: Floats
    """(M, M): half the width of the simultaneous interval of each difference."""
    separated: NDArray[np.bool_]
    """(M, M): whether two models, in the order of `models`, can be told apart."""

    @property
    def ranks(self) -> tuple[tuple[int, int], ...]:
        """The best and the worst rank that each model may have, 1 the lowest value."""
        count = len(self.models)
        return tuple(
            (1 + int(self.separated[i, :i].sum()), count - int(self.separated[i, i + 1 :].sum()))
            for i in range(count)
        )

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of models of which no two can be told apart, lowest first.

        Any two models that are not separated share a group. Neighbours need not: a model that
        varies much may be like two others that differ from each other.
        """
        together = ~self.separated
        covered = np.zeros_like(together)
        groups: list[list[int]] = []
        for first in range(len(self.models)):
            # From the far end, so that the first group of a model is as long as it can be.
            for last in reversed(range(first, len(self.models))):
                if together[first, last] and not covered[first, last]:
                    group = _completed([first, last], together)
                    covered[np.ix_(group, group)] = True
                    groups.append(group)
        return tuple(tuple(self.models[number] for number in group) for group in groups)


def _completed(members: list[int], together: NDArray[np.bool_]) -> list[int]:
    """Return the members with every model, lowest first, that is together with all so far."""
    group = set(members)
    for number in range(len(together)):
        if together[number, list(group)].all():
            group.add(number)
    return sorted(group)


def rank(
    contests: Sequence[Contest],
    *,
    confidence: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> tuple[Ranking, ...]:
    """Return one ranking per contest; their claims hold at once over all contests."""
    units = min(map(_units, contests))
    pairs = sum(len(contest.models) * (len(contest.models) - 1) // 2 for contest in contests)
    critical = _critical(pairs, units, confidence)
    resampled = _resampled(contests, replicates, seed)
    return tuple(map(_ranking, contests, resampled, [critical] * len(contests)))


def bands(
    contests: Sequence[Contest],
    *,
    confidence: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> tuple[tuple[Interval, ...], ...]:
    """Return simultaneous intervals of every value of each contest: a band over checkpoints.

    The intervals of one contest cover all its values at once, with the stated confidence.
    """
    found: list[tuple[Interval, ...]] = []
    for contest, resampled in zip(contests, _resampled(contests, replicates, seed), strict=True):
        critical = _critical(len(contest.models), _units(contest), confidence)
        spreads = np.nanstd(resampled, axis=0, ddof=1)
        found.append(
            tuple(
                Interval(value - critical * half, value + critical * half, confidence, _METHOD)
                if half > 0
                else Interval.undefined(confidence, _METHOD)
                for value, half in zip(_values(contest), spreads, strict=True)
            )
        )
    return tuple(found)


def _units(contest: Contest) -> int:
    """Return the smaller number of what is drawn: families or tasks."""
    return min(len(set(contest.families)), len(contest.tasks))


def _values(contest: Contest) -> Floats:
    tables = [CellTable.of(cells, None) for cells in contest.cells]
    return np.array([float(table.by_template.mean()) for table in tables])


def _resampled(contests: Sequence[Contest], replicates: int, seed: int) -> list[Floats]:
    """Return the value of each model of each contest on each resample, (R, M).

    Tasks are drawn once for all contests, families once per template set, and whole. A value is
    NaN where nothing was drawn.
    """
    rng = np.random.default_rng(seed)
    tasks = tuple(dict.fromkeys(task for contest in contests for task in contest.tasks))
    task_weight = draws(replicates, len(tasks), rng)
    template_weight: dict[str, Floats] = {}
    values = []
    for contest in contests:
        if contest.templates not in template_weight:
            names, family = np.unique(contest.families, return_inverse=True)
            template_weight[contest.templates] = draws(replicates, len(names), rng)[:, family]
        by_task = task_weight[:, [tasks.index(task) for task in contest.tasks]]
        by_template = template_weight[contest.templates]
        # A table leaves templates without a defined pair out, and so must their weights.
        defined = [~np.isnan(cells).all(axis=(1, 2)) for cells in contest.cells]
        models = [
            CellTable.of(cells, None).values(by_template[:, own], by_task)
            for cells, own in zip(contest.cells, defined, strict=True)
        ]
        values.append(np.stack(models, axis=1))
    return values


def _critical(claims: int, units: int, confidence: float) -> float:
    """Return Student's quantile for so many claims at once (Bonferroni), for resampled spreads.

    The quantile of the largest resampled difference was tried and is too small for few units: some
    spreads are too small by chance, and the largest of many statistics is where that shows. The
    factor n/(n-1) is what resampling n units takes from the variance.
    """
    from scipy import stats

    if units < 2:
        return float("inf")
    tail = (1 - confidence) / (2 * max(claims, 1))
    return float(stats.t.isf(tail, units - 1) * np.sqrt(units / (units - 1)))


def _spread_of_differences(values: Floats) -> Floats:
    """Return the standard deviation (M, M) of every difference of two columns of (R, M).

    A row counts for two columns if both are defined in it. What all columns share is taken off
    first, because it would drown small differences in rounding.
    """
    is_known = ~np.isnan(values)
    shared = np.where(is_known, values, 0.0).sum(axis=1) / np.maximum(is_known.sum(axis=1), 1)
    away = values - shared[:, None]
    away = np.where(is_known, away - defined_mean(away, axis=0), 0.0)
    defined = is_known.astype(np.float64)
    rows = defined.T @ defined
    # sum of (x_i - x_j) and of its square, over the rows in which both are defined.
    total = away.T @ defined
    total = total - total.T
    square = (away**2).T @ defined
    square = square + square.T - 2 * away.T @ away
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (square - total**2 / rows) / (rows - 1)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _ranking(contest: Contest, resampled: Floats, critical: float) -> Ranking:
    values = _values(contest)
    order = np.argsort(values, kind="stable")
    spread = _spread_of_differences(resampled[:, order])
    difference = np.abs(values[order][:, None] - values[order][None, :])
    halfwidth = critical * spread if np.isfinite(critical) else np.full_like(spread, np.inf)
    return Ranking(
        models=tuple(contest.models[number] for number in order),
        halfwidth=halfwidth,
        separated=(difference > halfwidth) & (difference >= _NEGLIGIBLE),
    )
