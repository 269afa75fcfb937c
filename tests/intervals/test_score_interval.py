"""The score interval against published tables and against the likelihood itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from lmprobe.errors import InputError
from lmprobe.intervals.method import interval
from lmprobe.intervals.methods.score import of_counts
from lmprobe.intervals.score_test import _likeliest
from lmprobe.intervals.two_groups import groups_sample

# Newcombe 1998 (Statistics in Medicine 17, 873-890), Table II, method 6: the interval of
# Miettinen & Nurminen for x_a/n_a - x_b/n_b.
NEWCOMBE = [
    ((56, 70, 48, 80), (0.0528, 0.3382)),
    ((9, 10, 3, 10), (0.1700, 0.8406)),
    ((6, 7, 2, 7), (0.0342, 0.8534)),
    ((5, 56, 0, 29), (-0.0326, 0.1933)),
    ((0, 10, 0, 20), (-0.1658, 0.2844)),
    ((0, 10, 0, 10), (-0.2879, 0.2879)),
    ((10, 10, 0, 20), (0.7156, 1.0)),
    ((10, 10, 0, 10), (0.6636, 1.0)),
]


@pytest.mark.parametrize(("counts", "expected"), NEWCOMBE)
def test_newcombes_table(counts: tuple[int, int, int, int], expected: tuple[float, float]) -> None:
    low, high = of_counts(*counts, confidence=0.95)
    assert (float(low), float(high)) == pytest.approx(expected, abs=5.1e-5)


@settings(deadline=None)
@given(
    n_a=st.integers(1, 60), n_b=st.integers(1, 60), x=st.floats(0, 1), y=st.floats(0, 1),
    d=st.floats(-0.99, 0.99),
)  # fmt: skip
def test_the_root_is_the_most_likely(n_a: int, n_b: int, x: float, y: float, d: float) -> None:
    ones_a, ones_b = round(x * n_a), round(y * n_b)
    grid = np.linspace(max(0.0, -d), min(1.0, 1 - d), 1001)

    def log_likelihood(p_b: float | np.ndarray) -> np.ndarray:
        p_a = np.clip(p_b + d, 0, 1)
        return (
            xlogy(ones_a, p_a) + xlogy(n_a - ones_a, 1 - p_a)
            + xlogy(ones_b, p_b) + xlogy(n_b - ones_b, np.clip(1 - p_b, 0, 1))
        )  # fmt: skip

    numbers = [np.asarray(float(one)) for one in (d, ones_a, n_a, ones_b, n_b)]
    found = float(_likeliest(*numbers))
    best = grid[int(np.argmax(log_likelihood(grid)))]
    near = abs(found - best) <= 2 * (grid[1] - grid[0]) + 1e-9
    assert near or log_likelihood(found) >= log_likelihood(best) - 1e-9


def test_swapping_the_groups_mirrors_the_interval() -> None:
    low, high = of_counts(13, 40, 30, 55, confidence=0.9)
    mirrored = of_counts(30, 55, 13, 40, confidence=0.9)
    assert (low, high) == pytest.approx((-mirrored[1], -mirrored[0]), abs=1e-9)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    counts = np.array([one for one, _ in NEWCOMBE]).T
    low, high = of_counts(*counts, confidence=0.95)
    for number, (one, _) in enumerate(NEWCOMBE):
        assert (low[number], high[number]) == tuple(of_counts(*one, confidence=0.95))


def test_fractions_are_refused() -> None:
    sample = groups_sample(
        np.array([0.5, 1.0]), np.array([0.0, 1.0]), cost_bound=1.0, group_share=0.5
    )
    with pytest.raises(InputError, match=r"found 0\.5"):
        interval(sample, method="score", rng=np.random.default_rng(0))
