"""Flips: the cells of template and task in which two models favour different groups.

Differences of both signs cancel in a mean; flips do not. The favoured group of a cell has the
largest probability given the task; given the group, it is the one that makes the task likeliest:
P(t|a) divided by its sum over the groups makes both one rule. Where two groups are nearly even,
rounding decides. A flip is clear if in both models more than a margin separates them from even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lmprobe.metrics.association import Floats, ratio
from lmprobe.results import Interval, IntervalStatus
from lmprobe.stats.method import traits_of
from lmprobe.stats.resampling import Replicates, slices, task_weights
from lmprobe.stats.row_tables import GIVEN_TASK, MOST_TEMPLATES, RowTables
from lmprobe.stats.verdicts import IntervalSettings

FLIP_MARGIN = 0.05
"""The two largest shares are near even if moving each by so much can make them equal."""
# Shares that differ by rounding alone favour no group.
_TIE = 1e-9
# Numbers held at a time.
_HELD = 4_000_000


@dataclass(frozen=True, slots=True)
class FlipShare:
    """A share of the cells, the mean over templates, with its interval."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Flips(FlipShare):
    """The share of the cells in which the favoured group changes from one model to another."""

    clear: FlipShare
    """The share, also of all cells, that flips although neither model is near even."""
    margin: float


def flips_between(first: RowTables, second: RowTables, settings: IntervalSettings) -> Flips:
    """Return how many cells flip, with families and units resampled as for the difference."""
    times = settings.draws_of(first)
    step = math.ceil(len(first.predicted) / MOST_TEMPLATES)
    whole = flipped(first, second, np.ones((1, len(first.tasks))))
    changed = flipped(first, second, task_weights(first.units, times), step)
    all_flips, clear = (
        share_with_interval(first.replicates_of(own[0], weighted, times), settings)
        for own, weighted in zip(whole, changed, strict=True)
    )
    # A clear flip is a flip: no more of them than of all.
    ends = clear.interval.clipped(0.0, all_flips.interval.high)
    return Flips(all_flips.value, all_flips.interval, replace(clear, interval=ends), FLIP_MARGIN)


def flipped(first: RowTables, second: RowTables, weights: Floats, step: int = 1) -> Floats:
    """Return the shares of all and of clear flips in every `step`-th template, (2, N, K').

    `weights` (N, T) is how often each task counts. A cell undefined in either model is left out.
    """
    parts = []
    for chunk in slices(len(weights), first.predicted[::step].size, _HELD):
        weight = weights[chunk]
        pair = [_favoured(tables, weight, step) for tables in (first, second)]
        (group, lead), (other, its_lead) = pair
        least = (group != other) * np.minimum(lead, its_lead)
        counted = weight[:, None, :] * ~np.isnan(least)
        flips = [(counted * (least > margin)).sum(axis=-1) for margin in (_TIE, FLIP_MARGIN)]
        parts.append(ratio(np.stack(flips), counted.sum(axis=-1)))
    return np.concatenate(parts, axis=1)


def _favoured(tables: RowTables, weight: Floats, step: int) -> tuple[Floats, Floats]:
    """Return the favoured group of each cell, (N, K', T), and half of its lead over the next."""
    shares = tables.predicted[None, ::step]
    if tables.direction is not GIVEN_TASK:
        # The candidates are the tasks drawn, so that their probabilities add up to one.
        shares = ratio(shares, np.einsum("nt,kat->nka", weight, shares[0])[..., None])
        shares = ratio(shares, shares.sum(axis=2, keepdims=True))
    largest = np.partition(shares, -2, axis=2)
    return shares.argmax(axis=2), (largest[:, :, -1] - largest[:, :, -2]) / 2


def share_with_interval(number: Replicates, settings: IntervalSettings) -> FlipShare:
    """Return a share with its interval within [0, 1]; an approximate one becomes Wilson's (1927).

    Student's is too short upwards where a share is small. Where no cell flips, or every one,
    nothing shows how flips cluster: there are as many as families, or units of tasks if fewer.
    """
    from scipy import special

    approximate = traits_of(settings.interval).approximate
    centred = replace(number, by_template=number.by_template - 0.5)
    ends = settings.interval_of(centred, settings.confidence, math.inf if approximate else 0.5)
    ends = replace(ends, low=ends.low + 0.5, high=ends.high + 0.5)
    if not approximate or ends.status is IntervalStatus.TOO_FEW_UNITS:
        return FlipShare(number.value, ends)
    share, units = number.value, number.spread(settings.drawn).units
    variance = share * (1 - share)
    if variance > 0:
        square = (ends.width / 2) ** 2 / variance
    else:
        square = float(special.stdtrit(units - 1, (1 + ends.confidence) / 2)) ** 2 / units
    middle = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (variance + square / 4)) / (1 + square)
    ends = Interval(middle - half, middle + half, ends.confidence, ends.method).clipped(0.0, 1.0)
    return FlipShare(share, ends)
