"""`betting`: a fair game by enumeration, coverage by simulation, and how narrow it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from lmprobe.intervals import capital
from lmprobe.intervals.method import Sample, interval
from lmprobe.intervals.methods import betting
from lmprobe.intervals.two_groups import groups_sample
from lmprobe.results.interval import Interval


def sample_of(first: np.ndarray, second: np.ndarray, bound: float = 1.0) -> Sample:
    share = min(len(first), len(second)) / (len(first) + len(second))
    return groups_sample(first, second, cost_bound=bound, group_share=share)


def interval_of(first: np.ndarray, second: np.ndarray, seed: int = 0, **more: float) -> Interval:
    bound = more.pop("bound", 1.0)
    sample = sample_of(first, second, bound)
    return interval(sample, method="betting", rng=np.random.default_rng(seed), **more)


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.1, 0.7), (0.95, 0.3)])
def test_the_game_is_fair(rates: tuple[float, float]) -> None:
    """At the true means the capital is 1 on average, over all 512 sequences of 0/1 costs."""
    expected = 0.0
    for costs in itertools.product((0.0, 1.0), repeat=9):
        first, second = np.array(costs[:4]), np.array(costs[4:])
        chance = math.prod(
            rate if cost else 1 - rate
            for rate, group in zip(rates, (first, second), strict=True)
            for cost in group
        )
        bets = betting._bets(first, second, goal=3.7)
        logs = capital.log_capital(first, bets[0], np.array([rates[0]]))
        logs += capital.log_capital(1 - second, bets[1], np.array([1 - rates[1]]))
        expected += chance * math.exp(float(logs[0]))
    assert expected == pytest.approx(1, abs=1e-12)


def test_a_bet_knows_only_the_past() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(20), rng.random(30)
    before = betting._bets(first, second, 3.0)
    changed = np.concatenate([first[:10], rng.random(10)])
    after = betting._bets(changed, second, 3.0)
    assert np.array_equal(before[0][:11], after[0][:11])
    # Of the second group, what comes before or together with the first group's eleventh.
    assert np.array_equal(before[1][:15], after[1][:15])
    assert not np.array_equal(before[1][16:], after[1][16:])


POPULATIONS: list[tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = [
    (lambda rng, n: rng.beta(2, 6, n), 0.25),
    (lambda rng, n: (rng.random(n) < 0.03).astype(float), 0.03),
    (lambda rng, n: rng.binomial(5, rng.beta(0.2, 0.8, n)) / 5, 0.2),
    (lambda rng, n: 1 - 0.5 * (rng.random(n) < 0.1), 0.95),
]


@pytest.mark.parametrize("number", range(len(POPULATIONS)))
def test_coverage(number: int) -> None:
    rng = np.random.default_rng(number)
    draw, mean = POPULATIONS[number]
    other, other_mean = POPULATIONS[(number + 1) % len(POPULATIONS)]
    covered = sum(
        mean - other_mean in interval_of(draw(rng, 25), other(rng, 60), seed, confidence=0.8)
        for seed in range(200)
    )
    assert stats.binomtest(covered, 200, 0.8, alternative="less").pvalue > 1e-4


def test_narrower_than_every_other_guarantee() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.beta(2, 6, 160), rng.beta(2, 6, 240)
    width = interval_of(first, second).width
    assert width < 0.09
    for method, at_least in (("stratified", 0.27), ("bernstein", 0.16)):
        other = interval(sample_of(first, second), method=method, rng=rng).width
        assert other > at_least
        assert width < other


def test_the_seed_decides_and_little_depends_on_it() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.beta(2, 6, 160), rng.beta(2, 6, 240)
    assert interval_of(first, second, 3) == interval_of(first, second, 3)
    widths = [interval_of(first, second, seed).width for seed in range(5)]
    assert len(set(widths)) == 5
    assert max(widths) < 1.15 * min(widths)


def test_sorted_rows_do_no_harm() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.beta(2, 6, 200), rng.beta(2, 6, 200)
    width = interval_of(np.sort(first), np.sort(second)).width
    assert width == pytest.approx(interval_of(first, second).width, rel=0.15)


def test_turned_over_and_scaled() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.beta(2, 6, 40), rng.beta(2, 3, 30)
    found = interval_of(first, second)
    turned = interval_of(1 - first, 1 - second)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    scaled = interval_of(4 * first, 4 * second, bound=4.0)
    assert (scaled.low, scaled.high) == pytest.approx((4 * found.low, 4 * found.high))


@pytest.mark.parametrize("costs", [[0.0], [1.0], [0.3, 0.3], [0.0, 1.0]])
def test_very_small_groups(costs: list[float]) -> None:
    found = interval_of(np.array(costs), np.array([0.5, 0.5]))
    assert -1 <= found.low <= np.mean(costs) - 0.5 <= found.high <= 1


def test_many_rows_are_averaged_in_blocks() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.beta(2, 6, 30_000), rng.beta(2, 6, 12_000)
    assert len(capital.shuffled(first, rng)) == 10_000
    found = interval_of(first, second)
    normal = 2 * 1.96 * math.sqrt(first.var() / 30_000 + second.var() / 12_000)
    assert normal < found.width < 1.45 * normal


def test_at_a_limit_the_capital_has_grown_to_its_bound() -> None:
    """Written out bet by bet: at the lower limit the capital is just 1 / (alpha / 2)."""
    values = np.random.default_rng(4).beta(2, 5, 80)
    low, _ = capital.limits(values, 0.1)
    bound = 1 / 0.05
    wealth, squares, total = 1.0, 0.25, 0.5
    for number, value in enumerate(values, start=1):
        variance = squares / number
        stake = min(math.sqrt(2 * math.log(bound) / (len(values) * variance)), 0.9 / low)
        wealth *= 1 + stake * (value - low)
        total += value
        squares += (value - total / (number + 1)) ** 2
    assert wealth == pytest.approx(bound, rel=1e-6)
