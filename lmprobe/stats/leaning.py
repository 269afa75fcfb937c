"""The lean of a base for any choice of its tasks, free of the noise of what it is compared with.

Where the base was counted, the lean and the base rates share their noise: a pair that was counted
too often by chance both leans up and has a base rate that is too high, so a model that tells the
truth seems to reduce it. Holding a random fifth of the sentences out removes the dependence: the
lean comes from the others, the rates from those held out, and the mean over all ways to hold out
is taken (by simulation, seeded). For survey estimates with normal errors, an estimate with noise
added and one with noise taken away, so that the two are independent, take their places. A base
that is known exactly is its own both parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lmprobe.core.association import ratio
from lmprobe.core.choices import LeanWeighting
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.metrics.lean import lean_of_counts

HOLDOUT = 0.2
"""The share of sentences held out, as in five-fold cross-fitting.

Less gives a steeper weight, whose variance grows like one over the root of the share where a
pair is close to a tie; more gives a lean from fewer sentences.
"""

Rule = Callable[[Floats, Floats], Floats]
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
    """A base (..., A, T) and ways to split it: `kept` for the lean, `held` for the rates.

    Both are (D, ..., A, T); the expectation of `held` is `share` times the base.
    """

    whole: Floats
    kept: Floats
    held: Floats
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
        kept = np.maximum(table + blur * noise, 0.0)
        return cls(table, kept, HOLDOUT * (table - noise / blur))

    def leaning(self, rule: Rule, given: Direction, task_weight: Floats | None = None) -> Leaning:
        """Return the mean over the ways to split, for weights of the tasks (..., T).

        `given` names the direction within whose condition the rates are taken. Given the lean of
        the part kept, the part held out gives an unbiased base rate, so a model that predicts the
        true rates has the expectation 0.
        """
        weight = np.ones(self.whole.shape[-1]) if task_weight is None else task_weight
        by_column = weight[..., None, :]
        # Weights that differ from resample to resample have an axis of their own.
        resampled = (slice(None), *(None,) * (weight.ndim - 1))
        kept, held = self.kept[resampled], self.held[resampled]

        def condition(table: Floats) -> Floats:
            weighted = table * by_column if given.axis == -1 else table
            return np.asarray(weighted.sum(axis=given.axis, keepdims=True))

        lean = rule(kept, weight)
        expected = self.share * condition(self.whole)
        amount = np.mean(lean * condition(held), axis=0)
        return Leaning(ratio(amount, expected), ratio(np.mean(lean * held, axis=0), expected))


def lean_rule(direction: Direction, weighting: LeanWeighting = "joint") -> Rule:
    """Return the rule by which a base leans: as Eq. 2 of the paper, or as its published code."""
    return lambda table, weight: lean_of_counts(table, direction, weighting, weight)
