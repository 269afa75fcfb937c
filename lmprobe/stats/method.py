"""What every interval method is given, and the registry that finds it by name.

A method is one function in one file of `methods`. It uses the part of the `Sample` that it
needs: the independent observations, the resamples, or the two groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from lmprobe.errors import InputError, check_numbers
from lmprobe.metrics.association import Floats
from lmprobe.registry import Registry
from lmprobe.results.verdict import Interval
from lmprobe.stats import REMOVED
from lmprobe.stats.resampling import Spread

REPLICATES = 10_000
"""Default number of bootstrap replicates: enough that the ends move by about 1 % of the width."""


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
    return cast(Traits, getattr(_chosen(method), "traits", Traits()))


def interval(
    sample: Sample,
    *,
    method: str | IntervalMethod,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Interval:
    """Return the interval of `sample` by a method or its name."""
    checked_confidence(confidence)
    return _chosen(method)(sample, confidence=confidence, rng=rng)


def _chosen(method: str | IntervalMethod) -> IntervalMethod:
    if not isinstance(method, str) and not callable(method):
        raise InputError(f"`method` must be a function or a name: found {method!r}")
    return intervals.get(method) if isinstance(method, str) else method


def checked_confidence(confidence: float) -> float:
    """Return `confidence`, or say that it is not a probability between 0 and 1."""
    check_numbers(confidence=confidence)
    if not 0 < confidence < 1:
        raise InputError(
            f"`confidence` must lie between 0 and 1, both excluded: found {confidence}"
        )
    return confidence


def constant(values: Floats) -> bool:
    """Tell whether the values are all alike but for rounding; no spread can be read off them."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


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
