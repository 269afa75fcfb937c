"""Bernstein's inequality against the paper's equations and numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from lmprobe import bernstein_halfwidth
from lmprobe.errors import InputError
from lmprobe.stats.method import Sample, groups_sample, interval, traits_of


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("n", "variance", "share", "expected"),
    [(100, 1, 0.5, 0.2973238656), (500, 0.05, 0.1, 0.0612336051)],
)
def test_equation_3_to_nine_digits(n: int, variance: float, share: float, expected: float) -> None:
    assert bernstein_halfwidth(n, variance, share) == pytest.approx(expected, abs=5e-11)


@settings(deadline=None)
@given(
    n=st.integers(1, 10**6),
    variance=st.floats(1e-6, 100),
    share=st.floats(0.01, 0.5),
    bound=st.floats(0.1, 10),
    confidence=st.floats(0.5, 0.999),
)
def test_it_solves_equation_2(
    n: int, variance: float, share: float, bound: float, confidence: float
) -> None:
    t = bernstein_halfwidth(n, variance, share, cost_bound=bound, confidence=confidence)
    chance = 2 * math.exp(-n * t**2 / (2 * variance + 2 * bound / (3 * share) * t))
    assert chance == pytest.approx(1 - confidence, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "more", "word"),
    [
        ((0, 1, 0.5), {}, "`n` must be positive: found 0"),
        ((10, -1, 0.5), {}, "`variance` must not be negative: found -1"),
        ((10, 1, 0), {}, "`group_share`"),
        ((10, 1, math.nextafter(0.5, 1)), {}, "`group_share`"),
        ((10, 1, 0.5), {"cost_bound": 0}, "`cost_bound` must be positive: found 0"),
        ((10, 1, 0.5), {"confidence": 1}, "`confidence`"),
    ],
)
def test_what_is_refused(
    arguments: tuple[float, float, float], more: dict[str, float], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        bernstein_halfwidth(*arguments, **more)
    assert bernstein_halfwidth(0.5, 0, 0.5, cost_bound=1e-9, confidence=0.01) > 0


@pytest.mark.parametrize("saved", [False, True])
def test_the_interval_is_equation_3_on_the_amortized_disparity(saved: bool) -> None:
    """Of costs, or of what each row saves of its bound: whichever varies less."""
    costs = 2 * rng().beta(2, 5, 100), 2 * np.random.default_rng(2).beta(2, 6, 300)
    first, second = (2 - costs[0], 2 - costs[1]) if saved else costs
    sample = groups_sample(first, second, cost_bound=2.0, group_share=0.2)
    variances = [
        np.concatenate([sign * a / 0.25, -sign * b / 0.75]).var()
        for sign, a, b in ((1, first, second), (-1, 2 - first, 2 - second))
    ]
    assert abs(variances[0] - variances[1]) > 1
    half = bernstein_halfwidth(400, min(variances), 0.2, cost_bound=2.0, confidence=0.9)
    result = interval(sample, method="bernstein", confidence=0.9, rng=rng())
    assert (result.low, result.high) == pytest.approx((sample.value - half, sample.value + half))


@pytest.mark.parametrize("bounds", [(-1.0, 3.0), (-3.0, 1.0)])
def test_values_of_templates_have_the_bound_that_is_farther_from_zero(
    bounds: tuple[float, float],
) -> None:
    values = np.array([0.0, 1.0, 3.0, -1.0])
    result = interval(Sample(0.75, values, bounds=bounds), method="bernstein", rng=rng())
    # Squares: 0 + 1 + 9 + 1 over 4, less the square of the mean; a share of 1/2 doubles the bound.
    half = bernstein_halfwidth(4, 11 / 4 - 0.75**2, 0.5, cost_bound=1.5)
    assert (result.low, result.high) == pytest.approx((0.75 - half, 0.75 + half))
    assert "variance is estimated" in traits_of("bernstein").caveat


def test_two_observations_are_the_fewest() -> None:
    few, enough = (
        interval(Sample(float(values.mean()), values), method="bernstein", rng=rng())
        for values in (np.array([0.1]), np.array([0.1, 0.3]))
    )
    assert (few.status, enough.status) == ("too_few_units", "ok")
