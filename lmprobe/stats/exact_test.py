"""The exact law of the score test of p_a - p_b, with a bound on its largest p-value.

The p-value of a difference d is the largest chance, over every pair of rates that differ by
d, of a score at least as far from zero as the one observed. Two things make that maximum
safe. Rates are searched inside a rectangle of Clopper-Pearson limits that fails with chance
`FAILURE` times the level, which the p-value pays for (Berger & Boos 1994). And between the
points of a grid, over a whole block of differences at once, the chance is bounded by its
values at the corners and a bound on its second derivatives. docs/statistics.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.tally import Floats
from lmprobe.stats.methods.score import score_statistic

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FAILURE = 1 / 500
"""The share of the level that is spent on the limits of the rates."""

# Outcomes this unlikely at every rate in the rectangle are counted as extreme, unseen.
_UNLIKELY = 1e-9
# A coarse grid of rates rejects most blocks; a fine one decides about the rest.
_COARSE, FINE = 24, 128
# Scores that differ by rounding alone are ties.
_TIE = 1e-9
_ROUNDING = 1e-10


@dataclass(frozen=True)
class ScoreTest:
    """The test for counts x_a of n_a and x_b of n_b at level `alpha`."""

    x_a: int
    n_a: int
    x_b: int
    n_b: int
    alpha: float

    @property
    def difference(self) -> float:
        """The observed difference of the rates."""
        return self.x_a / self.n_a - self.x_b / self.n_b

    @cached_property
    def limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The Clopper-Pearson limits of both rates."""
        tail = self.alpha * FAILURE / 4
        return _limits(self.x_a, self.n_a, tail), _limits(self.x_b, self.n_b, tail)

    @cached_property
    def outcomes(self) -> tuple[Ints, Ints]:
        """The counts of each group that occur at some rate within the limits."""
        return _likely(self.n_a, *self.limits[0]), _likely(self.n_b, *self.limits[1])

    def rejects(self, first: Floats, last: Floats) -> Flags:
        """Tell of each block [first, last] whether all of its differences are rejected.

        False when in doubt. Blocks lie on one side of the observed difference and do not
        reach over a corner of the rectangle of the limits.
        """
        counts = (float(self.x_a), float(self.n_a), float(self.x_b), float(self.n_b))
        scores = score_statistic(np.stack([first, last]), *counts)
        reach = np.abs(scores).min(axis=0) * (1 - _TIE)
        accepted = self._accepted(first, last, reach)
        maybe = np.ones(len(first), dtype=bool)
        (low_a, high_a), (low_b, high_b) = self.limits
        # No rates within the limits differ so much.
        rejected = np.asarray((last < low_a - high_b) | (first > high_a - low_b))
        for cells in (_COARSE, FINE):
            chosen = np.flatnonzero(maybe & ~rejected)
            if not len(chosen):
                break
            lows, highs = (side[chosen] for side in accepted)
            rates = self._rates(first[chosen], last[chosen], cells)
            chance = np.stack([self._extreme(rates[end], lows, highs) for end in (0, 1)])
            corners = np.maximum(chance[..., 1:], chance[..., :-1]).max(axis=0)
            level = self.alpha * (1 - FAILURE) - _ROUNDING
            rejected[chosen] = self._largest(corners, rates).max(axis=-1) <= level
            maybe[chosen] = corners.max(axis=-1) <= level
        return rejected

    def _rates(self, first: Floats, last: Floats, cells: int) -> Floats:
        """Return p_a and p_b along both ends of each block: (2 ends, 2 groups, blocks, points)."""
        (low_a, high_a), (low_b, high_b) = self.limits
        rates = []
        for d in (first, last):
            low = np.maximum(low_b, low_a - d)
            high = np.maximum(low, np.minimum(high_b, high_a - d))
            p_b = np.linspace(low, high, cells + 1, axis=-1)
            rates.append([np.clip(p_b + d[:, None], low_a, high_a), p_b])
        return np.array(rates)

    def _accepted(self, first: Floats, last: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Return for each x_a the first and last x_b that are nowhere as far as `reach`.

        The score falls in the difference, so over a block it is largest at `first` and
        smallest at `last`; it falls in x_b, so what is accepted is a range. (blocks, x_a)
        """
        x_a, x_b = self.outcomes
        shape = (len(first), len(x_a))

        def score(d: Floats, chosen: Ints) -> Floats:
            counts = (x_a.astype(float), float(self.n_a), chosen.astype(float), float(self.n_b))
            return score_statistic(d[:, None], *counts)

        far = reach[:, None]
        low = _smallest(lambda x: score(first, x) < far, x_b, shape)
        beyond = _smallest(lambda x: score(last, x) <= -far, x_b, shape)
        return low, np.maximum(beyond, low)

    def _extreme(self, rates: Floats, start: Ints, stop: Ints) -> Floats:
        """Return the chance of an outcome that is not accepted: (blocks, points)."""
        x_a, x_b = self.outcomes
        first = _chances(x_a, self.n_a, rates[0])
        second = _chances(x_b, self.n_b, rates[1]).cumsum(axis=-1)
        below = np.concatenate([np.zeros((*second.shape[:-1], 1)), second], axis=-1)
        accepted = (
            np.take_along_axis(below, (edge - x_b[0])[:, None, :], axis=-1)
            for edge in (stop, start)
        )
        return np.asarray(1 - (first * (next(accepted) - next(accepted))).sum(axis=-1))

    def _largest(self, corners: Floats, rates: Floats) -> Floats:
        """Bound the chance within each cell of the grid, given the largest at its corners.

        A function on a cell exceeds the largest of its corners by at most an eighth of its
        second derivatives, along the grid and across the block, times the squared steps.
        """
        cell = np.stack([rates[..., :-1], rates[..., 1:]])
        spread = (cell * (1 - cell)).min(axis=(0, 1))
        sizes = np.array([self.n_a, self.n_b], dtype=float)[:, None, None]
        with np.errstate(divide="ignore"):
            information = sizes / spread
        along = np.abs(rates[..., 1:] - rates[..., :-1]).max(axis=0)
        across = np.abs(rates[1] - rates[0])
        across = np.maximum(across[..., 1:], across[..., :-1])
        smooth, rough = (
            (one + other) / 8
            for one, other in zip(
                _curvature(information, sizes, along),
                _curvature(information, sizes, across),
                strict=True,
            )
        )
        # chance <= corners + smooth sqrt(chance), solved for the chance.
        solved = ((smooth + np.sqrt(smooth**2 + 4 * corners)) / 2) ** 2
        return np.asarray(np.minimum(solved, corners + rough))


def _curvature(information: Floats, sizes: Floats, moves: Floats) -> tuple[Floats, Floats]:
    """Bound the second derivative of an event's chance along `moves` of the two rates.

    By Cauchy-Schwarz it is at most the first number times the root of the chance itself. At
    rates near 0 or 1, where the information is infinite, the second number is a bound, from
    the differences of the event's indicator.
    """
    with np.errstate(invalid="ignore"):
        parts = np.where(moves == 0, 0.0, information * moves**2)
    capped = np.minimum(information, 4 * sizes**2) * moves**2
    rough = capped.sum(axis=0) / math.sqrt(2) + np.sqrt(capped.prod(axis=0))
    return math.sqrt(2) * parts.sum(axis=0), rough


def _limits(x: int, n: int, tail: float) -> tuple[float, float]:
    from scipy import special

    low = 0.0 if x == 0 else float(special.betaincinv(x, n - x + 1, tail))
    high = 1.0 if x == n else float(special.betainccinv(x + 1, n - x, tail))
    return low, high


def _likely(n: int, low: float, high: float) -> Ints:
    from scipy import stats

    first, last = stats.binom.ppf(_UNLIKELY, n, low), stats.binom.isf(_UNLIKELY, n, high)
    return np.arange(int(first), int(last) + 1)


def _chances(x: Ints, n: int, rates: Floats) -> Floats:
    """Return the binomial chances of each count: (..., x)."""
    from scipy import special

    choices = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    success, failure = (np.log(np.maximum(p, 1e-300))[..., None] for p in (rates, 1 - rates))
    return np.asarray(np.exp(choices + success * x + failure * (n - x)))


def _smallest(found: Callable[[Ints], Flags], x: Ints, shape: tuple[int, ...]) -> Ints:
    """Return the smallest count from which on `found` is true, one past the last if none is."""
    low, high = np.full(shape, x[0]), np.full(shape, x[-1] + 1)
    for _ in range(len(x).bit_length()):
        middle = (low + high) // 2
        open_ = low < high
        good = found(np.minimum(middle, x[-1]))
        high = np.where(open_ & good, middle, high)
        low = np.where(open_ & ~good, middle + 1, low)
    return low
