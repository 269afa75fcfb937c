"""How often units are drawn: whole resamples, and weights that are drawn one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.intervals.weights import draws, poisson, poisson_table


def test_each_row_draws_as_many_units_as_there_are() -> None:
    found = draws(7, 4, np.random.default_rng(2))
    chosen = np.random.default_rng(2).integers(4, size=(7, 4))
    expected = [[np.sum(row == unit) for unit in range(4)] for row in chosen]
    assert found.tolist() == expected
    assert found.dtype == np.float64
    assert draws(3, 1, np.random.default_rng(0)).tolist() == [[1.0]] * 3


def test_the_table_is_the_poisson_law_of_mean_one() -> None:
    table = poisson_table()
    assert table.dtype == np.float32
    assert len(table) == 65_536
    assert table.astype(float).mean() == 1
    often = np.bincount(table.astype(int))
    assert len(often) == 9
    # Rounded to whole entries; those of 0 and 1 make up for what rounding leaves of the mean.
    exact = 65_536 * stats.poisson.pmf(np.arange(9), 1)
    assert np.abs(often - exact)[2:].max() <= 0.5
    assert np.abs(often - exact)[:2].max() <= 8
    assert list(table) == sorted(table)


def test_weights_are_looked_up_one_by_one() -> None:
    found = poisson(300, 200, np.random.default_rng(1))
    assert found.shape == (300, 200)
    assert found.dtype == np.float32
    entries = np.random.default_rng(1).integers(65_536, size=(300, 200), dtype=np.uint16)
    assert np.array_equal(found, poisson_table()[entries])
    error = 1 / math.sqrt(found.size)
    assert found.mean(dtype=float) == pytest.approx(1, abs=4 * error)
    # The fourth central moment of the law is 4, so the variance of (x - 1)² is 3.
    assert found.var(dtype=float) == pytest.approx(1, abs=4 * math.sqrt(3) * error)
