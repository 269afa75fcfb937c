"""Intervals around directional amplification on labelled rows (vision, tabular).

The lean may come from the same rows. A pair of labels that is close to independent then leans
one way by chance, and the base rates of the same rows share that chance: the published value is
too small, and its interval, which takes the lean as known, too narrow. Holding a random fifth of
the units out makes the lean and the rates independent (see `cross_fit`, which does the same for
counted sentences).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.metrics.directional import defined_mean
from lmprobe.results.interval import Interval
from lmprobe.stats.leaning import HOLDOUT
from lmprobe.stats.method import checked_confidence
from lmprobe.stats.methods.bootstrap import of_replicates
from lmprobe.stats.row_sums import HELD, RowSums, Sums
from lmprobe.stats.weights import slices

CLOSE = 2.0
"""A pair nearer to a tie than so many standard errors may lean the other way."""

# Ways to hold units out of the sample.
_DRAWS = 500
# Resamples for the spread, and ways to hold out within each; the latter's own noise is
# subtracted, so few are enough. Very many units are resampled fewer times.
_RESAMPLES, _FEWEST, _WAYS = 400, 100, 8
_DRAWN = 100_000_000
# Numbers held at a time.
_HELD = 5_000_000


def bootstrap_interval(
    rows: RowSums,
    *,
    train: RowSums | None = None,
    keep_unseen: bool = False,
    confidence: float = 0.95,
    rng: np.random.Generator,
    replicates: int | None = None,
) -> dict[Direction, Interval]:
    """Return the bootstrap interval of each direction, from the sums of the units alone.

    The lean is that of the train rows, or of all rows, in every replicate.
    """
    checked_confidence(confidence)
    if rows.units < 2:
        few = Interval.too_few_units(confidence, "bootstrap")
        return dict.fromkeys(rows.directions, few)
    lean = (train or rows).total.lean(keep_unseen=keep_unseen)
    values: dict[Direction, list[Floats]] = {direction: [] for direction in rows.directions}
    for part in slices(replicates or rows.replicates, max(rows.features.shape), HELD):
        sums = rows.resampled(part.stop - part.start, rng)
        for direction in rows.directions:
            values[direction].append(sums.value(direction, lean))
    return {
        direction: of_replicates(np.concatenate(parts), units=rows.units, confidence=confidence)
        for direction, parts in values.items()
    }


@dataclass(frozen=True, slots=True)
class CrossFitted:
    """The amplification with a cross-fitted lean, and its interval."""

    value: float
    interval: Interval


def cross_fitted_amplification(
    rows: RowSums,
    *,
    keep_unseen: bool = False,
    confidence: float = 0.95,
    rng: np.random.Generator,
) -> dict[Direction, CrossFitted]:
    """Return the amplification of each direction with a lean that owes nothing to its rows.

    The interval is Student's around the cross-fitted value, with the spread of the same
    estimate over resamples of the units.
    """
    checked_confidence(confidence)
    estimates = _estimates(rows, rows.times[None, :], _DRAWS, keep_unseen, rng)
    values = {direction: float(ways.mean()) for direction, ways in estimates.items()}
    spread = _spread(rows, keep_unseen, rng) if rows.units > 1 else {}
    return {
        direction: CrossFitted(
            value, _interval(value, spread.get(direction), rows.units, confidence)
        )
        for direction, value in values.items()
    }


def _estimates(
    rows: RowSums, times: NDArray[np.int64], ways: int, keep_unseen: bool, rng: np.random.Generator
) -> dict[Direction, Floats]:
    """Return the estimate of each way to hold units out of samples `times` (S, U): (S, ways)."""
    estimates = {direction: np.empty(len(times) * ways) for direction in rows.directions}
    sample = np.repeat(np.arange(len(times)), ways)
    for part in slices(len(sample), max(rows.features.shape), _HELD):
        drawn = times[sample[part]]
        held = rng.binomial(drawn, HOLDOUT)
        whole, out = (rows.sums((rows.features.T @ units.T).T) for units in (drawn, held))
        lean = rows.sums(whole.columns - out.columns).lean(keep_unseen=True)
        for direction in rows.directions:
            estimates[direction][part] = _values(whole, out, lean, direction, keep_unseen)
    return {direction: each.reshape(-1, ways) for direction, each in estimates.items()}


def _values(
    whole: Sums, out: Sums, lean: Floats, direction: Direction, keep_unseen: bool
) -> Floats:
    """Return lean * (predicted - true) of the units held out, scaled up to all, (S,)."""
    _, attribute, task, joint = whole.marginals
    given = whole.given(direction)
    seen = given > 0 if keep_unseen else (attribute[:, :, None] > 0) & (task[:, None, :] > 0)
    scale = np.where(np.broadcast_to(seen, joint.shape), HOLDOUT * given, np.nan)
    change = out.predicted(direction) - out.marginals[3]
    return np.asarray(defined_mean(lean * change / scale, axis=(1, 2)))


def _spread(rows: RowSums, keep_unseen: bool, rng: np.random.Generator) -> dict[Direction, float]:
    """Return the standard deviation of the estimate over resamples of the units."""
    samples = int(np.clip(_DRAWN // (_WAYS * len(rows.times)), _FEWEST, _RESAMPLES))
    times = rng.multinomial(rows.units, rows.times / rows.units, size=samples)
    spread = {}
    for direction, values in _estimates(rows, times, _WAYS, keep_unseen, rng).items():
        noise = float(np.nanmean(values.var(axis=1, ddof=1))) / _WAYS
        variance = float(np.nanvar(values.mean(axis=1), ddof=1)) - noise
        spread[direction] = math.sqrt(max(variance, 0.0))
    return spread


def _interval(value: float, spread: float | None, units: int, confidence: float) -> Interval:
    from scipy import special

    if spread is None:
        return Interval.too_few_units(confidence, "cross-fitted")
    if not spread > 0:
        return Interval.undefined(confidence, "cross-fitted")
    half = float(special.stdtrit(units - 1, (1 + confidence) / 2)) * spread
    return Interval(value - half, value + half, confidence, "cross-fitted")


def close_pairs(rows: RowSums) -> tuple[int, int]:
    """Return how many pairs are within two standard errors of a tie, and of how many.

    A row adds w (a - p_a) (t - p_t) to the excess of a pair over independence; the squares of
    these, added up by unit first, are its variance under independence. So weights may have any
    scale, and the rows of a cluster count together.
    """
    total, attribute, task, _ = (part[0] for part in rows.total.marginals)
    whole = float(total[0]) or 1.0
    p_attribute, p_task = attribute[:, None] / whole, task / whole
    excess, variance = np.zeros((2, attribute.size, task.size))
    for part in slices(len(rows.times), rows.features.shape[1], _HELD):
        sums = rows.sums(rows.features[part].toarray() / whole)
        weight, has_attribute, has_task, both = sums.marginals
        added = both - has_attribute[:, :, None] * p_task - p_attribute * has_task[:, None, :]
        added += weight[:, :, None] * (p_attribute * p_task)
        times = rows.times[part, None, None]
        excess += (times * added).sum(axis=0)
        variance += (times * added**2).sum(axis=0)
    varies = _varies(p_attribute) & _varies(p_task)
    close = np.abs(excess) < CLOSE * np.sqrt(variance)
    return int((close & varies).sum()), int(varies.sum())


def _varies(share: Floats) -> NDArray[np.bool_]:
    """Tell which labels some rows have and some have not; sums of weights are rounded."""
    return (share > 1e-12) & (share < 1 - 1e-12)
