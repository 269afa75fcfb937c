"""The published measures of item sets, with the intervals that a probe's numbers have."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lmprobe.metrics.association import Floats
from lmprobe.metrics.directional import defined_mean
from lmprobe.metrics.metric import ItemMetric
from lmprobe.results import Estimate, Interval, Obstacle, Verdict, decide
from lmprobe.stats.flips import share_with_interval
from lmprobe.stats.items import DRAWS, Items
from lmprobe.stats.method import traits_of
from lmprobe.stats.resampling import Replicates, SampledUnits, draws, effective_number
from lmprobe.stats.row_tables import MOST_TEMPLATES, RowTables
from lmprobe.stats.verdicts import IntervalSettings

_DRAWS_OF_TASKS = 1000


def item_metric_estimate(
    metric: ItemMetric,
    items: Items,
    lean: Floats,
    row: RowTables,
    settings: IntervalSettings,
    obstacle: Obstacle | None,
) -> Estimate:
    """Return the measure, with the tasks, items and templates of the row resampled.

    `items` has the logarithms of the candidates (K, A, N). The group that the lean (A, T) of a
    task names is compared with the one that it names least; a task without both is left out.
    """
    named = ~np.isnan(lean).any(axis=0) & (np.ptp(np.nan_to_num(lean), axis=0) > 0)
    if not named.any():
        ends = Interval.undefined(settings.confidence, settings.interval)
        return Estimate(math.nan, ends, Verdict.UNDECIDED, obstacle=obstacle)
    most, least = (pick(np.nan_to_num(lean), axis=0) for pick in (np.argmax, np.argmin))
    above, below = (
        np.take_along_axis(items.shares, group[items.task][None, None], axis=1)[:, 0]
        for group in (most, least)
    )
    numbers = np.where(named[items.task], metric.of_item(above - below), 0.0)
    own = replace(items, shares=numbers[:, None])
    means, sizes, none = own.cells[:, 0], own.sizes[:, 0] * named, np.ones((1, len(named)))
    step = math.ceil(len(means) / MOST_TEMPLATES)

    def combined(means: Floats, weight: Floats, step: int = 1) -> Floats:
        return metric.combined(means, sizes[::step], most, weight)

    sampled = {}
    if items.varied and (settings.tasks_fixed or items.spans):
        moved = means[::step] + own.changes(DRAWS, settings.seed, step=step)[:, :, 0]
        changes = np.array([combined(draw, none, step).mean() for draw in moved])
        sampled = {items.name: SampledUnits(items.effective, items.number, changes)}
    unit = np.unique(np.array(row.units, dtype=str), return_inverse=True)[1]
    rng = np.random.default_rng(settings.seed)
    for number, weight in enumerate([] if settings.tasks_fixed else metric.strata(sizes, most)):
        units, places = np.unique(unit[weight > 0], return_inverse=True)
        times = np.ones((_DRAWS_OF_TASKS, len(named)))
        times[:, weight > 0] = draws(_DRAWS_OF_TASKS, len(units), rng)[:, places]
        values = np.asarray(defined_mean(combined(means[::step], times, step), axis=1))
        # Drawing n units loses a factor (n - 1) / n of the variance.
        changes = values * math.sqrt(len(units) / max(len(units) - 1, 1))
        effective = effective_number(np.bincount(places, weight[weight > 0]).astype(np.float64))
        sampled[f"tasks {number}"] = SampledUnits(effective, len(units), changes)
    turns = () if settings.drawn == "tasks" else row.turns
    whole = Replicates.of_templates(combined(means, none)[0], row.families, turns)
    whole = replace(whole, framed=row.framed and settings.drawn != "tasks", sampled=sampled)
    # The tasks are among what was sampled.
    settings = replace(settings, resample="templates")
    if metric.is_share:
        ends = share_with_interval(whole, settings).interval
    elif traits_of(settings.interval).approximate:
        # On the scale of logarithms, because a rate is never negative.
        ends = settings.interval_of(whole, settings.confidence)
        if ends.bounded:
            low, high = np.exp(np.minimum(np.array([ends.low, ends.high]) / whole.value - 1, 700))
            ends = replace(ends, low=float(whole.value * low), high=float(whole.value * high))
    else:
        # A rate has no upper bound, which a guaranteed interval needs.
        ends = Interval.undefined(settings.confidence, settings.interval)
    verdict = decide(
        ends, reference=metric.reference, above=Verdict.FOLLOWS, below=Verdict.OPPOSES,
        obstacle=obstacle,
    )  # fmt: skip
    return Estimate(whole.value, ends, verdict, obstacle=obstacle)
