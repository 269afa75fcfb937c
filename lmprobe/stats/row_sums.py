"""What labelled rows add up to, kept by unit so that units can be drawn again.

Every number that the metric needs is a sum over rows, so a bootstrap replicate is a row of
counts times a matrix. A unit is what is drawn as a whole: a row, a cluster of rows, or, where
there are very many, a bin of rows. Units that are alike share one line of the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.metrics.association import Floats, Tally, lean_of
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import Tallies, amplification, defined_mean
from lmprobe.stats.resampling import REPLICATES, poisson, slices

Sparse = Any
"""A scipy.sparse CSR matrix; scipy has no types."""

# Numbers held at a time.
_HELD = 20_000_000
# Kinds of unit up to which a resample has exactly as many units as the sample; of units that
# all differ, fewer: weights of their own are drawn ten times as fast.
_MULTINOMIAL, _FEW = 5_000, 500
# Units in a block; kinds of row are in order, so that most blocks have one attribute. With a
# larger share of cells that are not 0, plain matrices are multiplied faster.
_BLOCK, _DENSE = 8192, 0.05
# Units and products of one multiplication: with more than that OpenBLAS starts threads, which on
# a busy machine wait for each other many times as long as they work.
_DEPTH, _PRODUCTS = 64, 2**18
# Numbers made in all: more units are drawn fewer times.
_DRAWN, _FEWEST = 50_000_000, 1_000


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What each of R samples of units adds up to: `columns` (R, F), laid out as `RowSums`."""

    columns: Floats
    attributes: int
    tasks: int
    directions: tuple[Direction, ...]

    @property
    def marginals(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Total (R, 1), attributes (R, A), tasks (R, T) and both together (R, A, T)."""
        ends = np.cumsum([1, self.attributes, self.tasks])
        total, attribute, task, _ = np.split(self.columns, ends, axis=1)
        return total, attribute, task, self._table(0)

    def predicted(self, direction: Direction) -> Floats:
        """Return how often each predicted label goes with each true one, (R, A, T)."""
        return self._table(1 + self.directions.index(direction))

    def _table(self, number: int) -> Floats:
        a, t = self.attributes, self.tasks
        start = 1 + a + t + a * t * number
        return self.columns[:, start : start + a * t].reshape(len(self.columns), a, t)

    def table(self, direction: Direction | None = None) -> tuple[Floats, Floats, Floats]:
        """Return groups (R, A), tasks (R, T) and both (R, A, T): of labels, or as predicted."""
        _, attribute, task, joint = self.marginals
        if direction is None:
            return attribute, task, joint
        joint, margins = self.predicted(direction), [attribute, task]
        # A row has one attribute, but any number of tasks.
        predicted = self.columns[:, -self.attributes :], joint.sum(axis=1)
        margins[direction.axis] = predicted[direction.axis]
        return margins[0], margins[1], joint

    def lean(self, *, keep_unseen: bool = False) -> Floats:
        """Return which way each sample leans, (R, A, T); NaN where a label never occurs."""
        total, attribute, task, joint = self.marginals
        whole = np.where(total > 0, total, 1.0)
        p_attribute, p_task = attribute / whole, task / whole
        lean = lean_of(joint / whole[:, :, None], p_attribute, p_task)
        seen = (p_attribute[:, :, None] > 0) & (p_task[:, None, :] > 0)
        return lean if keep_unseen else np.where(seen, lean, np.nan)

    def given(self, direction: Direction) -> Floats:
        """Return how often the condition of each pair occurs, (R, 1, T) or (R, A, 1)."""
        _, attribute, task, _ = self.marginals
        return (attribute[:, :, None], task[:, None, :])[direction.given_axis]

    def pairs(self, direction: Direction, lean: Floats) -> Floats:
        """Return the amplification of each pair in each sample, (R, A, T)."""
        given = np.where(self.given(direction) > 0, self.given(direction), np.nan)
        return amplification(self.predicted(direction) / given, self.marginals[3] / given, lean)

    def value(self, direction: Direction, lean: Floats) -> Floats:
        """Return the amplification of each sample, (R,); NaN where nothing is defined."""
        return np.asarray(defined_mean(self.pairs(direction, lean), axis=(1, 2)))


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some units and the columns of `RowSums` that they have."""

    units: slice
    columns: NDArray[np.intp]
    features: Any
    """Sparse (n, C), or a stack of matrices (k, n / k, D) of the columns that differ."""
    place: list[int]
    """Which of the columns that differ each column is."""

    @classmethod
    def of(cls, features: Sparse, units: slice) -> _Block:
        """Return the block of these units; their number is below _DEPTH or a multiple of it."""
        block = features[units]
        columns = np.unique(block.indices)
        block = block[:, columns]
        if block.nnz <= _DENSE * math.prod(block.shape):
            return cls(units, columns, block, [])
        # Columns are alike where there is one group, or predictions are right: then their sums
        # are equal to the last digit.
        distinct: dict[bytes, int] = {}
        plain = block.toarray()
        place = [distinct.setdefault(column.tobytes(), len(distinct)) for column in plain.T]
        first = np.unique(place, return_index=True)[1]
        stack = plain[:, first].reshape(-1, min(_DEPTH, len(plain)), len(first))
        return cls(units, columns, stack, place)

    def samples(self, times: NDArray[Any]) -> Floats:
        """Return what samples add up to that have each unit so many times, (R, C)."""
        if not self.place:
            return np.asarray(times @ self.features)
        depth, width = self.features.shape[1:]
        totals = np.empty((len(times), width))
        for part in slices(len(times), min(depth * width, _PRODUCTS // _DEPTH), _PRODUCTS):
            drawn = np.asarray(times[part], dtype=np.float64)
            stack = drawn.reshape(len(drawn), -1, depth).transpose(1, 0, 2)
            totals[part] = (stack @ self.features).sum(axis=0)
        return totals[:, self.place]


# Without slots, so that what is added up is kept.
@dataclass(frozen=True, eq=False)
class RowSums:
    """What each unit adds to the sums of the metric.

    The columns of `features` (U, F) are: total, attributes (A), tasks (T), both (A x T), then
    predicted with true labels (A x T) for each of `directions`, and for task->attribute the
    predicted attributes (A).
    """

    features: Sparse
    times: NDArray[np.int64]
    """(U,), how many units are like this one."""
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    directions: tuple[Direction, ...]
    rows: int | None = None
    """How many rows there are, where units are not rows."""

    @property
    def units(self) -> int:
        """How many units there are to draw."""
        return int(self.times.sum())

    @property
    def number(self) -> int:
        """How many rows there are, whatever the units."""
        return self.units if self.rows is None else self.rows

    @cached_property
    def total(self) -> Sums:
        """What all units add up to, as one sample."""
        return self.sums((self.features.T @ self.times.astype(np.float64))[None, :])

    @cached_property
    def _blocks(self) -> list[_Block]:
        units = len(self.times)
        even = units - units % _DEPTH
        ends = sorted({*range(0, even, _BLOCK), even, units})
        return [_Block.of(self.features, slice(*part)) for part in pairwise(ends)]

    def samples(self, times: NDArray[Any]) -> Sums:
        """Return what samples add up to that have each unit so many times, (R, U)."""
        totals = np.zeros((len(times), self.features.shape[1]))
        for block in self._blocks:
            totals[:, block.columns] += block.samples(times[:, block.units])
        return self.sums(totals)

    def sums(self, columns: Floats) -> Sums:
        """Return sums with the layout of these units."""
        return Sums(columns, len(self.attributes), len(self.tasks), self.directions)

    def tallies(self) -> Tallies:
        """Return the sums of the metric over all units."""
        total = self.total
        whole, attribute, task, joint = (part[0] for part in total.marginals)

        def tally(table: Floats) -> Tally:
            return Tally(table, attribute, task, float(whole[0]))

        predicted = {way: tally(total.predicted(way)[0]) for way in self.directions}
        return Tallies(tally(joint), predicted)

    @property
    def replicates(self) -> int:
        """How many resamples an interval takes by default: fewer of very many units."""
        return int(np.clip(_DRAWN // max(self.features.shape), _FEWEST, REPLICATES))

    def resamples(
        self, replicates: int, rng: np.random.Generator, *, held: int = _HELD
    ) -> Iterator[Sums]:
        """Yield the sums of so many resamples, in parts of about `held` numbers at most."""
        for part in slices(replicates, max(self.features.shape), held):
            yield self.resampled(part.stop - part.start, rng)

    def resampled(self, replicates: int, rng: np.random.Generator) -> Sums:
        """Return the sums of so many resamples of the units, drawn with replacement."""
        return self.samples(self.drawn(replicates, rng))

    def drawn(self, replicates: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return how often each kind of unit is drawn, (replicates, U)."""
        kinds, single = len(self.times), self.times == 1
        if kinds <= (_FEW if single.all() else _MULTINOMIAL):
            return rng.multinomial(self.units, self.times / self.units, size=replicates)
        if single.all():
            return poisson(replicates, kinds, rng)
        times, several = np.empty((replicates, kinds), dtype=np.int64), self.times[~single]
        times[:, single] = poisson(replicates, kinds - len(several), rng)
        times[:, ~single] = rng.poisson(several, (replicates, len(several)))
        return times


def features(
    group: Sparse, task: Sparse, weight: Floats, predicted: Sequence[tuple[Direction, Sparse]]
) -> Sparse:
    """Return the columns of `RowSums` for rows, (n, F).

    `group` (n, A) says how much a row has each attribute, predicted attributes likewise;
    `task` (n, T) and predicted tasks are multiplied by the row's weight already.
    """
    from scipy import sparse

    weights = sparse.csr_array(weight[:, None])
    parts = [weights, _row_products(group, weights), task, _row_products(group, task)]
    margins = []
    for direction, guess in predicted:
        sides = [group, task]
        sides[direction.axis] = guess
        parts.append(_row_products(*sides))
        if direction.predicted == "attribute":
            margins.append(_row_products(guess, weights))
    return sparse.csr_array(sparse.hstack(parts + margins, format="csr", dtype=np.float64))


def _row_products(left: Sparse, right: Sparse) -> Sparse:
    """Return the products of every column of `left` with every one of `right`, row by row."""
    from scipy import sparse

    width = right.shape[1]
    row_of_left = np.repeat(np.arange(left.shape[0]), np.diff(left.indptr))
    times = np.diff(right.indptr)[row_of_left]
    ends = np.concatenate([[0], np.cumsum(times)])
    from_left = np.repeat(np.arange(left.nnz), times)
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], times)
    from_right = np.repeat(right.indptr[row_of_left], times) + place
    columns = left.indices[from_left] * width + right.indices[from_right]
    values = left.data[from_left] * right.data[from_right]
    shape = (left.shape[0], left.shape[1] * width)
    return sparse.csr_array((values, columns, ends[left.indptr]), shape=shape)


def added_by(unit: NDArray[np.intp], units: int, lines: Sparse) -> Sparse:
    """Return the sum of the lines that belong to each unit, (units, F)."""
    from scipy import sparse

    places = (unit, np.arange(len(unit)))
    members = sparse.csr_array((np.ones(len(unit)), places), shape=(units, len(unit)))
    return sparse.csr_array(members @ lines)
