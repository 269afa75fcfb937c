"""The two-way analysis of variance against its textbook formulas and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.results import Interval
from lmprobe.stats.crossed import CrossedMean, MeanSquares, Spread, crossed_mean
from lmprobe.stats.method import Sample, interval


def squares_by_loop(table: np.ndarray) -> tuple[float, float, float]:
    """Mean squares of rows, columns and the rest, from the definition."""
    k, t = table.shape
    mean = sum(table[i, j] for i in range(k) for j in range(t)) / (k * t)
    row = [sum(table[i]) / t for i in range(k)]
    column = [sum(table[:, j]) / k for j in range(t)]
    rows = t * sum((value - mean) ** 2 for value in row) / (k - 1)
    columns = k * sum((value - mean) ** 2 for value in column) / (t - 1)
    left = sum((table[i, j] - row[i] - column[j] + mean) ** 2 for i in range(k) for j in range(t))
    return rows, columns, left / ((k - 1) * (t - 1))


@pytest.mark.parametrize(("k", "t", "seed"), [(2, 2, 0), (3, 5, 1), (6, 4, 2), (4, 9, 3)])
def test_spreads_are_those_of_the_definition_whatever_parts_there_are(
    k: int, t: int, seed: int
) -> None:
    """Much noise, so that the rest counts, in tables with and without effects of the axes."""
    rng = np.random.default_rng(seed)
    for row_sd, column_sd in ((0, 0), (0, 2), (2, 0), (2, 2)):
        effects = rng.normal(0, row_sd, (k, 1)) + rng.normal(0, column_sd, (1, t))
        table = effects + rng.normal(0, 1, (k, t))
        rows, columns, rest = squares_by_loop(table)
        squares = MeanSquares.of(table)
        assert (squares.rows, squares.columns, squares.rest) == pytest.approx((rows, columns, rest))
        # Satterthwaite: squares with their degrees of freedom; one below the rest counts as 0.
        parts = [(rows, k - 1), (columns, t - 1)]
        larger = [part for part in parts if part[0] > rest]
        if not larger:
            larger = [(rest, (k - 1) * (t - 1))]
        elif len(larger) == 2:
            larger.append((-rest, (k - 1) * (t - 1)))
        total = sum(square for square, _ in larger)
        degrees = total**2 / sum(square**2 / freedom for square, freedom in larger)
        mean = crossed_mean(table)
        assert mean is not None
        assert mean.value == pytest.approx(table.mean())
        assert mean.spread.standard_error == pytest.approx(math.sqrt(total / (k * t)))
        assert mean.spread.degrees == pytest.approx(degrees)
        for spread, (square, freedom) in zip(mean.by_axis, parts, strict=True):
            assert spread.standard_error == pytest.approx(math.sqrt(square / (k * t)))
            assert spread.degrees == freedom


def two_by_two(rows: float, columns: float, rest: float) -> np.ndarray:
    """A table of mean 0 whose mean squares are 4 rows², 4 columns² and 4 rest², exactly."""
    return np.array(
        [[rows + columns + rest, rows - columns - rest],
         [-rows + columns - rest, -rows - columns + rest]]
    )  # fmt: skip


def test_an_axis_that_varies_as_much_as_the_rest_is_not_there() -> None:
    alone, neither = crossed_mean(two_by_two(1, 2, 1)), crossed_mean(two_by_two(1, 1, 1))
    assert alone is not None
    assert neither is not None
    # The columns alone, with their one degree of freedom; both would have 16²/(4² + 16² + 4²).
    assert alone.spread == Spread(2, 1)
    assert neither.spread == Spread(1, 1)


def test_each_tail_is_students_and_the_widest_spread_counts() -> None:
    mean = CrossedMean(0.4, Spread(0.2, 5.0))
    assert mean.p_above(0.5) == pytest.approx(stats.t.cdf(-0.5, 5))
    assert mean.p_below(0.5) == pytest.approx(stats.t.cdf(0.5, 5))
    assert mean.p_value() == pytest.approx(2 * stats.t.sf(2, 5))
    assert mean.p_value(0.4) == 1
    assert mean.halfwidth(0.9) == pytest.approx(0.2 * stats.t.ppf(0.95, 5))
    wider = CrossedMean(0.4, Spread(0.2, 5.0), (Spread(0.1, 5.0), Spread(0.3, 5.0)))
    assert wider.halfwidth(0.9) == pytest.approx(0.3 * stats.t.ppf(0.95, 5))
    assert wider.p_value() == pytest.approx(2 * stats.t.sf(4 / 3, 5))
    # At the end of an interval its own test is just significant.
    assert wider.p_value(0.4 + wider.halfwidth(0.9)) == pytest.approx(0.1)


def test_no_axis_alone_may_contradict_a_claim() -> None:
    rng = np.random.default_rng(8)
    table = 0.1 + rng.normal(0, 0.01, (2, 1)) + rng.normal(0, 1, (1, 30))
    mean = crossed_mean(table)
    assert mean is not None
    one_axis = [stats.ttest_1samp(table.mean(axis=axis), 0).pvalue for axis in (0, 1)]
    both = 2 * stats.t.sf(abs(mean.value) / mean.spread.standard_error, mean.spread.degrees)
    assert mean.p_value() == pytest.approx(max(*one_axis, both))


def test_without_spread_only_a_difference_of_zero_is_certain() -> None:
    nothing = crossed_mean(np.zeros((3, 4)))
    assert nothing == CrossedMean(0.0, Spread(0.0, math.inf))
    assert nothing is not None
    assert (nothing.p_value(), nothing.halfwidth(0.95)) == (1, 0)
    assert (nothing.p_above(0.1), nothing.p_below(0.1)) == (0, 1)
    assert (nothing.p_above(0.0), nothing.p_below(0.0)) == (0.5, 0.5)
    same = crossed_mean(np.full((3, 4), 0.25))
    assert same is not None
    assert math.isnan(same.p_value())
    # An axis without any spread says nothing and does no harm; the other's law is Cauchy's.
    columns = crossed_mean(two_by_two(0, 3, 0) + 1)
    assert columns is not None
    assert columns.p_value() == pytest.approx(2 * (0.5 - math.atan(1 / 3) / math.pi))
    assert columns.halfwidth(0.5) == pytest.approx(3)


@pytest.mark.parametrize(
    ("rows", "columns", "row_sd", "column_sd"), [(8, 15, 1, 1.4), (3, 32, 1, 1), (2, 32, 2, 2)]
)
def test_the_test_keeps_its_level_where_both_axes_vary(
    rows: int, columns: int, row_sd: float, column_sd: float
) -> None:
    """With Satterthwaite's degrees of freedom alone, three rows had 0.08 and two 0.12."""
    rng = np.random.default_rng(7)
    rejected = 0
    for _ in range(1000):
        table = rng.normal(0, row_sd, (rows, 1)) + rng.normal(0, column_sd, (1, columns))
        mean = crossed_mean(table + rng.normal(0, 1, (rows, columns)))
        assert mean is not None
        rejected += mean.p_value() < 0.05
        assert (abs(mean.value) > mean.halfwidth(0.95)) == (mean.p_value() < 0.05)
    assert 0.02 < rejected / 1000 < 0.07


def t_crossed(table: np.ndarray, confidence: float = 0.95) -> Interval:
    sample = Sample(float(table.mean()), crossed=table)
    return interval(sample, method="t-crossed", confidence=confidence, rng=np.random.default_rng(0))


def test_the_interval_is_the_mean_and_its_halfwidth() -> None:
    table = two_by_two(0, 3, 0) + 1
    found = t_crossed(table, 0.9)
    half = 3 * stats.t.ppf(0.95, 1)
    assert (found.low, found.high) == pytest.approx((1 - half, 1 + half))
    for shape in ((1, 5), (5, 1)):
        assert crossed_mean(np.ones(shape)) is None
        assert t_crossed(np.ones(shape)).status == "too_few_units"


@pytest.mark.parametrize("size", [0.0, 1.0, 1000.0])
def test_a_spread_of_rounding_errors_is_none(size: float) -> None:
    """Up to 1e-12 of the largest number, or of 1 if all are smaller."""
    least = 1e-12 * max(size, 1)
    for error, status in ((0.9 * least, "undefined"), (1.2 * least, "ok")):
        assert t_crossed(two_by_two(error, 0, 0) + size).status == status
