"""How often units are drawn: whole resamples, and weights that are drawn one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.stats.resampling import draws, poisson, poisson_table, slices, thinned


@pytest.mark.parametrize(("width", "held"), [(1, 100), (7, 20), (100, 20), (3, 9)])
def test_slices_cover_everything_once_and_hold_no_more_than_asked(width: int, held: int) -> None:
    parts = list(slices(10, width, held))
    assert [place for part in parts for place in range(part.start, part.stop)] == list(range(10))
    assert all((part.stop - part.start) * width <= max(held, width) for part in parts)
    # No more parts than needed.
    assert len(parts) == math.ceil(10 / max(1, held // width))


def test_each_row_draws_as_many_units_as_there_are() -> None:
    result = draws(7, 4, np.random.default_rng(2))
    selected = np.random.default_rng(2).integers(4, size=(7, 4))
    expected = [[np.sum(row == unit) for unit in range(4)] for row in selected]
    assert result.tolist() == expected
    assert result.dtype == np.float64


def test_the_table_is_the_poisson_law_of_mean_one() -> None:
    table = poisson_table()
    assert table.astype(float).mean() == 1
    times = np.bincount(table.astype(int))
    assert (len(table), len(times)) == (65_536, 9)
    # Rounded to whole entries; those of 0 and 1 make up for what rounding leaves of the mean.
    exact = 65_536 * stats.poisson.pmf(np.arange(9), 1)
    assert np.abs(times - exact)[2:].max() <= 0.5
    assert np.abs(times - exact)[:2].max() <= 8


def test_weights_are_looked_up_one_by_one() -> None:
    result = poisson(300, 200, np.random.default_rng(1))
    entries = np.random.default_rng(1).integers(65_536, size=(300, 200), dtype=np.uint16)
    assert np.array_equal(result, poisson_table()[entries])
    assert result.mean(dtype=float) == pytest.approx(1, abs=4 / math.sqrt(result.size))


@pytest.mark.parametrize("most", [0, 1, 2, 16])
@pytest.mark.parametrize("chance", [0.2, 0.5])
def test_what_remains_is_drawn_as_numpy_draws_it(most: int, chance: float) -> None:
    times = np.random.default_rng(3).integers(0, most, size=3000, endpoint=True)
    times[0] = most
    draw, expected = np.random.default_rng(4), np.random.default_rng(4)
    result = thinned(times, chance, 5, draw)
    assert np.array_equal(result, expected.binomial(times, chance, size=(5, 3000)))
    assert draw.random() == expected.random()


@pytest.mark.parametrize("most", [17, 200, 5000])
def test_of_many_things_as_many_remain_as_the_binomial_law_says(most: int) -> None:
    times = np.random.default_rng(3).integers(0, most, size=500, endpoint=True)
    times[:2] = most, 1
    result = thinned(times, 0.2, 2000, np.random.default_rng(4)).astype(float)
    error = np.sqrt(times * 0.2 * 0.8 / 2000)
    assert (np.abs(result.mean(axis=0) - 0.2 * times) <= 5 * error).all()
    assert result.var(axis=0).sum() == pytest.approx((times * 0.2 * 0.8).sum(), rel=0.02)
    assert (result <= times).all()
