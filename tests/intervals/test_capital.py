"""Capital and bets written out one value after the other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from lmprobe.core.tally import Floats
from lmprobe.intervals import capital
from lmprobe.intervals.method import interval
from lmprobe.intervals.methods import betting
from lmprobe.intervals.two_groups import groups_sample

VALUES = np.array([0.2, 0.9, 0.0, 1.0, 0.4, 0.35])


def variances(values: Floats) -> list[float]:
    """Return the variance known before each value and after the last, in a loop."""
    total, squares, found = 0.5, 0.25, [0.25]
    for number, value in enumerate(values, start=1):
        total += value
        squares += (value - total / (number + 1)) ** 2
        found.append(squares / (number + 1))
    return found


def test_the_variance_starts_as_one_value_of_the_largest() -> None:
    assert capital.running_variance(VALUES) == pytest.approx(variances(VALUES), rel=1e-12)
    # By hand: the mean of 1/2 and 1 is 3/4, and (1/4 + 1/16) / 2.
    assert capital.running_variance(np.array([1.0])) == pytest.approx([0.25, 0.15625])


def test_the_capital_is_the_product_of_all_bets() -> None:
    bets = np.array([0.1, 0.5, 3.0, 0.2, 1.5, 40.0])
    means = np.array([0.0, 1e-12, 0.01, 0.09, 0.3, 0.8, 1.0])
    found = capital.log_capital(VALUES, bets, means)
    for mean, log in zip(means, found, strict=True):
        wealth = 1.0
        for value, bet in zip(VALUES, bets, strict=True):
            # At most nine tenths of the capital are lost.
            stake = bet if mean == 0 else min(bet, 0.9 / mean)
            wealth *= 1 + stake * (value - mean)
        assert log == pytest.approx(math.log(wealth), rel=1e-10)
    # A value of zero at a stake of 0.9 / mean leaves a tenth.
    lost = capital.log_capital(np.array([0.0]), np.array([9.0]), np.array([0.5]))
    assert lost[0] == pytest.approx(math.log(0.1))


@pytest.mark.parametrize("block", [1, 6, 12, 13, 2_000_000])
def test_blocks_of_means_change_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    means = np.linspace(0, 1, 5)
    bets = np.full(6, 0.7)
    expected = [capital.log_capital(VALUES, bets, means[[i]])[0] for i in range(5)]
    monkeypatch.setattr(capital, "_BLOCK", block)
    assert capital.log_capital(VALUES, bets, means) == pytest.approx(expected, rel=1e-14)


def test_as_many_values_as_are_bet_on_are_only_put_in_random_order() -> None:
    values = np.arange(10_000.0)
    found = capital.shuffled(values, np.random.default_rng(0))
    assert not np.array_equal(found, values)
    np.testing.assert_array_equal(np.sort(found), values)


@pytest.mark.parametrize("n", [10_001, 25_000])
def test_more_values_become_the_means_of_blocks(n: int) -> None:
    values = np.random.default_rng(1).random(n)
    found = capital.shuffled(values, np.random.default_rng(0))
    order = np.random.default_rng(0).permutation(values)
    assert len(found) == 10_000
    edges = [int(n * number / 10_000) for number in range(10_001)]
    for number in (0, 1, 4999, 5000, 9998, 9999):
        mean = order[edges[number] : edges[number + 1]].mean()
        assert found[number] == pytest.approx(mean, rel=1e-12)
    sizes = np.diff(edges)
    assert set(sizes.tolist()) == ({1, 2} if n == 10_001 else {2, 3})
    assert (found * sizes).sum() == pytest.approx(values.sum())


def wealth_at(values: Floats, mean: float, alpha: float) -> float:
    """Return what a gambler has who aims at 1 / alpha and bets on values above the mean."""
    wealth, n = 1.0, len(values)
    for value, variance in zip(values, variances(values), strict=False):
        stake = math.sqrt(2 * math.log(1 / alpha) / (n * variance))
        wealth *= 1 + min(stake, 0.9 / mean) * (value - mean)
    return wealth


@pytest.mark.parametrize("alpha", [0.1, 0.01])
@pytest.mark.parametrize("kind", ["low", "middle", "high"])
def test_each_limit_is_where_the_capital_reaches_its_bound(alpha: float, kind: str) -> None:
    draws = {"low": (2, 40), "middle": (3, 3), "high": (40, 2)}
    values = np.random.default_rng(0).beta(*draws[kind], 150)
    low, high = capital.limits(values, alpha)
    assert 0 < low < values.mean() < high < 1
    assert wealth_at(values, low, alpha / 2) == pytest.approx(2 / alpha, rel=1e-7)
    assert wealth_at(1 - values, 1 - high, alpha / 2) == pytest.approx(2 / alpha, rel=1e-7)
    if kind == "low":
        assert high < 0.1
    if kind == "high":
        assert low > 0.9


@pytest.mark.parametrize("sizes", [(7, 7), (4, 11), (11, 4)])
def test_bets_follow_the_variance_of_the_difference(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    groups = [rng.random(size) for size in sizes]
    known = [variances(group) for group in groups]
    found = betting._bets(groups[0], groups[1], 3.5)
    for own, bets in enumerate(found):
        for number, bet in enumerate(bets):
            # So much of each group is seen before the middle of this cost's turn.
            share = (number + 0.5) / sizes[own]
            variance = sum(
                know[math.floor(share * size)] / size
                for know, size in zip(known, sizes, strict=True)
            )
            assert bet == pytest.approx(math.sqrt(2 * 3.5 / variance) / sizes[own], rel=1e-12)


def bets_of(values: Floats, bets: Floats, limits: tuple[float, float]) -> betting._Bets:
    return betting._Bets(values, bets, limits)


def test_means_are_looked_at_in_2000_steps_from_limit_to_limit() -> None:
    grid = bets_of(VALUES, VALUES, (0.25, 0.75)).grid()
    np.testing.assert_allclose(grid, 0.25 + 0.5 * np.arange(2001) / 2000, rtol=1e-14)


@pytest.mark.parametrize("goal", [-100.0, 0.5, 1.5, 3.0, 50.0])
def test_the_lowest_difference_that_is_not_rejected(
    monkeypatch: pytest.MonkeyPatch, goal: float
) -> None:
    monkeypatch.setattr(betting, "_MEANS", 40)
    rng = np.random.default_rng(5)
    costs = rng.random(30), rng.random(20)
    bets = np.full(30, 1.1), np.full(20, 0.8)
    sides = bets_of(costs[0], bets[0], (0.1, 0.9)), bets_of(costs[1], bets[1], (0.2, 0.8))
    above, below = np.linspace(0.1, 0.9, 41), np.linspace(0.2, 0.8, 41)
    lowest = math.inf
    for lower, upper in itertools.pairwise(below):
        # Means of the second group in [lower, upper]; the capital is the least at the lower.
        falling = np.log1p(np.minimum(bets[1], 0.9 / (1 - lower)) * (lower - costs[1])).sum()
        rising = [np.log1p(np.minimum(bets[0], 0.9 / m) * (costs[0] - m)).sum() for m in above]
        kept = [number for number in range(41) if rising[number] + falling < goal]
        if kept:
            # The first mean that is kept is somewhere after the last that is rejected.
            lowest = min(lowest, above[max(kept[0] - 1, 0)] - upper)
    assert betting._lowest(*sides, goal) == pytest.approx(lowest, rel=1e-12)
    assert math.isinf(lowest) is (goal == -100)


def test_a_capital_that_just_reaches_the_goal_rejects() -> None:
    nothing = np.zeros(1)
    sides = bets_of(nothing, nothing, (0.0, 1.0)), bets_of(nothing, nothing, (0.0, 1.0))
    # Without bets the capital stays 1 everywhere: its log is the goal 0.
    assert betting._lowest(*sides, 0.0) == math.inf
    assert betting._lowest(*sides, 1e-12) == -1.0


def test_a_twentieth_of_the_chance_goes_to_the_limits_and_the_rest_to_the_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, list[float]] = {"limits": [], "goal": [], "lowest": []}
    lowest, limits, bets = betting._lowest, betting.limits, betting._bets

    def watched_limits(values: Floats, alpha: float) -> tuple[float, float]:
        seen["limits"].append(alpha)
        return limits(values, alpha)

    def watched_bets(first: Floats, second: Floats, goal: float) -> tuple[Floats, Floats]:
        seen["goal"].append(goal)
        return bets(first, second, goal)

    def watched_lowest(first: betting._Bets, second: betting._Bets, goal: float) -> float:
        seen["goal"].append(goal)
        seen["lowest"].append(lowest(first, second, goal))
        return seen["lowest"][-1]

    monkeypatch.setattr(betting, "limits", watched_limits)
    monkeypatch.setattr(betting, "_bets", watched_bets)
    monkeypatch.setattr(betting, "_lowest", watched_lowest)
    rng = np.random.default_rng(6)
    sample = groups_sample(4 * rng.random(40), 4 * rng.random(50), cost_bound=4, group_share=0.4)
    found = interval(sample, method="betting", confidence=0.8, rng=np.random.default_rng(0))
    # β = α/20 over both means; each end has half of what is left of α.
    assert seen["limits"] == pytest.approx([0.2 / 20 / 2] * 2)
    assert seen["goal"] == pytest.approx([math.log(2 / (0.2 * 0.95))] * 3)
    assert found.low == pytest.approx(4 * seen["lowest"][0])
    assert found.high == pytest.approx(-4 * seen["lowest"][1])
    assert found.low < sample.value < found.high


def test_the_estimate_belongs_to_the_interval_even_if_all_pairs_are_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(betting, "_lowest", lambda *_: math.inf)
    sample = groups_sample(np.array([0.5, 0.7]), np.array([0.2]), cost_bound=1, group_share=0.3)
    found = interval(sample, method="betting", rng=np.random.default_rng(0))
    assert (found.low, found.high) == (sample.value, sample.value)
    assert (found.method, found.confidence) == ("betting", 0.95)
