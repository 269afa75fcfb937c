"""How much of an amplification a sampled base shows, and the noise that it adds.

The split lean (see `leaning`) is right for a model that tells the truth. For another one it finds
too little, because a pair whose lean the counts do not show counts less. How much is found is
estimated with a prior for the rates that is fitted to the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats, lean_of_counts, ratio
from lmprobe.metrics.direction import Direction, LeanWeighting
from lmprobe.results.verdict import Interval

HOLDOUT = 0.2
"""The share of sentences held out, as in five-fold cross-fitting.

Less gives a steeper weight, whose variance grows like one over the root of the share where a
pair is close to a tie; more gives a lean from fewer sentences.
"""

LeanRule = Callable[[Floats, Floats], Floats]
"""From tables (..., A, T) and weights of the tasks (..., T) to the lean, (..., A, T)."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaning:
    """What takes the place of the lean: the amplification is weight * predicted - offset.

    Both are (..., A, T). For an exact base they are the lean, and the lean times the base rate.
    """

    weight: Floats
    offset: Floats

    def cells(self, predicted: Floats) -> Floats:
        """Return the amplification (..., A, T) of predictions given tasks or attributes."""
        return self.weight * predicted - self.offset


@dataclass(frozen=True, slots=True, eq=False)
class SplitBase:
    """A base (..., A, T) and ways to split it: one part for the lean, the other for the rates.

    Both are (D, ..., A, T); the expectation of `held_out` is `share` times the base.
    """

    whole: Floats
    lean_part: Floats
    held_out: Floats
    share: float = HOLDOUT

    @classmethod
    def exact(cls, table: Floats) -> SplitBase:
        """Return a base that is known without error."""
        return cls(table, table[None], table[None], 1.0)

    @classmethod
    def of_counts(cls, counts: Floats, rng: np.random.Generator, ways: int) -> SplitBase:
        """Return a table of counted sentences, split sentence by sentence."""
        held = rng.binomial(counts.astype(np.int64), HOLDOUT, size=(ways, *counts.shape))
        return cls(counts, counts - held, held.astype(np.float64))

    @classmethod
    def of_survey(
        cls, table: Floats, standard_errors: Floats, rng: np.random.Generator, ways: int
    ) -> SplitBase:
        """Return survey estimates with normal errors, blurred as much as a share held out does."""
        noise = rng.standard_normal((ways, *table.shape)) * standard_errors
        blur = np.sqrt(HOLDOUT / (1 - HOLDOUT))
        lean_part = np.maximum(table + blur * noise, 0.0)
        return cls(table, lean_part, HOLDOUT * (table - noise / blur))

    def leaning(
        self, rule: LeanRule, given: Direction, task_weight: Floats | None = None
    ) -> Leaning:
        """Return the mean over the ways to split, for weights of the tasks (..., T).

        `given` names the direction within whose condition the rates are taken. Given the lean of
        one part, the other gives an unbiased base rate, so a model that predicts the true rates
        has the expectation 0.
        """
        weight = np.ones(self.whole.shape[-1]) if task_weight is None else task_weight
        by_column = weight[..., None, :]
        # Weights that differ from resample to resample have an axis of their own.
        resampled = (slice(None), *(None,) * (weight.ndim - 1))
        lean_part, held = self.lean_part[resampled], self.held_out[resampled]

        def condition(table: Floats) -> Floats:
            weighted = table * by_column if given.axis == -1 else table
            return np.asarray(weighted.sum(axis=given.axis, keepdims=True))

        lean = rule(lean_part, weight)
        expected = self.share * condition(self.whole)
        amount = np.mean(lean * condition(held), axis=0)
        return Leaning(ratio(amount, expected), ratio(np.mean(lean * held, axis=0), expected))


def lean_rule(direction: Direction, weighting: LeanWeighting = "joint") -> LeanRule:
    """Return the rule by which a base leans: as Eq. 2 of the paper, or as its published code."""
    return lambda table, weight: lean_of_counts(table, direction, weighting, weight)


ENOUGH = 0.5
"""Below this reliability no verdict is given: most of what there is would not be seen."""

# A smaller reliability is not divided by: the interval would be all there is to see.
_LEAST = 1 / 3
_WORLDS = 60
_WAYS = 60
# Means and standard deviations of log odds that are weighed, and points of each integral.
_MEANS, _DEVIATIONS, _POINTS = 17, 20, 15
_SMALLEST, _LARGEST = 0.05, 4.0
# A slope on expected log odds is too small by up to this share of what the counts do not show:
# found by simulation with the rates of `labor` and with five attributes.
_MISFIT = 0.35


@dataclass(frozen=True, slots=True)
class Reliability:
    """The share of a model's amplification that the split lean finds, two models assumed."""

    proportional: float
    """Of a model that exaggerates each link in proportion to its strength."""
    even: float
    """Of a model that exaggerates every link by the same amount, however weak."""

    @property
    def divisor(self) -> float:
        """What a value that the split lean found is divided by."""
        return max(self.proportional, _LEAST)

    @property
    def is_enough(self) -> bool:
        """Whether the base is large enough for a verdict."""
        return self.proportional >= ENOUGH

    def stretched(self, interval: Interval, least: float = _LEAST) -> Interval:
        """Return the interval such that it also covers an even exaggeration.

        The end away from zero is moved: the verdict does not depend on it.
        """
        stretch = max(1.0, self.divisor / max(self.even, least))
        return replace(
            interval,
            low=min(interval.low, interval.low * stretch),
            high=max(interval.high, interval.high * stretch),
        )


EXACT = Reliability(1.0, 1.0)
"""Of a base that shows everything."""


def checked_counts(counts: Floats) -> Floats:
    """Return the counts as whole numbers; weights such as thousands of people are refused."""
    table = np.rint(counts)
    broken = ~(np.abs(table - counts) <= 1e-6)
    if broken.any():
        raise InputError(
            "a base with `counts = true` must hold whole numbers of sentences; found "
            f"{counts[broken][0]:.10g}"
        )
    return table


def reliability(
    counts: Floats,
    direction: Direction,
    *,
    weighting: LeanWeighting = "joint",
    given: Direction | None = None,
    scale: Floats | float = 1.0,
    rng: np.random.Generator,
    factor: float = 1.0,
) -> Reliability:
    """Return how much of an amplification a base like this, `factor` times as large, shows.

    Rates are drawn from their posterior under the fitted prior, and sentences from them; the
    number of sentences of each task stays as it is.
    """
    rates = posterior_rates(counts, _WORLDS, rng)
    sizes = np.rint(counts.sum(axis=0) * factor)
    split = SplitBase.of_counts(redraw(rates, sizes, rng), rng, _WAYS)
    joint = rates * sizes
    lean = lean_of_counts(joint, direction, weighting)
    fitted = split.leaning(lean_rule(direction, weighting), given or direction)
    axis = (given or direction).axis
    other = -1 if axis == -2 else -2
    margin = joint.sum(axis=other, keepdims=True) / joint.sum(axis=(-2, -1), keepdims=True)
    strength = np.abs(ratio(joint, joint.sum(axis=axis, keepdims=True)) - margin) * scale
    agreeing = np.where(np.isnan(fitted.weight), 0.0, fitted.weight) * lean
    proportional = float(np.nansum(agreeing * strength) / max(np.nansum(strength), 1e-300))
    # Estimated by simulation, a share may come out slightly above 1.
    shares = np.clip([proportional, float(agreeing.mean())], 0.0, 1.0)
    return Reliability(float(shares[0]), float(shares[1]))


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedLogOdds:
    """The log odds of every two attributes given a task that a table of counts makes likely.

    A slope on them is not made smaller by the noise of the counts, as one on the log odds of the
    counts is (regression calibration). Over the tasks the true log odds of two attributes are
    taken as normal; their mean and standard deviation are integrated out, by their likelihood.
    """

    likelihoods: Floats
    """(P, T, G): the logarithm of that of each task, under each mean and standard deviation."""
    means: Floats
    squares: Floats
    """(P, T, G): the expected log odds and their squares, under each of them."""

    @classmethod
    def of_counts(cls, counts: Floats) -> ExpectedLogOdds:
        """Return those of counts (A, T), P pairs of attributes."""
        pairs = [_log_odds(*counts[list(pair)]) for pair in combinations(range(len(counts)), 2)]
        return cls(*(np.stack(part) for part in zip(*pairs, strict=True)))

    def expected(self, task_weight: Floats) -> tuple[Floats, Floats]:
        """Return the means and variances (N, P, T) under weights of the tasks (N, T)."""
        weight = np.einsum("nt,ptg->npg", task_weight, self.likelihoods)
        weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
        weight /= weight.sum(axis=-1, keepdims=True)
        mean, square = (
            np.einsum("npg,ptg->npt", weight, part) for part in (self.means, self.squares)
        )
        return mean, square - mean**2

    @property
    def shown(self) -> float:
        """The share of the variance of the log odds that the counts show."""
        mean, variance = self.expected(np.ones((1, self.means.shape[1])))
        return float(mean.var(axis=-1).sum() / (mean.var(axis=-1) + variance.mean(axis=-1)).sum())

    @property
    def reliability(self) -> Reliability:
        """How much of a slope is found where log odds are not normal, or depend on the sizes."""
        return Reliability(1.0, 1 - _MISFIT * (1 - self.shown))


def _log_odds(first: Floats, second: Floats) -> tuple[Floats, Floats, Floats]:
    """Return likelihoods, means and squares (T, G) of the log odds behind two counts (T,) each.

    By Gauss-Hermite quadrature around the normal approximation of each posterior.
    """
    from scipy import special

    seen = np.log((first + 0.5) / (second + 0.5))[:, None]
    precision = 1 / (1 / (first + 0.5) + 1 / (second + 0.5))[:, None]
    reach = 4 * float(seen.std()) / math.sqrt(len(seen)) + 0.3
    centre = float(np.average(seen, weights=1 / (1 / precision + seen.var())))
    deviations = np.geomspace(_SMALLEST, _LARGEST, _DEVIATIONS)
    grid = np.meshgrid(centre + reach * np.linspace(-1, 1, _MEANS), deviations)
    mean, deviation = (axis.reshape(1, -1, 1) for axis in grid)
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    width = 1 / np.sqrt(precision[..., None] + deviation**-2)
    middle = width**2 * ((precision * seen)[..., None] + mean / deviation**2)
    odds = middle + width * points
    logs = (
        first[:, None, None] * odds
        - (first + second)[:, None, None] * np.logaddexp(0, odds)
        - ((odds - mean) / deviation) ** 2 / 2
        + points**2 / 2
        + np.log(weights * width / deviation)
    )
    likelihood = special.logsumexp(logs, axis=-1)
    share = np.exp(logs - likelihood[..., None])
    return likelihood, (share * odds).sum(axis=-1), (share * odds**2).sum(axis=-1)


def redraw(rates: Floats, sizes: Floats, rng: np.random.Generator) -> Floats:
    """Draw as many sentences of each task from rates (..., A, T)."""
    drawn = rng.multinomial(sizes.astype(np.int64), np.moveaxis(rates, -2, -1))
    return np.moveaxis(drawn, -1, -2).astype(np.float64)


def posterior_rates(counts: Floats, worlds: int, rng: np.random.Generator) -> Floats:
    """Draw P(a|t), (worlds, A, T), as the counts and a prior fitted to them allow."""
    share = counts.sum(axis=1) / counts.sum()
    alpha = concentration(counts) * share[:, None] + counts
    drawn = rng.gamma(alpha, size=(worlds, *counts.shape))
    drawn = np.where(alpha > 0, np.maximum(drawn, 1e-300), 0.0)
    return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def concentration(counts: Floats) -> float:
    """Return how alike the tasks are: the concentration of a Dirichlet prior of P(a|t).

    It maximises the likelihood of the counts given the number of sentences of each task and
    the shares of the attributes overall (Dirichlet-multinomial, by a grid of 1/4 to 4,000).
    """
    from scipy.special import gammaln

    counted = counts[counts.sum(axis=1) > 0]
    share = (counted.sum(axis=1) / counted.sum())[:, None]
    grid = np.exp(np.linspace(math.log(0.25), math.log(4000.0), 80))
    alpha = grid[:, None, None] * share
    cells = gammaln(alpha + counted) - gammaln(alpha)
    sizes = counted.sum(axis=0)
    likelihood = (gammaln(grid)[:, None] - gammaln(grid[:, None] + sizes)).sum(axis=1)
    return float(grid[np.argmax(likelihood + cells.sum(axis=(1, 2)))])
