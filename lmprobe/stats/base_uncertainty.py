"""What the sampling of a counted base does to a probe: the bias that it removes, and its noise.

The cross-fitted lean (see `cross_fit`) is right for a model that tells the truth. For another
one it finds too little, because a pair whose lean the counts do not show counts less. How
much is found is estimated with a prior for the rates that is fitted to the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.core.association import ratio
from lmprobe.core.choices import LeanWeighting
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import InputError
from lmprobe.metrics.directional import defined_mean
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.results.interval import Interval
from lmprobe.stats.cross_fit import CrossFittedLean, blurred_lean, cross_fitted_lean

ENOUGH = 0.5
"""Below this reliability no verdict is given: most of what there is would not be seen."""

# A smaller reliability is not divided by: the interval would be all there is to see.
_LEAST = 1 / 3
_WORLDS = 60
_DRAWS = 60
_REDRAWN = 100


@dataclass(frozen=True, slots=True)
class Reliability:
    """The share of a model's amplification that the cross-fitted lean finds, two models assumed."""

    proportional: float
    """Of a model that exaggerates each link in proportion to its strength."""
    even: float
    """Of a model that exaggerates every link by the same amount, however weak."""


@dataclass(frozen=True, slots=True, eq=False)
class BaseCorrection:
    """What a count table of one direction needs so that its noise does no harm."""

    lean: CrossFittedLean
    reliability: Reliability
    sentences: int | None
    """How many were counted; None for a survey."""
    redrawn: CrossFittedLean
    """The cross-fitted lean of bases that might have been drawn instead, (B, A, T)."""

    def cells(self, predicted: Floats) -> Floats:
        """Return the amplification without the bias of the counts, (..., A, T)."""
        return self.lean.cells(predicted) / max(self.reliability.proportional, _LEAST)

    def noise(self, predicted: Floats, scale: Floats | float = 1.0) -> float:
        """Return the standard error that the base alone adds to the value of (K, A, T) tables."""
        cells = self.redrawn.cells(predicted.mean(axis=0)) * scale
        each = np.asarray(defined_mean(cells, axis=(1, 2)))
        return float(each.std(ddof=1)) / max(self.reliability.proportional, _LEAST)

    def widened(self, interval: Interval) -> Interval:
        """Return the interval of `cells` such that it also covers an even exaggeration."""
        found = max(self.reliability.proportional, _LEAST)
        stretch = max(1.0, found / max(self.reliability.even, _LEAST))
        return replace(
            interval,
            low=min(interval.low, interval.low * stretch),
            high=max(interval.high, interval.high * stretch),
        )


def is_enough(reliability: float | None) -> bool:
    """Whether a base is large enough for a verdict; one without noise (None) always is."""
    return reliability is None or reliability >= ENOUGH


def base_correction(
    counts: Floats,
    direction: Direction,
    *,
    weighting: LeanWeighting = "joint",
    given: Direction | None = None,
    scale: Floats | float = 1.0,
    rng: np.random.Generator,
) -> BaseCorrection:
    """Return the correction of a table of counted sentences (A, T).

    `scale` (A, T) is what a difference of the conditional within `given` counts, where the
    value is not the plain mean of such differences.
    """
    table = checked_counts(counts)
    lean = cross_fitted_lean(table, direction, weighting=weighting, given=given, rng=rng)
    found = reliability(table, direction, weighting=weighting, given=given, scale=scale, rng=rng)
    redrawn = _redrawn(posterior_rates(table, _REDRAWN, rng), table.sum(axis=0), rng)
    noisy = cross_fitted_lean(
        redrawn, direction, weighting=weighting, given=given, rng=rng, draws=_DRAWS
    )
    return BaseCorrection(lean, found, int(table.sum()), noisy)


def survey_correction(
    table: Floats,
    standard_errors: Floats,
    direction: Direction,
    *,
    weighting: LeanWeighting = "joint",
    given: Direction | None = None,
    rng: np.random.Generator,
) -> BaseCorrection:
    """Return the correction of survey estimates (A, T) with their standard errors."""
    lean = blurred_lean(
        table, standard_errors, direction, weighting=weighting, given=given, rng=rng
    )
    again = table + standard_errors * rng.standard_normal((_REDRAWN, *table.shape))
    noisy = blurred_lean(
        np.maximum(again, 0.0), standard_errors, direction,
        weighting=weighting, given=given, rng=rng, draws=_DRAWS,
    )  # fmt: skip
    return BaseCorrection(lean, Reliability(1.0, 1.0), None, noisy)


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
    redrawn = _redrawn(rates, sizes, rng)
    joint = rates * sizes
    lean = lean_of_counts(joint, direction, weighting)
    fitted = cross_fitted_lean(
        redrawn, direction, weighting=weighting, given=given, rng=rng, draws=_DRAWS
    )
    axis = (given or direction).axis
    other = -1 if axis == -2 else -2
    margin = joint.sum(axis=other, keepdims=True) / joint.sum(axis=(-2, -1), keepdims=True)
    strength = np.abs(ratio(joint, joint.sum(axis=axis, keepdims=True)) - margin) * scale
    agreeing = np.where(np.isnan(fitted.weight), 0.0, fitted.weight) * lean
    proportional = float(np.nansum(agreeing * strength) / max(np.nansum(strength), 1e-300))
    # Estimated by simulation, a share may come out slightly above 1.
    shares = np.clip([proportional, float(agreeing.mean())], 0.0, 1.0)
    return Reliability(float(shares[0]), float(shares[1]))


def with_noise(interval: Interval, value: float, noise: float) -> Interval:
    """Return the interval around `value`, each half widened by independent noise."""
    from scipy import special

    reach = float(special.ndtri((1 + interval.confidence) / 2)) * noise
    return replace(
        interval,
        low=value - math.hypot(value - interval.low, reach),
        high=value + math.hypot(interval.high - value, reach),
    )


def _redrawn(rates: Floats, sizes: Floats, rng: np.random.Generator) -> Floats:
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
