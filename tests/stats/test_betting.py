"""Betting against the same game played one value after the other, and against what it promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from lmprobe.metrics.association import Floats
from lmprobe.results import Interval
from lmprobe.stats.method import groups_sample, interval
from lmprobe.stats.methods.bounded import limits, log_capital, running_variance, shuffled


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def betting(
    first: Floats, second: Floats, seed: int = 0, bound: float = 1.0, confidence: float = 0.95
) -> Interval:
    sample = groups_sample(first, second, cost_bound=bound, group_share=0.4)
    return interval(sample, method="betting", confidence=confidence, rng=rng(seed))


def variances(values: Floats) -> list[float]:
    """Return the variance known before each value and after the last: 1/4 counts as one value."""
    total, squares, estimates = 0.5, 0.25, [0.25]
    for number, value in enumerate(values, start=1):
        total += value
        squares += (value - total / (number + 1)) ** 2
        estimates.append(squares / (number + 1))
    return estimates


def wealth(values: Floats, stakes: list[float], mean: float) -> float:
    """Return the log of what is left; at most nine tenths of the capital are lost."""
    logs = [
        math.log1p(min(stake, 0.9 / mean if mean else math.inf) * (value - mean))
        for value, stake in zip(values, stakes, strict=True)
    ]
    return sum(logs)


def lower_limit(values: Floats, alpha: float) -> float:
    """Return the mean at which the capital of a gambler who aims at 1 / alpha has grown to it."""
    goal = math.log(1 / alpha)
    stakes = [math.sqrt(2 * goal / (len(values) * v)) for v in variances(values)[:-1]]
    return float(optimize.brentq(lambda mean: wealth(values, stakes, mean) - goal, 1e-12, 1))


def lowest_difference(first: Floats, second: Floats, alpha: float) -> float:
    """Return the smallest difference of two means that the product of both capitals allows.

    A twentieth of alpha is for the limits of both means, half of the rest for this end.
    """
    goal = math.log(2 / (0.95 * alpha))
    groups, estimates = (first, second), (variances(first), variances(second))
    stakes = []
    for own in groups:
        # Both groups are gone through at the same pace.
        shares = [(number + 0.5) / len(own) for number in range(len(own))]
        spread = [
            sum(
                v[math.floor(share * len(g))] / len(g)
                for v, g in zip(estimates, groups, strict=True)
            )
            for share in shares
        ]
        stakes.append([math.sqrt(2 * goal / v) / len(own) for v in spread])
    part = alpha / 20 / 2 / 2
    ends = [(lower_limit(g, part), 1 - lower_limit(1 - g, part)) for g in groups]
    lowest = math.inf
    for mean in np.linspace(*ends[1], 300):
        left = goal - wealth(1 - second, stakes[1], 1 - mean)

        def excess(other: float, left: float = left) -> float:
            return wealth(first, stakes[0], other) - left

        if excess(ends[0][1]) < 0:
            smallest = ends[0][0]
            if excess(smallest) > 0:
                smallest = float(optimize.brentq(excess, *ends[0]))
            lowest = min(lowest, smallest - mean)
    return lowest


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("law", ["beta", "uneven", "fractions"])
def test_the_ends_are_those_of_the_game_played_value_by_value(law: str, confidence: float) -> None:
    draw = rng(7)
    costs = {
        "beta": (draw.beta(2, 6, 60), draw.beta(3, 3, 40)),
        "uneven": (draw.beta(0.5, 2, 90), draw.random(15)),
        "fractions": (draw.integers(0, 6, 30) / 5, draw.integers(0, 3, 50) / 5),
    }[law]
    result = betting(*costs, seed=1, bound=1.0, confidence=confidence)
    order = rng(1)
    first, second = (order.permutation(group) for group in costs)
    low = lowest_difference(first, second, 1 - confidence)
    high = -lowest_difference(second, first, 1 - confidence)
    # The grid of means makes an end a little wider, never narrower.
    assert low - 0.0015 < result.low <= low + 1e-9
    assert high - 1e-9 <= result.high < high + 0.0015


@pytest.mark.parametrize("rate", [0.5, 0.1])
def test_the_game_is_fair(rate: float) -> None:
    """At the true mean the capital is 1 on average, over all sequences of 0/1 costs."""
    expected = 0.0
    for costs in itertools.product((0.0, 1.0), repeat=8):
        values = np.array(costs)
        chance = math.prod(rate if cost else 1 - rate for cost in costs)
        bets = np.sqrt(2 * 3.7 / (8 * running_variance(values)[:-1]))
        expected += chance * math.exp(log_capital(values, bets, np.array([rate]))[0])
    assert expected == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.01])
@pytest.mark.parametrize("law", [(2, 40), (3, 3), (40, 2)])
def test_each_limit_is_where_the_capital_reaches_its_bound(
    alpha: float, law: tuple[int, int]
) -> None:
    values = rng().beta(*law, 150)
    low, high = limits(values, alpha)
    assert low == pytest.approx(lower_limit(values, alpha / 2), rel=1e-6)
    assert 1 - high == pytest.approx(lower_limit(1 - values, alpha / 2), rel=1e-6)


def test_the_seed_decides_and_little_depends_on_it_or_the_order_of_rows() -> None:
    draw = rng(1)
    first, second = draw.beta(2, 6, 160), draw.beta(2, 6, 240)
    widths = [betting(first, second, seed).width for seed in range(5)]
    assert len(set(widths)) == 5
    assert max(widths) < 1.15 * min(widths) < 0.1
    assert betting(np.sort(first), np.sort(second)).width == pytest.approx(widths[0], rel=0.15)


@pytest.mark.parametrize("costs", [[0.0], [1.0], [0.3, 0.3], [0.0, 1.0]])
def test_very_small_groups(costs: list[float]) -> None:
    result = betting(np.array(costs), np.array([0.5, 0.5]))
    assert -1 <= result.low <= np.mean(costs) - 0.5 <= result.high <= 1


def test_many_rows_are_averaged_in_random_blocks() -> None:
    draw = rng(4)
    first, second = draw.beta(2, 6, 30_000), draw.beta(2, 6, 12_000)
    blocks = shuffled(first, rng())
    # Three values each.
    np.testing.assert_allclose(blocks, rng().permutation(first).reshape(-1, 3).mean(axis=1))
    assert sorted(shuffled(second[:10_000], rng())) == sorted(second[:10_000])
    normal = 2 * 1.96 * math.sqrt(first.var() / 30_000 + second.var() / 12_000)
    assert normal < betting(first, second).width < 1.45 * normal
