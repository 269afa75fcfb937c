"""The items behind the cells of recorded answers, and what their sampling adds to an error.

A cell is the mean over the items of its task. Items, or clusters of items that belong together, are
units of their own: where the tasks are drawn anew, items within one task vary with it, and nothing
is to be added; where the tasks are fixed, or a cluster spans several of them, it is. Texts that
were counted are a sample as well, but of one template and task alone: the spread over templates has
their noise, and so does that over tasks.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.metrics.association import Floats

DRAWS = 200
"""Draws of the items from which a standard error is computed: it varies by 5 %."""
LEAST_TEXTS = 3
"""With fewer texts of a group in a cell, the logarithm of their share says too little."""
# Items of the tasks with several that show how those vary that are alone.
_POOL = 500
# What a count of zero stands for in logarithms, in texts.
_HALF = 0.5
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The shares of the items, and which of them are one unit."""

    shares: Floats
    """(K, A, N), NaN where a template lacks an item."""
    task: NDArray[np.int64]
    """(N,): the place of the task."""
    unit: NDArray[np.int64]
    """(N,): the number of the item, or of its cluster."""
    texts: Floats | None
    """(K, N): how many texts were counted; None for probabilities."""
    key: str
    """The same for tables of the same items, whose draws are then the same."""
    summed: bool = False
    """Whether a cell is the sum over its items: the probability of a task that is guessed."""
    clustered: bool = False
    """Whether the units are clusters."""
    framed: bool = True
    """Whether tasks share the templates, which then vary too; else each item has its own frame."""

    @property
    def name(self) -> str:
        """What the units are called."""
        return "clusters" if self.clustered else "items"

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return int(self.task.max()) + 1

    @property
    def _pairs(self) -> int:
        """How many different pairs of unit and task there are."""
        return len(np.unique(np.stack([self.unit, self.task]), axis=1).T)

    @property
    def spans(self) -> bool:
        """Whether a unit has items of several tasks."""
        return self._pairs > self.number

    @property
    def number(self) -> int:
        """How many units there are."""
        return len(np.unique(self.unit))

    @property
    def effective(self) -> float:
        """The degrees of freedom of the variance within the tasks, plus one.

        They are Satterthwaite's for items that vary alike in all tasks. A task with one unit has
        the variance of the others.
        """
        if self.spans:
            sizes = np.unique(self.unit, return_counts=True)[1]
            return float(sizes.sum() ** 2 / (sizes**2).sum())
        units = np.bincount(np.unique(np.stack([self.unit, self.task]), axis=1)[1])
        several = units[units > 1].astype(np.float64)
        alone = float((units == 1).sum())
        below = (1 / (several**2 * (several - 1))).sum() + alone**2 / (several - 1).sum()
        return float((1 / units).sum() ** 2 / below) + 1.0

    @property
    def varied(self) -> bool:
        """Whether a task has several units, so that their spread is known."""
        return self._pairs > self.tasks

    def chosen(self, attributes: Sequence[int], tasks: Sequence[int]) -> Items:
        """Return the items of these tasks alone."""
        columns = [np.flatnonzero(self.task == task) for task in tasks]
        flat = np.concatenate(columns)
        shares = self.shares[:, list(attributes)][..., flat]
        if self.summed:
            shares = shares / np.nansum(shares, axis=-1, keepdims=True)
        return replace(
            self,
            shares=shares,
            task=np.repeat(np.arange(len(tasks)), [len(places) for places in columns]),
            unit=self.unit[flat],
            texts=None if self.texts is None else self.texts[:, flat],
        )

    @property
    def cells(self) -> Floats:
        """(K, A, T): the means over the items, or the sums."""
        totals = self._totals(np.nan_to_num(self.shares))
        return totals if self.summed else totals / self.sizes

    @property
    def sizes(self) -> NDArray[Any]:
        """(K, A, T): the numbers of items."""
        return self._totals(~np.isnan(self.shares))

    @property
    def texts_of_cells(self) -> Floats:
        """(K, 1, T): as many texts as tell a cell as well as those of its items, equally weighed.

        These are the texts themselves where a cell has one item. Infinite for probabilities.
        """
        if self.texts is None:
            return np.full((len(self.shares), 1, self.tasks), np.inf)
        counted = self.texts > 0
        each = np.where(counted, 1 / np.where(counted, self.texts, 1.0), 0.0)
        return np.asarray(self._totals(counted) ** 2 / self._totals(each))[:, None]

    @property
    def thin(self) -> NDArray[np.bool_]:
        """(K, A, T): which cells have too few texts for a logarithm, or a probability of zero."""
        cells = self.cells
        few = np.where(cells > 0, cells, 0.0) * np.where(cells > 0, self.texts_of_cells, 0.0)
        return np.asarray(few < LEAST_TEXTS - _ROUNDING)

    @property
    def log_bias(self) -> Floats:
        """(K, A, T): by how much the sampling of the texts lowers a logarithm, to first order."""
        cells = self.cells
        return np.asarray((1 - cells) / (2 * np.where(cells > 0, cells, 1.0) * self.texts_of_cells))

    def logarithms(self, predicted: Floats, zero: float = _HALF) -> Floats:
        """Return the logarithms of cells (K, A, T); `zero` is in texts, or in least shares."""
        least = zero / self.texts_of_cells
        if self.texts is None:
            least = np.full(least.shape, zero * predicted[predicted > 0].min())
        return np.log(np.where(predicted > 0, predicted, least))

    def changes(self, draws: int, seed: int, *, step: int = 1) -> Floats:
        """Return how the cells of every `step`-th template change with the units, (R, K', A, T).

        Each unit moves every cell by its part of the cell's variance times a normal number of its
        own, so items of a cluster move together (the multiplier bootstrap). With the factor
        m / (m - 1) of m units, the variance is unbiased. Of a task with one unit it is not known:
        the mean of those of the others takes its place.
        """
        shares = self.shares[::step]
        defined = ~np.isnan(shares[:, 0])
        moved = np.empty((draws, *shares.shape[:2], self.tasks))
        numbers = np.unique(self.unit, return_inverse=True)[1]
        alone: list[int] = []
        residuals: list[Floats] = []
        rng = np.random.default_rng([seed, zlib.crc32(self.key.encode())])
        # Of every unit of the whole table, so that the same unit moves alike in every choice.
        normal = rng.standard_normal((int(self.unit.max()) + 1, draws))[np.unique(self.unit)]
        for task, own in enumerate(self._columns):
            units = numbers[own]
            size = defined[:, own].sum(axis=1).astype(np.float64)
            mean = np.nanmean(shares[..., own], axis=-1, keepdims=True)
            away = np.nan_to_num(shares[..., own] - mean)
            several = np.array([len(np.unique(units[row])) for row in defined[:, own]])
            factor = np.sqrt(several / np.maximum(several - 1, 1)) * (several > 1)
            each = away * factor[:, None, None]
            if several.max() > 1:
                residuals.append(each)
            else:
                alone.append(task)
            each = each / (1.0 if self.summed else size[:, None, None])
            moved[..., task] = np.moveaxis(each @ normal[units], -1, 0)
        if alone and residuals:
            pool = np.concatenate(residuals, axis=-1)
            pool = pool[..., :: math.ceil(pool.shape[-1] / _POOL)]
            for task in alone:
                drawn = rng.standard_normal((pool.shape[-1], draws))
                moved[..., task] = np.moveaxis(pool @ drawn, -1, 0) / math.sqrt(len(drawn))
        if not self.summed:
            return moved
        # The probabilities of the tasks add up to one whatever is drawn.
        return np.asarray(moved - self._totals(shares) * moved.sum(axis=-1, keepdims=True))

    @property
    def _columns(self) -> list[NDArray[np.intp]]:
        return [np.flatnonzero(self.task == task) for task in range(self.tasks)]

    def _totals(self, by_item: NDArray[Any]) -> Floats:
        return np.stack([by_item[..., own].sum(axis=-1) for own in self._columns], axis=-1)
