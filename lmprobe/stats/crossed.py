"""The mean of a table whose rows and columns are both samples, with its standard error.

A two-way analysis of variance with random effects: the variance of the mean of K rows and T
columns is (rows/K + columns/T + rest/KT), estimated by mean squares. The degrees of freedom
of their sum are those of Satterthwaite (1946).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lmprobe.core.tally import Floats


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """The mean squares of rows, columns and the rest of a table (K, T) without gaps."""

    rows: float
    columns: float
    rest: float

    @classmethod
    def of(cls, table: Floats) -> MeanSquares:
        """Return those of a table with at least two rows and two columns."""
        k, t = table.shape
        rows, columns = table.mean(axis=1), table.mean(axis=0)
        rest = table - rows[:, None] - columns[None, :] + table.mean()
        return cls(
            rows=t * float(rows.var(ddof=1)),
            columns=k * float(columns.var(ddof=1)),
            rest=float((rest**2).sum()) / ((k - 1) * (t - 1)),
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """A standard error, and the degrees of freedom that it is known with."""

    standard_error: float
    degrees: float


@dataclass(frozen=True, slots=True)
class CrossedMean:
    """A mean with the spread of rows and columns together, and of each of them alone.

    A claim must be true of all three. The sum is sufficient if there are many rows and columns.
    With two or three rows their mean square is small by chance now and then, the degrees of
    freedom then appear to be those of the columns, and the sum alone rejects a true hypothesis in
    up to 12 % of samples at 0.05.
    """

    value: float
    spread: Spread
    by_axis: tuple[Spread, ...] = ()

    def p_value(self, reference: float = 0.0) -> float:
        """Return the two-sided p-value of "the true mean is the reference"."""
        return 2 * min(self.p_below(reference), self.p_above(reference))

    def p_above(self, reference: float) -> float:
        """Return the p-value against "the true mean is at least the reference"."""
        return self._tail(self.value - reference)

    def p_below(self, reference: float) -> float:
        """Return the p-value against "the true mean is at most the reference"."""
        return self._tail(reference - self.value)

    def _tail(self, distance: float) -> float:
        from scipy import special

        if not self.spread.standard_error > 0:
            # Nothing differs anywhere: that much is certain. The same difference everywhere
            # has no spread that could be judged.
            return math.nan if self.value else (distance > 0) + 0.5 * (distance == 0)
        return max(
            float(special.stdtr(one.degrees, distance / one.standard_error))
            for one in (self.spread, *self.by_axis)
            if one.standard_error > 0
        )

    def halfwidth(self, confidence: float) -> float:
        """Return half the width of Student's interval."""
        from scipy import special

        return max(
            float(special.stdtrit(one.degrees, (1 + confidence) / 2)) * one.standard_error
            for one in (self.spread, *self.by_axis)
        )


def crossed_mean(table: Floats) -> CrossedMean | None:
    """Return the mean of a table (K, T) without gaps; None for fewer than two rows or columns.

    A part of the variance that comes out negative counts as zero, so an effect that is not
    there makes the error a little too large and never too small.
    """
    k, t = table.shape
    if k < 2 or t < 2:
        return None
    found, cells = MeanSquares.of(table), k * t
    # Each mean square with its degrees of freedom.
    rows, columns, rest = (
        (found.rows, k - 1),
        (found.columns, t - 1),
        (found.rest, (k - 1) * (t - 1)),
    )
    # rows + columns - rest where both are there; one of them alone; or the rest alone.
    parts = [part for part in (rows, columns) if part[0] > found.rest] or [rest]
    if len(parts) == 2:
        parts.append((-found.rest, rest[1]))
    total = sum(square for square, _ in parts)
    mean = float(table.mean())
    if not total > 0:
        return CrossedMean(mean, Spread(0.0, math.inf))
    degrees = total**2 / sum(square**2 / freedom for square, freedom in parts)
    return CrossedMean(
        mean,
        Spread(math.sqrt(total / cells), degrees),
        tuple(Spread(math.sqrt(square / cells), freedom) for square, freedom in (rows, columns)),
    )
