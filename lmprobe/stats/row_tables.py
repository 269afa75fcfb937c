"""The tables behind one row of a probe, and its numbers for any choice of tasks.

The first half of the one path from cells to a verdict: the model's table of each template and
the base give the value, its association and preference and the strength of the links; where the
base was sampled they are those without the bias that its own noise causes (the claimed numbers).
Whenever tasks are drawn, the lean, the margins and the raking are those of the tasks drawn.
`resampling` turns the numbers into standard errors, `verdicts` into estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from lmprobe.metrics.association import Floats, ratio
from lmprobe.metrics.direction import Direction, LeanWeighting
from lmprobe.metrics.directional import amplification, defined_mean
from lmprobe.metrics.raking import logarithms, rake, raked_conditional, strength, strength_by_odds
from lmprobe.stats.base_uncertainty import (
    EXACT,
    ExpectedLogOdds,
    Leaning,
    LeanRule,
    Reliability,
    SplitBase,
    checked_counts,
    lean_rule,
    posterior_rates,
    redraw,
    reliability,
)
from lmprobe.stats.items import DRAWS, Items
from lmprobe.stats.resampling import Replicates, SampledUnits, slices, task_weights

PARTS = ("value", "association", "preference")
STRENGTH = "strength"
# Which a few tasks that most of the base is about may decide, through its margins; given an
# attribute, through the size of each task as well.
_WEIGHED = {
    Direction.TASK_TO_ATTRIBUTE: ("value", "preference"),
    Direction.ATTRIBUTE_TO_TASK: PARTS,
}

GIVEN_TASK = Direction.TASK_TO_ATTRIBUTE

# Ways to split a sampled base: for the numbers themselves, and in each resample.
_WAYS, _WAYS_RESAMPLED = 4000, 300
# Bases that might have been drawn instead, where the tasks are not drawn anew.
_REDRAWN, _WAYS_REDRAWN = 100, 60
# Of more templates than these, as many evenly spaced ones show how a number changes with the tasks.
MOST_TEMPLATES = 200
# Below this share of the variance of a base's links that its counts show, no strength is given. A
# higher one would choose the samples whose links are too strong by chance.
_CLEAR = 0.25
# What a zero may stand for instead of half a text.
_NEXT_TO_NONE = 0.01
# Numbers held at a time.
_HELD = 4_000_000


@dataclass(frozen=True, eq=False)
class RowTables:
    """(K, A, T) predictions of a model and the (A, T) base that they are compared with."""

    direction: Direction
    predicted: Floats
    logs: Floats
    """The logarithms behind `predicted`, but for a constant per condition."""
    base: Floats
    """Counts, weights or shares of each pair."""
    families: tuple[str, ...]
    tasks: tuple[str, ...]
    units: tuple[str, ...]
    """The unit of each task: tasks that share a row of the base's source share a unit."""
    weighting: LeanWeighting = "joint"
    declared: Floats | None = None
    """A lean (A, T) that was declared and stays; None for the base's own."""
    counted: bool = False
    """Whether the base is a table of counted sentences."""
    standard_errors: Floats | None = None
    """Those of a survey, (A, T)."""
    seed: int = 0
    own_rule: LeanRule | None = None
    """The rule that gives the lean of the base, where it is another than the paper's."""
    divides: bool = True
    """Whether what a sampled base does not show is estimated and divided out."""
    turns: tuple[str, ...] = ()
    """The turn of a chat before each template, where there is a chat."""
    items: Items | None = None
    """The items behind the cells of recorded answers, where they are a sample."""

    @property
    def framed(self) -> bool:
        """Whether the templates are a sample; else every item has a frame of its own."""
        return self.items is None or self.items.framed

    @property
    def sampled(self) -> bool:
        """Whether the base has noise that must be corrected for: its own lean, and known errors.

        A declared lean owes nothing to the base, and labels never counted leave nothing to split.
        """
        uncertain = self.counted or self.standard_errors is not None
        seen = all((self.base.sum(axis=axis) > 0).all() for axis in (0, 1))
        return uncertain and seen and self.declared is None

    @property
    def rule(self) -> LeanRule:
        """The rule that gives the lean."""
        if (declared := self.declared) is not None:
            return lambda table, weight: declared
        return self.own_rule or lean_rule(self.direction, self.weighting)

    @property
    def lean(self) -> Floats:
        """The lean (A, T) of the base as it is."""
        return self.rule(self.base, np.ones(len(self.tasks)))

    @property
    def base_rate(self) -> Floats:
        """What the direction predicts, in the base, (A, T)."""
        return ratio(self.base, self.base.sum(axis=self.direction.axis, keepdims=True))

    @property
    def bound(self) -> float:
        """The largest size that the value can have.

        Within a condition the probabilities move by 2 in all at most, over all its pairs.
        """
        defined = ~np.isnan(self.lean * self.base_rate)
        conditions = defined.any(axis=self.direction.axis).sum()
        return min(1.0, 2 * float(conditions) / max(float(defined.sum()), 1.0))

    def reliability(self, part: str) -> Reliability:
        """Return how much of an amplification, or of the strength, the base shows."""
        if part == STRENGTH:
            return EXACT if self._log_odds is None else self._log_odds.reliability
        if not (self.sampled and self.counted and self.divides):
            return EXACT
        return self._reliabilities["association" if part == "association" else "value"]

    @cached_property
    def _reliabilities(self) -> dict[str, Reliability]:
        scale = self._scale(self.base, np.ones(len(self.tasks)))
        conditions: dict[str, tuple[Direction, Floats | float]] = {
            "value": (self.direction, 1.0),
            "association": (GIVEN_TASK, scale),
        }
        return {
            part: reliability(
                checked_counts(self.base),
                self.direction,
                weighting=self.weighting,
                given=given,
                scale=weight,
                rng=np.random.default_rng(self.seed),
            )
            for part, (given, weight) in conditions.items()
        }

    def published(self) -> dict[str, Floats]:
        """Return value, association and preference by template, (K,), as the formulas have them."""
        lean, rate = self.lean, self.base_rate
        raked = raked_conditional(self.logs, self.base / self.base.sum(), self.direction)
        value, association = (
            np.asarray(defined_mean(amplification(table, rate, lean), axis=(1, 2)))
            for table in (self.predicted, raked)
        )
        return {"value": value, "association": association, "preference": value - association}

    @property
    def thin(self) -> int:
        """How many cells have too few texts for a logarithm, or a probability of zero."""
        return 0 if self.items is None else int(self.items.thin.sum())

    def bias_of_texts(self) -> dict[str, float]:
        """Return how far the sampling of counted texts may move strength and association.

        A logarithm is the more biased the fewer texts it is of. Raking is not; but where cells are
        zero it depends on what a zero stands for. What does not exist has no bias.
        """
        bias, items = {}, self.items
        if items is not None:
            logs, whole = items.log_bias, np.ones((1, len(self.tasks)))
            bias[STRENGTH] = float(self._strength(logs, whole).mean())
        if items is not None and (self.predicted == 0).any():
            other = replace(self, logs=items.logarithms(self.predicted, zero=_NEXT_TO_NONE))
            both = [table.published()["association"].mean() for table in (self, other)]
            bias["association"] = float(both[0] - both[1])
        return {part: abs(moved) for part, moved in bias.items() if not math.isnan(moved)}

    def claimed_cells(self) -> Floats:
        """Return the amplification of each pair, (K, A, T), without the bias of a sampled base."""
        leaning = self._split(_WAYS).leaning(self.rule, self.direction)
        return leaning.cells(self.predicted) / self.reliability("value").divisor

    def chosen(self, attributes: Sequence[str], own: Sequence[str], tasks: Sequence[str]) -> Self:
        """Return the tables of these tasks alone; `own` are the names of the attributes here."""
        rows = [own.index(name) for name in attributes]
        columns = [self.tasks.index(name) for name in tasks]

        def part(table: Any) -> Any:
            return None if table is None else table[..., rows, :][..., columns]

        predicted = part(self.predicted)
        if self.direction is not GIVEN_TASK:
            # The candidates are the tasks that are left.
            predicted = predicted / predicted.sum(axis=-1, keepdims=True)
        return replace(
            self,
            predicted=predicted,
            logs=part(self.logs),
            base=part(self.base),
            tasks=tuple(tasks),
            units=tuple(self.units[column] for column in columns),
            declared=part(self.declared),
            standard_errors=part(self.standard_errors),
            items=None if self.items is None else self.items.chosen(rows, columns),
        )

    def replicates(
        self, times: Floats, *, tasks_fixed: bool, value_alone: bool
    ) -> dict[str, Replicates]:
        """Return the claimed numbers, and how they change with the choice of tasks.

        `times` is how often each unit of tasks was drawn, (R, U), units by name. Where the tasks
        are fixed, the noise of a sampled base is added; else the tasks have it.
        """
        whole = np.ones((1, len(self.tasks)))
        claimed = self.numbers(whole, ways=_WAYS, value_alone=value_alone)
        step = math.ceil(len(self.predicted) / MOST_TEMPLATES)
        changed = self.numbers(task_weights(self.units, times), step=step, value_alone=value_alone)
        noise = self._base_noise() if tasks_fixed and self.sampled else {}
        drawn = self._item_noise(value_alone, tasks_fixed=tasks_fixed)
        replicates = {}
        for part, values in changed.items():
            replicates[part] = self.replicates_of(
                claimed[part][0],
                values,
                times,
                task_weight=self.base.sum(axis=0) if part in _WEIGHED[self.direction] else None,
                noise=noise.get(part, 0.0),
                sampled={self.items.name: drawn[part]} if self.items and drawn else {},
            )
        if noise and not value_alone:
            # The counts of each task have noise of their own, so the tasks show it.
            number = replicates[STRENGTH]
            noise_of_tasks = math.sqrt(replace(number, sampled={}).spread("tasks").variance)
            replicates[STRENGTH] = replace(number, noise=noise_of_tasks)
        return replicates

    def replicates_of(
        self, by_template: Floats, weighted: Floats, times: Floats, **options: Any
    ) -> Replicates:
        """Return a number from its values by template under all `task_weights`, (1 + U + R, K)."""
        means = np.asarray(defined_mean(weighted, axis=1))
        without, resampled = np.split((means - means[0])[1:], [-len(times)])
        return Replicates(
            by_template,
            self.families,
            self.units,
            without,
            resampled,
            times,
            turns=self.turns,
            framed=self.framed,
            **options,
        )

    def _split(self, ways: int) -> SplitBase:
        if not self.sampled:
            return SplitBase.exact(self.base)
        rng = np.random.default_rng(self.seed)
        if self.standard_errors is not None:
            return SplitBase.of_survey(self.base, self.standard_errors, rng, ways)
        return SplitBase.of_counts(checked_counts(self.base), rng, ways)

    def _scale(self, base: Floats, weight: Floats) -> Floats:
        """Return what turns a difference of P(a|t) into one of what is predicted, (..., A, T)."""
        if self.direction is GIVEN_TASK:
            return np.ones(base.shape)
        groups = (base * weight[..., None, :]).sum(axis=-1, keepdims=True)
        return ratio(base.sum(axis=-2, keepdims=True), groups)

    def numbers(
        self,
        weights: Floats,
        *,
        ways: int = _WAYS_RESAMPLED,
        step: int = 1,
        value_alone: bool = False,
    ) -> dict[str, Floats]:
        """Return the claimed numbers of every `step`-th template under weights of the tasks (N, T).

        Each is (N, K'). A weight of 2 counts a task twice, one of 0 leaves it out.
        """
        predicted, logs, split = self.predicted[::step], self.logs[::step], self._split(ways)
        parts: dict[str, list[Floats]] = {}
        for chunk in slices(len(weights), max(predicted.size, split.lean_part.size), _HELD):
            weight = weights[chunk]
            value = self._value(predicted, split.leaning(self.rule, self.direction, weight), weight)
            if value_alone:
                numbers = {"value": value / self.reliability("value").divisor}
            else:
                leaning = split.leaning(self.rule, GIVEN_TASK, weight)
                association = self._association(logs, self.base, leaning, weight)
                numbers = self._named(value, association)
                numbers[STRENGTH] = self._strength(logs, weight)
            for part, values in numbers.items():
                parts.setdefault(part, []).append(values)
        return {part: np.concatenate(values) for part, values in parts.items()}

    def _named(self, value: Floats, association: Floats) -> dict[str, Floats]:
        value = value / self.reliability("value").divisor
        association = association / self.reliability("association").divisor
        return {"value": value, "association": association, "preference": value - association}

    def _value(self, predicted: Floats, leaning: Leaning, weight: Floats) -> Floats:
        """Return the mean amplification of each template, (N, K), under a leaning (N, A, T)."""
        factor, offset, pairs = _weighted(leaning, weight)
        if self.direction is GIVEN_TASK:
            total = np.einsum("nat,kat->nk", factor, predicted, optimize=True)
        else:
            # The candidates are the tasks drawn, so that their probabilities add up to one.
            whole = np.einsum("nt,kat->nka", weight, predicted, optimize=True)
            # (A, N, T) times (A, T, K): the sum over the tasks drawn.
            each = np.moveaxis(factor, 1, 0) @ np.moveaxis(predicted, 0, 2)
            # A group that the model gives none of the tasks drawn has no probabilities.
            total = np.einsum("ank,nka->nk", each, 1 / np.where(whole > 0, whole, np.nan))
        return ratio(total - offset[:, None], pairs[:, None])

    def _raked(self, logs: Floats, base: Floats, weight: Floats) -> Floats:
        """Return P(a|t), (N, K, A, T), with the odds ratios of `logs` and the base's margins."""
        joint = base * weight[:, None, :]
        total = joint.sum(axis=(1, 2), keepdims=True)
        joint = joint / np.where(total > 0, total, 1.0)
        # Tasks that the base never has leave nothing to rake to; what they give is undefined.
        margins = np.where(total > 0, joint, self.base / self.base.sum())
        table = rake(logs, margins.sum(axis=2)[:, None], margins.sum(axis=1)[:, None])
        # A task that was not drawn counts nothing; a table that cannot be raked is undefined.
        given = np.where(weight > 0, joint.sum(axis=1), 1.0)[:, None, None]
        return np.asarray(table / np.where(given > 0, given, np.nan))

    def _association(self, logs: Floats, base: Floats, leaning: Leaning, weight: Floats) -> Floats:
        """Return the mean amplification of tables raked to a base, or to each of N, (N, K)."""
        raked = self._raked(logs, base, weight)
        # Given how often each task occurs, a raked table and the base differ in P(a|t) alone.
        scale = self._scale(base, weight)
        # A task that the base never has counts nothing, but it counts.
        weighed, offset = (
            np.where(scale == 0, 0.0, part * scale) for part in (leaning.weight, leaning.offset)
        )
        scaled = Leaning(weighed, offset)
        factor, offset, pairs = _weighted(scaled, weight)
        total = np.einsum("nat,nkat->nk", factor, np.where(factor[:, None] == 0, 0.0, raked))
        return ratio(total - offset[:, None], pairs[:, None])

    def _strength(self, logs: Floats, weight: Floats) -> Floats:
        """Return the strength of each template, (N, K), NaN where the counts show too little."""
        if self._log_odds is None:
            return np.asarray(strength(logs, logarithms(self.base), weight[:, None]))
        if not self._log_odds.shown >= _CLEAR:
            return np.full((len(weight), len(logs)), np.nan)
        return strength_by_odds(logs, self._log_odds.expected(weight)[0], weight)

    @cached_property
    def _log_odds(self) -> ExpectedLogOdds | None:
        """The log odds that a sampled base makes likely; None for one that is exact."""
        counts = self.base
        if self.standard_errors is not None:
            # As many observations as have the same standard errors of the log odds.
            least = np.maximum(1e-3 * self.standard_errors, np.finfo(np.float64).tiny)
            counted = np.maximum(counts, least)
            size = (1 / counted).sum(axis=0) / ((self.standard_errors / counted) ** 2).sum(axis=0)
            counts = counts * np.minimum(size, 1e12)
        elif not self.counted:
            return None
        return ExpectedLogOdds.of_counts(counts)

    def _base_noise(self) -> dict[str, float]:
        """Return the standard error that the sampling of the base alone adds to each number."""
        rng = np.random.default_rng(self.seed)
        if self.standard_errors is not None:
            noise = self.standard_errors * rng.standard_normal((_REDRAWN, *self.base.shape))
            bases = np.maximum(self.base + noise, 0.0)
            split = SplitBase.of_survey(bases, self.standard_errors, rng, _WAYS_REDRAWN)
        else:
            counts = checked_counts(self.base)
            tasks = counts.sum(axis=0)
            sizes = rng.multinomial(int(tasks.sum()), tasks / tasks.sum(), size=_REDRAWN)
            bases = redraw(posterior_rates(counts, _REDRAWN, rng), sizes.astype(np.float64), rng)
            split = SplitBase.of_counts(bases, rng, _WAYS_REDRAWN)
        weight = np.ones((_REDRAWN, len(self.tasks)))
        some = slice(None, None, math.ceil(len(self.predicted) / MOST_TEMPLATES))
        value = self._value(self.predicted[some], split.leaning(self.rule, self.direction), weight)
        association = self._association(
            self.logs[some], bases, split.leaning(self.rule, GIVEN_TASK), weight
        )
        numbers = {
            part: np.asarray(defined_mean(values, axis=1))
            for part, values in self._named(value, association).items()
        }
        return {
            part: float(np.nanstd(means, ddof=1)) if not np.isnan(means).all() else 0.0
            for part, means in numbers.items()
        }

    def _item_noise(self, value_alone: bool, *, tasks_fixed: bool) -> dict[str, SampledUnits]:
        """Return how each number changes with the items drawn, where the tasks do not show it."""
        items = self.items
        if items is None or not items.varied or not (tasks_fixed or items.spans):
            return {}
        step = math.ceil(len(self.predicted) / MOST_TEMPLATES)
        moved = items.changes(DRAWS, self.seed, step=step)
        return {
            part: SampledUnits(items.effective, items.number, changes)
            for part, changes in self._changed_numbers(moved, step, value_alone).items()
        }

    def numbers_by_task(self) -> dict[str, Replicates]:
        """Return the mean amplification of each task, and how it changes with its items."""
        values = np.asarray(defined_mean(self.claimed_cells(), axis=1))
        items, moved = self.items, np.zeros((DRAWS, 1, 1, len(self.tasks)))
        units = [0] * len(self.tasks)
        if items is not None and items.varied:
            step = math.ceil(len(self.predicted) / MOST_TEMPLATES)
            moved = items.changes(DRAWS, self.seed, step=step) * self.lean
            units = [len(np.unique(items.unit[items.task == task])) for task in range(items.tasks)]
        changes = np.asarray(defined_mean(moved, axis=(1, 2)))
        return {
            task: replace(
                Replicates.of_templates(values[:, place], self.families, self.turns),
                framed=self.framed,
                sampled={"items": SampledUnits(number, number, changes[:, place])}
                if (number := units[place]) > 1
                else {},
            )
            for place, task in enumerate(self.tasks)
        }

    def _changed_numbers(self, moved: Floats, step: int, value_alone: bool) -> dict[str, Floats]:
        """Return the mean over templates of each number for cells that moved, (R,)."""
        assert self.items is not None
        predicted, logs = self.predicted[::step], self.logs[::step]
        # To first order, as the standard error is; a zero moves as what stands for it.
        shares = np.where(predicted > 0, predicted, np.exp(self.items.logarithms(predicted)))
        parts: dict[str, list[Floats]] = {}
        for chunk in slices(len(moved), predicted.size, _HELD):
            change = moved[chunk]
            tables = replace(
                self,
                predicted=(predicted + change).reshape(-1, *predicted.shape[1:]),
                logs=(logs + change / shares).reshape(-1, *predicted.shape[1:]),
            )
            numbers = tables.numbers(np.ones((1, len(self.tasks))), value_alone=value_alone)
            for part, values in numbers.items():
                means = defined_mean(values.reshape(len(change), -1), axis=1)
                parts.setdefault(part, []).append(np.asarray(means))
        return {part: np.concatenate(values) for part, values in parts.items()}


def _weighted(leaning: Leaning, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the factors of the predictions (N, A, T), the offset (N,) and the pairs (N,)."""
    defined = ~np.isnan(leaning.weight * leaning.offset)
    by_task = weight[:, None, :]
    factor = np.where(defined, leaning.weight, 0.0) * by_task
    offset = (np.where(defined, leaning.offset, 0.0) * by_task).sum(axis=(1, 2))
    return factor, offset, (defined * by_task).sum(axis=(1, 2))
