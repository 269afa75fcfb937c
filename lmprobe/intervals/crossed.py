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
class CrossedMean:
    """A mean, its standard error and the degrees of freedom that the error is known with."""

    value: float
    standard_error: float
    degrees: float

    def p_value(self, reference: float = 0.0) -> float:
        """Return the two-sided p-value of "the true mean is the reference"."""
        return min(1.0, 2 * min(self.p_below(reference), self.p_above(reference)))

    def p_above(self, reference: float) -> float:
        """Return the p-value against "the true mean is at least the reference"."""
        return self._tail(self.value - reference)

    def p_below(self, reference: float) -> float:
        """Return the p-value against "the true mean is at most the reference"."""
        return self._tail(reference - self.value)

    def _tail(self, distance: float) -> float:
        from scipy import stats

        if not self.standard_error > 0:
            # Nothing differs anywhere: that much is certain. The same difference everywhere
            # has no spread that could be judged.
            return math.nan if self.value else (distance > 0) + 0.5 * (distance == 0)
        return float(stats.t.cdf(distance / self.standard_error, self.degrees))

    def halfwidth(self, confidence: float) -> float:
        """Return half the width of Student's interval."""
        from scipy import stats

        return float(stats.t.ppf((1 + confidence) / 2, self.degrees)) * self.standard_error


def crossed_mean(table: Floats) -> CrossedMean | None:
    """Return the mean of a table (K, T) without gaps; None for fewer than two rows or columns.

    A part of the variance that comes out negative counts as zero, so an effect that is not
    there makes the error a little too large and never too small.
    """
    k, t = table.shape
    if k < 2 or t < 2:
        return None
    rows, columns, mean = table.mean(axis=1), table.mean(axis=0), float(table.mean())
    rest = table - rows[:, None] - columns[None, :] + mean
    squares = {
        "rows": t * float(rows.var(ddof=1)),
        "columns": k * float(columns.var(ddof=1)),
        "rest": float((rest**2).sum()) / ((k - 1) * (t - 1)),
    }
    freedom = {"rows": k - 1, "columns": t - 1, "rest": (k - 1) * (t - 1)}
    larger = [name for name in ("rows", "columns") if squares[name] > squares["rest"]]
    # rows + columns - rest where both are there; one of them alone; or the rest alone.
    sign = dict.fromkeys(larger, 1.0) | ({"rest": 1.0 - len(larger)} if len(larger) != 1 else {})
    total = sum(sign[name] * squares[name] for name in sign)
    if not total > 0:
        return CrossedMean(mean, 0.0, math.inf)
    spread = sum((sign[name] * squares[name]) ** 2 / freedom[name] for name in sign)
    return CrossedMean(mean, math.sqrt(total / (k * t)), total**2 / spread)
