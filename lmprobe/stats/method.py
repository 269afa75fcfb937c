"""What every interval method is given, the registry of methods, and the two that serve anything.

A method is one function in one file of `methods`, or here. It uses the part of the `Sample` that
it needs: the independent observations, the resamples, or the two groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, check_confidence
from lmprobe.metrics.association import Floats, ratio
from lmprobe.registry import Registry
from lmprobe.results.verdict import Interval
from lmprobe.stats import REMOVED
from lmprobe.stats.resampling import (
    REPLICATES,
    Spread,
    draws,
    is_constant,
    percentile_interval,
    slices,
)

# Drawing how often a cell occurs takes as long as drawing so many rows.
_DRAWN_ONE_BY_ONE = 16
# A group's costs are merged into about so many cells if they lose no more of their variance:
# the interval becomes shorter by half of that share, far below the noise of resampling.
_CELLS, _LOST = 256, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The costs of two independent groups; the statistic is the difference of their means."""

    protected: Floats
    other: Floats
    cost_bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A statistic and what is known about how it came about; what it cannot offer is None.

    `observations` are independent, lie within `bounds`, and their mean is `value`.
    `resampled(replicates, rng)` gives the statistic on so many resamples.
    """

    value: float
    observations: Floats | None = None
    bounds: tuple[float, float] = (-1.0, 1.0)
    resampled: Callable[[int, np.random.Generator], Floats] | None = None
    units: int = 0
    """How many units the smallest resampled axis has."""
    groups: Groups | None = None
    spread: Spread | None = None
    """The standard error of a probe's number, whose templates and tasks are both samples."""


class IntervalMethod(Protocol):
    """Puts an interval around a sample's value; `ls` shows the first line of its docstring."""

    def __call__(self, sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
        """Return the interval; undefined (NaN) or infinite ends where none is honest."""


intervals: Registry[IntervalMethod] = Registry("intervals", "lmprobe.stats.methods", REMOVED)


@dataclass(frozen=True, slots=True)
class Traits:
    """What a note about an interval needs to know of its method."""

    resamples: bool = False
    """It draws units anew: templates, tasks or both."""
    approximate: bool = False
    """It covers as it promises only as the number of units grows."""
    caveat: str = ""
    """What a reader must know wherever it is used."""


def declare(traits: Traits) -> Callable[[IntervalMethod], IntervalMethod]:
    """Return a decorator that says what a method is like; without one it has no trait."""

    def attach(method: IntervalMethod) -> IntervalMethod:
        method.traits = traits  # type: ignore[attr-defined]
        return method

    return attach


def traits_of(method: str | IntervalMethod) -> Traits:
    """Return what a method, or the method of that name, is like."""
    return cast(Traits, getattr(_method(method), "traits", Traits()))


def interval(
    sample: Sample,
    *,
    method: str | IntervalMethod,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """Return the interval of `sample` by a method or its name."""
    check_confidence(confidence)
    return _method(method)(sample, confidence=confidence, rng=rng)


def _method(method: str | IntervalMethod) -> IntervalMethod:
    if not isinstance(method, str) and not callable(method):
        raise InputError(f"`method` must be a function or a name: found {method!r}")
    return intervals.get(method) if isinstance(method, str) else method


def observations_of(sample: Sample, method: str) -> Floats:
    """Return the independent observations, or say that the method needs them."""
    if sample.observations is None:
        raise InputError(
            f'the interval "{method}" needs a mean of independent observations, '
            'which this statistic is not; use "bootstrap"'
        )
    return sample.observations


def groups_of(sample: Sample, method: str) -> Groups:
    """Return the two groups, or say that the method needs them."""
    if sample.groups is None:
        raise InputError(
            f'the interval "{method}" is for the difference between two groups, '
            'which this statistic is not; use "bootstrap" or "t"'
        )
    return sample.groups


@intervals.register("bootstrap")
@declare(Traits(resamples=True, approximate=True))
def bootstrap(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Spread over resamples: Student's interval for probes, percentiles for tables; seeded."""
    if sample.spread is not None:
        return sample.spread.interval(confidence)
    if sample.units < 2:
        return Interval.too_few_units(confidence, "bootstrap")
    if sample.resampled is None:
        raise InputError('the interval "bootstrap" needs a statistic that can be resampled')
    replicates = sample.resampled(REPLICATES, rng)
    return percentile_interval(replicates, units=sample.units, confidence=confidence)


@intervals.register("t")
@declare(Traits(approximate=True))
def student(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Student's t over independent values, such as runs or templates; nearly normal ones."""
    from scipy import special

    values = observations_of(sample, "t")
    n = len(values)
    if n < 2:
        return Interval.too_few_units(confidence, "t")
    if is_constant(values):
        return Interval.undefined(confidence, "t")
    reach = float(special.stdtrit(n - 1, (1 + confidence) / 2))
    half = reach * float(values.std(ddof=1)) / math.sqrt(n)
    return Interval(sample.value - half, sample.value + half, confidence, "t")


def groups_sample(
    protected: Floats, other: Floats, *, cost_bound: float, group_share: float
) -> Sample:
    """Return the difference of the mean costs, protected minus other.

    The observations are the amortized disparities (Definition 2.3); they are bounded with
    `group_share`, a lower bound on the share of the smaller group (Definition 2.4).
    """
    if not len(protected) or not len(other):
        raise InputError("the difference of two groups needs a row in each of them")
    bound = cost_bound / group_share
    return Sample(
        float(protected.mean() - other.mean()),
        observations=amortized(protected, other),
        bounds=(-bound, bound),
        resampled=lambda replicates, rng: resampled(protected, other, replicates, rng),
        units=min(len(protected), len(other)),
        groups=Groups(protected, other, cost_bound),
    )


def amortized(protected: Floats, other: Floats) -> Floats:
    """Return the amortized disparities for the shares that the groups have in the sample."""
    n = len(protected) + len(other)
    return np.concatenate([protected * n / len(protected), -other * n / len(other)])


def resampled(
    protected: Floats, other: Floats, replicates: int, rng: np.random.Generator
) -> Floats:
    """Return the difference on resamples of the rows; NaN where a group is drawn empty.

    Rows with the same group and cost are interchangeable, so drawing how often each such
    cell occurs is drawing the rows: a table of any length costs as little as its cells.
    """
    values, counts = zip(*(cells_of(costs) for costs in (protected, other)), strict=True)
    cells, n = np.concatenate(counts), len(protected) + len(other)
    many = len(cells) * _DRAWN_ONE_BY_ONE > n
    if many:
        values, cells = (protected, other), np.ones(n, dtype=np.intp)
    differences = np.empty(replicates)
    for part in slices(replicates, len(cells)):
        size = part.stop - part.start
        drawn = draws(size, n, rng) if many else rng.multinomial(n, cells / n, size=size)
        times = np.split(drawn, [len(values[0])], axis=1)
        means = [ratio(times[i] @ values[i], times[i].sum(axis=1)) for i in (0, 1)]
        differences[part] = means[0] - means[1]
    return differences


def cells_of(costs: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the different costs and how often each occurs; many are merged to their means."""
    values, counts = np.unique(costs, return_counts=True)
    if len(values) <= _CELLS:
        return values, counts
    # Even steps hold the bulk of a wide spread apart, even shares that of a narrow one.
    shares = np.linspace(0, 1, _CELLS // 2)
    edges = np.union1d(np.quantile(costs, shares), values[0] + shares * np.ptp(values))
    cell = np.searchsorted(edges, values)
    often = np.bincount(cell, counts)
    means = np.bincount(cell, counts * values) / np.maximum(often, 1)
    lost = counts @ (values - means[cell]) ** 2
    if lost > _LOST * (counts @ (values - costs.mean()) ** 2):
        return values, counts
    filled = often > 0
    return means[filled], often[filled].astype(np.intp)
