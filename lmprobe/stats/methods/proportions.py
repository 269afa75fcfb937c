"""The difference of two proportions: the score interval and the exact one.

`score` inverts the approximate law of the score statistic (Miettinen & Nurminen 1985), `exact` its
exact one. The statistic falls as the difference grows, rises in the first count and falls in the
second; docs/appendix/derivations.md has the proof, which `exact` rests on.

The exact p-value of a difference d is the largest chance, over every pair of rates that differ by
d, of a score at least as far from zero as the one observed. Two things make that maximum
safe. Rates are searched inside a rectangle of Clopper-Pearson limits that fails with chance
`FAILURE` times the level, which the p-value pays for (Berger & Boos 1994). And between the
points of a grid, over a whole block of differences at once, the chance is bounded by its
values at the corners and a bound on its second derivatives. docs/appendix/derivations.md
derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats
from lmprobe.results.verdict import Interval
from lmprobe.stats.method import Sample, groups_of, intervals

Numbers = NDArray[Any] | float
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# A difference in [-1, 1] to 2^-45.
_HALVINGS = 46


@intervals.register("score")
def score(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Score interval of two proportions: narrow, nearly exact; two groups with 0/1 costs."""
    counts, bound = counts_of(sample, "score")
    low, high = score_interval(*counts, confidence=confidence)
    return Interval(float(low) * bound, float(high) * bound, confidence, "score")


def counts_of(sample: Sample, method: str) -> tuple[list[int], float]:
    """Return how many rows of each group pay and how many there are, and what they pay."""
    groups, counts = groups_of(sample, method), []
    for costs in (groups.protected, groups.other):
        share = costs / groups.cost_bound
        between = ~np.isin(share, (0.0, 1.0))
        if between.any():
            raise InputError(
                f'the interval "{method}" is for costs that are either 0 or the bound, such as '
                f'those of 0/1 decisions: found {share[between][0]}; use "betting" or "bootstrap"'
            )
        counts += [int(share.sum()), len(share)]
    return counts, groups.cost_bound


def score_interval(
    ones_a: Any, n_a: Any, ones_b: Any, n_b: Any, *, confidence: float
) -> tuple[Floats, Floats]:
    """Return the ends of the interval of p_a - p_b; arrays give arrays.

    An end is where the score test of p_a - p_b = end is just not significant, by bisection.
    The one of statsmodels fails where a group is all 0 or all 1.
    """
    from scipy import special

    x_a, a, x_b, b = (np.asarray(n, dtype=np.float64) for n in (ones_a, n_a, ones_b, n_b))
    estimate = x_a / a - x_b / b
    reach = float(special.ndtri((1 + confidence) / 2))
    ends = []
    for limit in (-1.0, 1.0):
        inside, outside = estimate, np.full(np.shape(estimate), limit)
        for _ in range(_HALVINGS):
            middle = (outside + inside) / 2
            near = np.abs(score_statistic(middle, x_a, a, x_b, b)) <= reach
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        # The outer side: one rounding too wide rather than too narrow.
        ends.append(outside)
    return ends[0], ends[1]


def score_statistic(
    difference: Floats, x_a: Numbers, a: Numbers, x_b: Numbers, b: Numbers
) -> Floats:
    """Return the score statistic of p_a - p_b = difference; arrays broadcast."""
    p_b = _likeliest(difference, x_a, a, x_b, b)
    p_a = p_b + difference  # within [0, 1], as p_b is within what the difference leaves
    n = a + b
    variance = (p_a * (1 - p_a) / a + p_b * (1 - p_b) / b) * n / (n - 1)
    apart = x_a / a - x_b / b - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0, 0.0, apart / np.sqrt(variance))


def _likeliest(d: Floats, x_a: Numbers, a: Numbers, x_b: Numbers, b: Numbers) -> Floats:
    """Return the most likely p_b given p_a - p_b = d: the root of Miettinen & Nurminen's cubic."""
    n, x = a + b, x_a + x_b
    square = (a + 2 * b) * d - n - x
    single = (b * d - n - 2 * x_b) * d + x
    rest = x_b * d * (1 - d)
    shift = square / (3 * n)
    q = shift**3 - single * square / (6 * n**2) + rest / (2 * n)
    p = np.copysign(np.sqrt(np.maximum(shift**2 - single / (3 * n), 0)), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(p == 0, 0.0, q / p**3)
    angle = (np.pi + np.arccos(np.minimum(cosine, 1))) / 3
    root = 2 * p * np.cos(angle) - shift
    return np.asarray(np.clip(root, np.maximum(0, -d), np.minimum(1, 1 - d)))


FAILURE = 1 / 500
"""The share of the level that is spent on the limits of the rates."""

# Outcomes this unlikely at every rate in the rectangle are counted as extreme, unseen.
_UNLIKELY = 1e-9
# A coarse grid of rates rejects most blocks; a fine one decides about the rest.
_COARSE, _FINE = 24, 128
# Scores that differ by rounding alone are ties.
_TIE = 1e-9
_ROUNDING = 1e-10
# The sizes of blocks of differences, in standard errors; a block that is not rejected is
# looked at again in blocks of the next size, and the last size is the precision.
_SIZES = (0.5, 0.05, 0.005, 0.0005)
# Blocks looked at together, and the numbers held in memory for them.
_AT_ONCE, _BLOCK = 10, 4_000_000


@intervals.register("exact")
def exact(sample: Sample, *, confidence: float, rng: np.random.Generator) -> Interval:
    """Score test inverted exactly (Agresti & Min 2001): guaranteed; two groups with 0/1 costs."""
    counts, bound = counts_of(sample, "exact")
    low, high = exact_interval(*counts, confidence=confidence)
    return Interval(low * bound, high * bound, confidence, "exact")


@lru_cache(maxsize=4096)
def exact_interval(
    ones_a: int, n_a: int, ones_b: int, n_b: int, *, confidence: float
) -> tuple[float, float]:
    """Return the interval of p_a - p_b: the hull of the differences that are not rejected."""
    # Swapping the groups, or 0 and 1, turns the interval over: one form is computed.
    if (n_a, ones_a) > (n_b, ones_b):
        low, high = exact_interval(ones_b, n_b, ones_a, n_a, confidence=confidence)
        return -high, -low
    if (ones_a, ones_b) > (n_a - ones_a, n_b - ones_b):
        low, high = exact_interval(n_a - ones_a, n_a, n_b - ones_b, n_b, confidence=confidence)
        return -high, -low
    test = ScoreTest(ones_a, n_a, ones_b, n_b, 1 - confidence)
    (low_a, high_a), (low_b, high_b) = test.limits
    return _end(test, low_a - high_b), _end(test, high_a - low_b)


def _end(test: ScoreTest, outside: float) -> float:
    """Return the outermost difference that is not rejected, looking from outside in.

    Differences beyond `outside` do not occur within the limits of the rates.
    """
    (low_a, high_a), (low_b, high_b) = test.limits
    inside = test.difference
    smaller, larger = sorted([outside, inside])
    corners = np.clip([low_a - low_b, high_a - high_b], smaller, larger).tolist()
    edges = sorted([outside, *corners, inside], key=lambda d: abs(d - outside))
    rate = (test.x_a + test.x_b + 1) / (test.n_a + test.n_b + 2)
    unit = math.sqrt(rate * (1 - rate) * (1 / test.n_a + 1 / test.n_b))
    sizes = tuple(size * unit for size in _SIZES)
    ends = (_first_accepted(test, start, stop, sizes) for start, stop in pairwise(edges))
    return next((end for end in ends if end is not None), inside)


def _first_accepted(
    test: ScoreTest, start: float, stop: float, sizes: tuple[float, ...]
) -> float | None:
    """Return where the first block that is not rejected begins, or None if all are rejected."""
    points = np.linspace(start, stop, math.ceil(abs(stop - start) / sizes[0]) + 1)
    step = max(1, min(_AT_ONCE, _BLOCK // (_FINE * sum(map(len, test.outcomes)))))
    outer, inner = points[:-1], points[1:]
    first, last = np.minimum(outer, inner), np.maximum(outer, inner)
    for number in range(0, len(outer), step):
        rejected = test.rejects(first[number:][:step], last[number:][:step])
        for place in number + np.flatnonzero(~rejected):
            if len(sizes) == 1:
                return float(outer[place])
            accepted = _first_accepted(test, outer[place], inner[place], sizes[1:])
            if accepted is not None:
                return accepted
    return None


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
    def limits(self) -> tuple[tuple[float, float], ...]:
        """The Clopper-Pearson limits of both rates."""
        from scipy import special

        tail = self.alpha * FAILURE / 4
        return tuple(
            (
                0.0 if x == 0 else float(special.betaincinv(x, n - x + 1, tail)),
                1.0 if x == n else float(special.betainccinv(x + 1, n - x, tail)),
            )
            for x, n in ((self.x_a, self.n_a), (self.x_b, self.n_b))
        )

    @cached_property
    def outcomes(self) -> tuple[Ints, ...]:
        """The counts of each group that occur at some rate within the limits."""
        from scipy.stats import binom

        return tuple(
            np.arange(int(binom.ppf(_UNLIKELY, n, low)), int(binom.isf(_UNLIKELY, n, high)) + 1)
            for n, (low, high) in zip((self.n_a, self.n_b), self.limits, strict=True)
        )

    def rejects(self, first: Floats, last: Floats) -> Flags:
        """Tell of each block [first, last] whether all of its differences are rejected.

        False when in doubt. Blocks lie on one side of the observed difference and do not
        reach over a corner of the rectangle of the limits.
        """
        scores = score_statistic(np.stack([first, last]), self.x_a, self.n_a, self.x_b, self.n_b)
        lows, highs = self._accepted(first, last, np.abs(scores).min(axis=0) * (1 - _TIE))
        level = self.alpha * (1 - FAILURE) - _ROUNDING
        (low_a, high_a), (low_b, high_b) = self.limits
        # No rates within the limits differ so much.
        rejected = np.asarray((last < low_a - high_b) | (first > high_a - low_b))
        maybe = ~rejected
        for cells in (_COARSE, _FINE):
            blocks = np.flatnonzero(maybe & ~rejected)
            if not len(blocks):
                break
            rates = self._rates(first[blocks], last[blocks], cells)
            chance = np.stack([self._extreme(end, lows[blocks], highs[blocks]) for end in rates])
            corners = np.maximum(chance[..., 1:], chance[..., :-1]).max(axis=0)
            rejected[blocks] = self._largest(corners, rates).max(axis=-1) <= level
            maybe[blocks] = corners.max(axis=-1) <= level
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
        shape, far = (len(first), len(x_a)), reach[:, None]

        def score(d: Floats, counts_b: Ints) -> Floats:
            return score_statistic(d[:, None], x_a, self.n_a, counts_b, self.n_b)

        low = _smallest(lambda x: score(first, x) < far, x_b, shape)
        beyond = _smallest(lambda x: score(last, x) <= -far, x_b, shape)
        return low, np.maximum(beyond, low)

    def _extreme(self, rates: Floats, start: Ints, stop: Ints) -> Floats:
        """Return the chance of an outcome that is not accepted: (blocks, points)."""
        x_a, x_b = self.outcomes
        chances = _chances(x_b, self.n_b, rates[1])
        below = np.pad(chances.cumsum(axis=-1), [(0, 0), (0, 0), (1, 0)])
        below_start, below_stop = (
            np.take_along_axis(below, (edge - x_b[0])[:, None, :], axis=-1)
            for edge in (start, stop)
        )
        accepted = _chances(x_a, self.n_a, rates[0]) * (below_stop - below_start)
        return np.asarray(1 - accepted.sum(axis=-1))

    def _largest(self, corners: Floats, rates: Floats) -> Floats:
        """Bound the chance within each cell of the grid, given the largest at its corners.

        A function on a cell exceeds the largest of its corners by at most an eighth of its
        second derivatives, along the grid and across the block, times the squared steps.
        """
        cell = np.stack([rates[..., :-1], rates[..., 1:]])
        sizes = np.array([self.n_a, self.n_b], dtype=float)[:, None, None]
        with np.errstate(divide="ignore"):
            information = sizes / (cell * (1 - cell)).min(axis=(0, 1))
        along = np.abs(rates[..., 1:] - rates[..., :-1]).max(axis=0)
        across = np.abs(cell[:, 1] - cell[:, 0]).max(axis=0)
        bounds = [_curvature(information, sizes, moves) for moves in (along, across)]
        smooth, rough = (bounds[0] + bounds[1]) / 8
        # chance <= corners + smooth sqrt(chance), solved for the chance.
        solved = ((smooth + np.sqrt(smooth**2 + 4 * corners)) / 2) ** 2
        return np.asarray(np.minimum(solved, corners + rough))


def _curvature(information: Floats, sizes: Floats, moves: Floats) -> Floats:
    """Bound the second derivative of an event's chance along `moves` of the two rates, twice.

    By Cauchy-Schwarz it is at most the first number times the root of the chance itself. At
    rates near 0 or 1, where the information is infinite, the second number is a bound, from
    the differences of the event's indicator.
    """
    with np.errstate(invalid="ignore"):
        parts = np.where(moves == 0, 0.0, information * moves**2)
    capped = np.minimum(information, 4 * sizes**2) * moves**2
    rough = capped.sum(axis=0) / math.sqrt(2) + np.sqrt(capped.prod(axis=0))
    return np.stack([math.sqrt(2) * parts.sum(axis=0), rough])


def _chances(x: Ints, n: int, rates: Floats) -> Floats:
    """Return the binomial chances of each count: (..., x)."""
    from scipy import special

    choices = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    success, failure = (np.log(np.maximum(p, 1e-300))[..., None] for p in (rates, 1 - rates))
    return np.asarray(np.exp(choices + success * x + failure * (n - x)))


def _smallest(enough: Callable[[Ints], Flags], x: Ints, shape: tuple[int, ...]) -> Ints:
    """Return the smallest count from which on `enough` is true, one past the last if none is."""
    low, high = np.full(shape, x[0]), np.full(shape, x[-1] + 1)
    for _ in range(len(x).bit_length()):
        middle = (low + high) // 2
        unsettled = low < high
        good = enough(np.minimum(middle, x[-1]))
        high = np.where(unsettled & good, middle, high)
        low = np.where(unsettled & ~good, middle + 1, low)
    return low
