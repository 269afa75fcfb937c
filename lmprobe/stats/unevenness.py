"""How unevenly a model treats groups when no lean is known.

Amplification needs a lean. Without one, the size of the deviations can still be measured:
the mean over pairs of |mean over templates of (predicted - base rate)|. It is never negative and
grows with noise, so it is tested against chance, not against zero: if the group made no
difference, exchanging the attributes of a task in all templates of a family would change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lmprobe.metrics.association import Floats
from lmprobe.metrics.directional import defined_mean
from lmprobe.results import Interval, Verdict
from lmprobe.stats.resampling import draws, slices

METHOD = "bootstrap-deviation"
_REPLICATES = 2000
# Permutations, and cells that are drawn altogether: a larger set is permuted less often.
_PERMUTATIONS, _MOST_CELLS = 1999, 400_000_000


@dataclass(frozen=True, slots=True)
class Unevenness:
    """The mean size of a pair's deviation from the base, with its interval and p-value."""

    json_keys: ClassVar[tuple[str, ...]] = ("value", "interval", "p_value", "verdict")

    value: float
    interval: Interval
    p_value: float
    """Of the hypothesis that the attributes are exchangeable in every family and task."""

    @property
    def verdict(self) -> Verdict:
        """Whether chance is ruled out at the confidence of the interval."""
        ruled_out = self.p_value < 1 - self.interval.confidence
        return Verdict.UNEVEN if ruled_out else Verdict.UNDECIDED


def unevenness(
    predicted: Floats,
    base_rate: Floats,
    *,
    families: Sequence[str],
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> Unevenness:
    """Return how far predictions (K, A, T) are from base rates (A, T), in whatever direction.

    Noise makes the value too large, by most where there is nothing to find, so percentiles of
    its resamples do not cover. The interval uses that the true value differs by no more than the
    mean size of the errors (the triangle inequality), whose quantile the bootstrap over paraphrase
    families gives: it covers more often than it says, at zero too. The p-value is from permuting
    the attributes of each task in whole families, whose templates share their noise.
    """
    deviation = predicted - base_rate
    family = np.unique(np.asarray(families, dtype=str), return_inverse=True)[1]
    sums = np.zeros((family.max() + 1, *deviation.shape[1:]))
    np.add.at(sums, family, deviation)
    value = float(defined_mean(np.abs(sums.sum(axis=0)))) / len(family)
    interval = Interval.too_few_units(confidence, METHOD)
    if len(sums) > 1:
        error = float(np.quantile(_errors(sums, np.bincount(family), rng), confidence))
        # A mean of shares differs from another by 1 at most.
        interval = Interval(value - error, value + error, confidence, METHOD).clipped(0.0, 1.0)
    return Unevenness(value, interval, _p_value(sums / len(family), value, rng))


def _errors(by_family: Floats, sizes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
    """Return the mean size of the errors when as many families are drawn anew (R,)."""
    count, sums = len(by_family), by_family.reshape(len(by_family), -1)
    mean = sums.sum(axis=0) / sizes.sum()
    values = np.empty(_REPLICATES)
    for part in slices(_REPLICATES, sums.shape[1]):
        weight = draws(part.stop - part.start, count, rng)
        error = weight @ sums / (weight @ sizes)[:, None] - mean
        values[part] = defined_mean(np.abs(error), axis=1)
    # Resampling n units loses a factor (n - 1) / n of the variance.
    return values * math.sqrt(count / (count - 1))


def _p_value(by_family: Floats, value: float, rng: np.random.Generator) -> float:
    permutations = max(199, min(_PERMUTATIONS, _MOST_CELLS // by_family.size))
    as_large = 0
    for part in slices(permutations, by_family.size):
        block = np.broadcast_to(by_family, (part.stop - part.start, *by_family.shape))
        sizes = defined_mean(np.abs(rng.permuted(block, axis=2).sum(axis=1)), axis=(1, 2))
        # Equal arrangements may differ in the last digits, by the order of summation.
        as_large += int((sizes >= value * (1 - 1e-9)).sum())
    return (1 + as_large) / (1 + permutations)
