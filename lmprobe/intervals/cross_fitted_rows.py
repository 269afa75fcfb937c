"""The amplification of labelled rows when the lean comes from the same rows.

A pair of labels that is close to independent leans one way by chance, and the base rates of
the same rows share that chance: the published value is then too small, and its interval,
which takes the lean as known, too narrow. Holding a random fifth of the units out makes the
lean and the rates independent (see `cross_fit`, which does the same for counted sentences).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.intervals.cross_fit import HOLDOUT
from lmprobe.intervals.method import checked_confidence
from lmprobe.intervals.row_sums import RowSums, Sums
from lmprobe.metrics.directional import defined_mean
from lmprobe.results.interval import Interval

CLOSE = 2.0
"""A pair nearer to a tie than so many standard errors may lean the other way."""

_DRAWS = 500
# Resamples for the spread, and ways to hold out within each; the latter's own noise is
# subtracted, so few are enough.
_RESAMPLES, _FEWEST, _WAYS = 400, 100, 8
# Numbers held at a time, and drawn in all: very many units are resampled fewer times.
_HELD, _DRAWN = 5_000_000, 100_000_000


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

    The interval is the normal one around the cross-fitted value, with the spread of the same
    estimate over resamples of the units.
    """
    checked_confidence(confidence)
    estimates = _estimates(rows, rows.times[None, :], _DRAWS, keep_unseen, rng)
    spread = _spread(rows, keep_unseen, rng) if rows.units > 1 else {}
    found = {}
    for direction, values in estimates.items():
        value = float(values.mean())
        interval = _interval(value, spread.get(direction), rows.units, confidence)
        found[direction] = CrossFitted(value, interval)
    return found


def _estimates(
    rows: RowSums, times: NDArray[np.int64], ways: int, keep_unseen: bool, rng: np.random.Generator
) -> dict[Direction, Floats]:
    """Return the estimate of each way to hold units out of samples `times` (S, U): (S, ways)."""
    found: dict[Direction, list[Floats]] = {direction: [] for direction in rows.directions}
    step = max(1, _HELD // max(rows.features.shape))
    sample = np.repeat(np.arange(len(times)), ways)
    for start in range(0, len(sample), step):
        part = times[sample[start : start + step]]
        held = rng.binomial(part, HOLDOUT)
        whole, out = (rows.sums((rows.features.T @ one.T).T) for one in (part, held))
        lean = rows.sums(whole.columns - out.columns).lean(keep_unseen=True)
        for direction in rows.directions:
            found[direction].append(_values(whole, out, lean, direction, keep_unseen))
    return {one: np.concatenate(parts).reshape(len(times), ways) for one, parts in found.items()}


def _values(
    whole: Sums, out: Sums, lean: Floats, direction: Direction, keep_unseen: bool
) -> Floats:
    """Return lean * (predicted - true) of the units held out, scaled up to all, (S,)."""
    _, attribute, task, joint = whole.marginals
    given = task[:, None, :] if direction == Direction.TASK_TO_ATTRIBUTE else attribute[:, :, None]
    seen = given > 0 if keep_unseen else (attribute[:, :, None] > 0) & (task[:, None, :] > 0)
    scale = np.where(np.broadcast_to(seen, joint.shape), HOLDOUT * given, np.nan)
    change = out.predicted(direction) - out.marginals[3]
    return np.asarray(defined_mean(lean * change / scale, axis=(1, 2)))


def _spread(rows: RowSums, keep_unseen: bool, rng: np.random.Generator) -> dict[Direction, float]:
    """Return the standard deviation of the estimate over resamples of the units."""
    most = _DRAWN // (_WAYS * len(rows.times))
    samples = int(np.clip(most, _FEWEST, _RESAMPLES))
    times = rng.multinomial(rows.units, rows.times / rows.units, size=samples)
    found = {}
    for direction, values in _estimates(rows, times, _WAYS, keep_unseen, rng).items():
        noise = float(np.nanmean(values.var(axis=1, ddof=1))) / _WAYS
        variance = float(np.nanvar(values.mean(axis=1), ddof=1)) - noise
        found[direction] = math.sqrt(max(variance, 0.0))
    return found


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
    step = max(1, _HELD // rows.features.shape[1])
    for start in range(0, len(rows.times), step):
        part = rows.sums(rows.features[start : start + step].toarray() / whole)
        weight, has_attribute, has_task, both = part.marginals
        added = both - has_attribute[:, :, None] * p_task - p_attribute * has_task[:, None, :]
        added += weight[:, :, None] * (p_attribute * p_task)
        times = rows.times[start : start + step, None, None]
        excess += (times * added).sum(axis=0)
        variance += (times * added**2).sum(axis=0)
    known = _varies(p_attribute) & _varies(p_task)
    close = np.abs(excess) < CLOSE * np.sqrt(variance)
    return int((close & known).sum()), int(known.sum())


def _varies(share: Floats) -> NDArray[np.bool_]:
    """Tell which labels some rows have and some have not; sums of weights are rounded."""
    return (share > 1e-12) & (share < 1 - 1e-12)
