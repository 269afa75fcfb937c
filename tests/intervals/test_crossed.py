"""The two-way analysis of variance against its textbook formulas and a simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.inference.comparison import equivalence_p_value
from lmprobe.intervals.crossed import CrossedMean, MeanSquares, Spread, crossed_mean
from lmprobe.intervals.method import Sample, interval
from lmprobe.intervals.probe import CellTable, probe_interval, probe_sample
from lmprobe.results.interval import Interval


def squares_by_loop(table: np.ndarray) -> tuple[float, float, float]:
    """Mean squares of rows, columns and the rest, from the definition."""
    k, t = table.shape
    mean = sum(table[i, j] for i in range(k) for j in range(t)) / (k * t)
    row = [sum(table[i]) / t for i in range(k)]
    column = [sum(table[:, j]) / k for j in range(t)]
    rows = t * sum((one - mean) ** 2 for one in row) / (k - 1)
    columns = k * sum((one - mean) ** 2 for one in column) / (t - 1)
    left = sum((table[i, j] - row[i] - column[j] + mean) ** 2 for i in range(k) for j in range(t))
    return rows, columns, left / ((k - 1) * (t - 1))


def test_standard_error_and_degrees_of_freedom_follow_satterthwaite() -> None:
    rng = np.random.default_rng(4)
    table = rng.normal(0, 1, (6, 1)) + rng.normal(0, 0.5, (1, 9)) + rng.normal(0, 0.2, (6, 9))
    rows, columns, rest = squares_by_loop(table)
    found = crossed_mean(table)
    assert found is not None
    assert min(rows, columns) > rest
    total = rows + columns - rest
    assert found.value == pytest.approx(table.mean())
    assert found.spread.standard_error == pytest.approx(math.sqrt(total / 54))
    degrees = total**2 / (rows**2 / 5 + columns**2 / 8 + rest**2 / 40)
    assert found.spread.degrees == pytest.approx(degrees)


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
        parts = [(rows, k - 1), (columns, t - 1)]
        larger = [part for part in parts if part[0] > rest]
        if not larger:
            larger = [(rest, (k - 1) * (t - 1))]
        elif len(larger) == 2:
            larger.append((-rest, (k - 1) * (t - 1)))
        total = sum(square for square, _ in larger)
        degrees = total**2 / sum(square**2 / freedom for square, freedom in larger)
        found = crossed_mean(table)
        assert found is not None
        assert found.spread.standard_error == pytest.approx(math.sqrt(total / (k * t)))
        assert found.spread.degrees == pytest.approx(degrees)
        for one, (square, freedom) in zip(found.by_axis, parts, strict=True):
            assert one.standard_error == pytest.approx(math.sqrt(square / (k * t)))
            assert one.degrees == freedom


def two_by_two(rows: float, columns: float, rest: float) -> np.ndarray:
    """A table of mean 0 whose mean squares are 4 rows², 4 columns² and 4 rest², exactly."""
    return np.array(
        [[rows + columns + rest, rows - columns - rest],
         [-rows + columns - rest, -rows - columns + rest]]
    )  # fmt: skip


def test_an_axis_that_varies_as_much_as_the_rest_is_not_there() -> None:
    squares = MeanSquares.of(two_by_two(1, 2, 1))
    assert (squares.rows, squares.columns, squares.rest) == (4, 16, 4)
    alone = crossed_mean(two_by_two(1, 2, 1))
    assert alone is not None
    # The columns alone, with their one degree of freedom; both would have 16²/(4² + 16² + 4²).
    assert (alone.spread.standard_error, alone.spread.degrees) == (2, 1)
    neither = crossed_mean(two_by_two(1, 1, 1))
    assert neither is not None
    assert (neither.spread.standard_error, neither.spread.degrees) == (1, 1)


def test_an_axis_without_any_spread_says_nothing_and_does_no_harm() -> None:
    found = crossed_mean(two_by_two(0, 3, 0) + 1)
    assert found is not None
    assert [one.standard_error for one in found.by_axis] == [0, 3]
    # Student's law with one degree of freedom is Cauchy's.
    expected = 2 * (0.5 - math.atan(1 / 3) / math.pi)
    assert found.p_value() == pytest.approx(expected)
    assert found.halfwidth(0.5) == pytest.approx(3)


def test_without_spread_only_a_difference_of_zero_is_certain() -> None:
    nothing = crossed_mean(np.zeros((3, 4)))
    assert nothing == CrossedMean(0.0, Spread(0.0, math.inf))
    assert nothing is not None
    assert nothing.p_value() == 1
    assert (nothing.p_above(0.1), nothing.p_below(0.1)) == (0, 1)
    assert (nothing.p_above(-0.1), nothing.p_below(-0.1)) == (1, 0)
    assert (nothing.p_above(0.0), nothing.p_below(0.0)) == (0.5, 0.5)
    assert nothing.halfwidth(0.95) == 0
    same = crossed_mean(np.full((3, 4), 0.25))
    assert same is not None
    assert math.isnan(same.p_above(0.1))
    assert math.isnan(same.p_below(0.1))
    assert math.isnan(same.p_value())


def test_each_tail_is_students_and_the_widest_spread_counts() -> None:
    found = CrossedMean(0.4, Spread(0.2, 5.0))
    assert found.p_above(0.5) == pytest.approx(stats.t.cdf(-0.5, 5))
    assert found.p_below(0.5) == pytest.approx(stats.t.cdf(0.5, 5))
    assert found.p_value() == pytest.approx(2 * stats.t.sf(2, 5))
    assert found.p_value(0.4) == 1
    assert found.halfwidth(0.9) == pytest.approx(0.2 * stats.t.ppf(0.95, 5))
    wider = CrossedMean(0.4, Spread(0.2, 5.0), (Spread(0.1, 5.0), Spread(0.3, 5.0)))
    assert wider.halfwidth(0.9) == pytest.approx(0.3 * stats.t.ppf(0.95, 5))
    assert wider.p_value() == pytest.approx(2 * stats.t.sf(4 / 3, 5))


def test_parts_that_come_out_negative_count_as_zero() -> None:
    table = np.random.default_rng(1).normal(0, 1, (40, 30))
    table -= table.mean(axis=1, keepdims=True)
    found = crossed_mean(table)
    _, columns, rest = squares_by_loop(table)
    assert found is not None
    assert found.spread.standard_error == pytest.approx(math.sqrt(max(columns, rest) / 1200))
    assert found.spread.degrees == pytest.approx(29 if columns > rest else 39 * 29)


def test_one_template_or_one_task_says_nothing() -> None:
    assert crossed_mean(np.ones((1, 5))) is None
    assert crossed_mean(np.ones((5, 1))) is None
    sample = Sample(0.0, crossed=np.ones((1, 5)))
    rng = np.random.default_rng(0)
    assert interval(sample, method="t-crossed", rng=rng).status == "too_few_units"
    with pytest.raises(InputError, match="templates are crossed"):
        interval(Sample(0.0), method="t-crossed", rng=rng)


def test_t_crossed_of_constant_cells_is_undefined() -> None:
    rng = np.random.default_rng(0)
    found, _ = probe_interval(np.full((4, 2, 3), 0.1), method="t-crossed", rng=rng)
    assert found.status == "undefined"


def crossed_interval(table: np.ndarray) -> Interval:
    sample = Sample(float(table.mean()), crossed=table)
    return interval(sample, method="t-crossed", rng=np.random.default_rng(0))


def test_t_crossed_of_two_templates_and_two_tasks() -> None:
    found = crossed_interval(two_by_two(0, 3, 0) + 1)
    half = 3 * stats.t.ppf(0.975, 1)
    assert (found.low, found.high) == pytest.approx((1 - half, 1 + half))


@pytest.mark.parametrize("size", [0.0, 1.0, 1000.0])
def test_a_spread_of_rounding_errors_is_none(size: float) -> None:
    """Up to 1e-12 of the largest number, or of 1 if all are smaller."""
    least = 1e-12 * max(size, 1)
    # The standard error of these tables is the first number.
    for error, status in ((0.9 * least, "undefined"), (1.2 * least, "ok")):
        table = two_by_two(error, 0, 0) + np.array([[size, size], [size, size]])
        assert crossed_interval(table).status == status
    assert crossed_interval(two_by_two(1e-12, 0, 0)).status == "undefined"


def test_the_crossed_table_has_the_mean_of_the_probe() -> None:
    rng = np.random.default_rng(3)
    cells = rng.normal(0, 0.1, (7, 3, 6))
    cells[:, 0, 2] = np.nan
    cells[:, :, 4] = np.nan
    families = ["a", "a", "a", "b", "c", "c", "d"]
    table = CellTable.of(cells, families)
    sample = probe_sample(table, "both")
    assert sample.crossed is not None
    assert sample.crossed.shape == (4, 5)
    assert sample.crossed.mean() == pytest.approx(sample.value)


def test_p_value_and_interval_agree() -> None:
    rng = np.random.default_rng(5)
    table = 0.4 + rng.normal(0, 1, (6, 1)) + rng.normal(0, 0.5, (1, 9)) + rng.normal(0, 0.2, (6, 9))
    found = crossed_mean(table)
    assert found is not None
    p = found.p_value()
    assert found.halfwidth(1 - p) == pytest.approx(abs(found.value))
    edge = found.value + found.halfwidth(0.9)
    # At a 90 % end, the one-sided test of equivalence has 0.05.
    assert found.p_above(edge) == pytest.approx(0.05)


def test_equivalence_is_the_larger_of_two_one_sided_tests() -> None:
    rng = np.random.default_rng(6)
    table = 0.002 + rng.normal(0, 0.01, (20, 30))
    found = crossed_mean(table)
    assert found is not None
    half = found.halfwidth(0.9)
    just = abs(found.value) + half
    assert (
        equivalence_p_value(found, just * 1.001) < 0.05 < equivalence_p_value(found, just * 0.999)
    )
    assert math.isnan(equivalence_p_value(None, 0.1))
    with pytest.raises(InputError, match="positive"):
        equivalence_p_value(found, 0.0)


@pytest.mark.parametrize(
    ("rows", "columns", "row_sd", "column_sd"), [(8, 15, 1, 1.4), (3, 32, 1, 1), (2, 32, 2, 2)]
)
def test_the_test_keeps_its_level_where_both_axes_vary(
    rows: int, columns: int, row_sd: float, column_sd: float
) -> None:
    """0.05 of 2,000 comparisons without a difference; the larger of two one-axis tests had 0.1.

    With Satterthwaite's degrees of freedom alone, three rows had 0.08 and two 0.12.
    """
    rng = np.random.default_rng(7)
    rejected = 0
    for _ in range(2000):
        table = rng.normal(0, row_sd, (rows, 1)) + rng.normal(0, column_sd, (1, columns))
        found = crossed_mean(table + rng.normal(0, 1, (rows, columns)))
        assert found is not None
        rejected += found.p_value() < 0.05
        assert (abs(found.value) > found.halfwidth(0.95)) == (found.p_value() < 0.05)
    assert 0.025 < rejected / 2000 < 0.065


def test_no_axis_alone_may_contradict_a_claim() -> None:
    rng = np.random.default_rng(8)
    table = 0.1 + rng.normal(0, 0.01, (2, 1)) + rng.normal(0, 1, (1, 30))
    found = crossed_mean(table)
    assert found is not None
    one_axis = [stats.ttest_1samp(table.mean(axis=axis), 0).pvalue for axis in (0, 1)]
    welch = 2 * stats.t.sf(abs(found.value) / found.spread.standard_error, found.spread.degrees)
    assert found.p_value() == pytest.approx(max(*one_axis, welch))
