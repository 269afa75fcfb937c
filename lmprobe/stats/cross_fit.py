"""A lean that does not come from the sentences it is compared with.

Where the base is a count of sentences, the lean and the base rates share their noise: a pair
that was counted too often by chance both leans up and has a base rate that is too high, so a
model that tells the truth seems to reduce it. Holding a random fifth of the sentences out
removes the dependence: the lean comes from the others, the rates from those held out, and
the expectation over all ways to hold out is taken (by simulation, seeded).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lmprobe.core.association import ratio
from lmprobe.core.choices import LeanWeighting
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.metrics.lean import lean_of_counts
from lmprobe.stats.weights import slices

HOLDOUT = 0.2
"""The share of sentences held out, as in five-fold cross-fitting.

Less gives a steeper weight, whose variance grows like one over the root of the share where a
pair is close to a tie; more gives a lean from fewer sentences.
"""

_DRAWS = 4000


@dataclass(frozen=True, slots=True, eq=False)
class CrossFittedLean:
    """What takes the place of the lean: the amplification is weight * predicted - offset.

    Both are (..., A, T). The weight lies in [-1, 1]: it is the mean lean over the ways to hold
    out, near 0 for a pair that is close to a tie, and the offset is the mean of the lean times
    the base rate of the sentences held out.
    """

    weight: Floats
    offset: Floats

    def cells(self, predicted: Floats) -> Floats:
        """Return the amplification (..., A, T) of predictions given tasks or attributes."""
        return self.weight * predicted - self.offset


def cross_fitted_lean(
    counts: Floats,
    direction: Direction,
    *,
    weighting: LeanWeighting = "joint",
    given: Direction | None = None,
    rng: np.random.Generator,
    draws: int = _DRAWS,
) -> CrossFittedLean:
    """Return the cross-fitted lean of tables of counts (..., A, T).

    `given` names the direction whose condition the sentences are counted within, by default
    `direction` itself. Conditional on the lean of the sentences kept, those held out give an
    unbiased base rate, so a model that predicts the true rates has the expectation 0.
    """
    whole = np.asarray(counts, dtype=np.int64)
    axis = (given or direction).axis
    weight, offset = np.zeros(whole.shape), np.zeros(whole.shape)
    for part in slices(draws, whole.size):
        held = rng.binomial(whole, HOLDOUT, size=(part.stop - part.start, *whole.shape))
        leans = lean_of_counts((whole - held).astype(np.float64), direction, weighting)
        weight += (leans * held.sum(axis=axis, keepdims=True)).sum(axis=0)
        offset += (leans * held).sum(axis=0)
    expected = draws * HOLDOUT * whole.sum(axis=axis, keepdims=True)
    return CrossFittedLean(ratio(weight, expected), ratio(offset, expected))


def blurred_lean(
    table: Floats,
    standard_errors: Floats,
    direction: Direction,
    *,
    weighting: LeanWeighting = "joint",
    given: Direction | None = None,
    rng: np.random.Generator,
    draws: int = _DRAWS,
) -> CrossFittedLean:
    """Return the same for estimates (..., A, T) with normal errors, such as those of a survey.

    An estimate with more noise added, and one with the noise taken away as many times as makes
    the two independent, take the place of the sentences kept and held out.
    """
    axis = (given or direction).axis
    whole = table.sum(axis=axis, keepdims=True)
    rate = ratio(table, whole)
    # The lean then has as much noise as one from the share of the sentences that is kept.
    blur = np.sqrt(HOLDOUT / (1 - HOLDOUT))
    weight, offset = np.zeros(table.shape), np.zeros(table.shape)
    for part in slices(draws, table.size):
        size = (part.stop - part.start, *table.shape)
        noise = rng.standard_normal(size) * standard_errors
        leans = lean_of_counts(np.maximum(table + blur * noise, 0.0), direction, weighting)
        away = -noise / blur
        change = ratio(away - rate * away.sum(axis=axis, keepdims=True), whole)
        weight += leans.sum(axis=0)
        offset += (leans * (rate + change)).sum(axis=0)
    return CrossFittedLean(weight / draws, offset / draws)
