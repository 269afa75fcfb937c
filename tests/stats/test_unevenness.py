"""Unevenness without a lean: the value, the p-value by enumeration, its level, its interval."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from lmprobe.results import Interval, Verdict
from lmprobe.results.codec import from_json, to_json
from lmprobe.stats.resampling import draws
from lmprobe.stats.verdicts import Unevenness, unevenness

EVEN = np.full((2, 2), 0.5)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def made(families: str, attributes: int = 3, tasks: int = 4) -> np.ndarray:
    """Return deviations (K, A, T) with templates of one family alike."""
    draw = rng()
    shared = {name: draw.normal(0, 0.2, (attributes, tasks)) for name in sorted(set(families))}
    noise = draw.normal(0, 0.1, (len(families), attributes, tasks))
    return np.array([shared[name] for name in families]) + noise


def measured(deviation: np.ndarray, families: str, **more: Any) -> Unevenness:
    base = np.full(deviation.shape[1:], 0.25)
    return unevenness(deviation + base, base, families=list(families), rng=rng(), **more)


def test_the_value_is_the_mean_size_of_the_mean_deviation() -> None:
    predicted = np.array([[[0.9, 0.4], [0.1, 0.6]], [[0.7, 0.8], [0.3, 0.2]]])
    result = unevenness(predicted, EVEN, families=("a", "b"), rng=rng())
    # |0.4 + 0.2| / 2 in the first task, |-0.1 + 0.3| / 2 in the second, for both groups.
    assert result.value == pytest.approx((0.3 + 0.1) / 2)


def test_the_p_value_is_the_share_of_arrangements_at_least_as_uneven() -> None:
    predicted = np.random.default_rng(3).dirichlet(np.ones(3), size=(2, 2)).transpose(0, 2, 1)
    base = np.full((3, 2), 1 / 3)
    result = unevenness(predicted, base, families=("a", "b"), rng=rng())
    sizes = []
    for permutation in product(list(permutations(range(3))), repeat=4):
        table = np.empty_like(predicted)
        for (k, t), order in zip(product(range(2), range(2)), permutation, strict=True):
            table[k, :, t] = predicted[k, list(order), t]
        sizes.append(np.abs((table - base).mean(axis=0)).mean())
    share = np.mean(np.array(sizes) >= result.value - 1e-12)
    assert result.p_value == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize(
    ("predicted", "families", "p_value"),
    [
        # What no permutation reaches is one of two thousand.
        (np.tile([[0.8, 0.7], [0.2, 0.3]], (15, 1, 1)), "abcdefghijklmno", 1 / 2000),
        # A single template has the same deviations in any order, but for rounding.
        (np.random.default_rng(2).random((1, 2, 2)), "a", 1),
        (np.full((2, 2, 2), 0.5), "ab", 1),
    ],
)
def test_extreme_p_values(predicted: np.ndarray, families: str, p_value: float) -> None:
    result = unevenness(predicted, EVEN, families=list(families), rng=rng())
    assert result.p_value == p_value


def test_a_permutation_that_is_a_little_less_uneven_does_not_count() -> None:
    # Of two groups, each template may be turned: 0.26 or 0.24, equally often.
    predicted = 0.5 + np.array([[[0.5], [-0.5]], [[0.02], [-0.02]]])
    result = unevenness(predicted, np.full((2, 1), 0.5), families=list("ab"), rng=rng())
    assert result.value == pytest.approx(0.26)
    # Four standard errors of a share of 1,999.
    assert result.p_value == pytest.approx(0.5, abs=0.045)


@pytest.mark.parametrize(("families", "confidence"), [("aab", 0.9), ("abccdefg", 0.5)])
def test_the_interval_is_the_value_and_the_quantile_of_its_errors(
    families: str, confidence: float
) -> None:
    deviation = made(families)
    names = sorted(set(families))
    members = [[k for k, family in enumerate(families) if family == name] for name in names]
    mean = deviation.mean(axis=0)
    errors = []
    # As many families drawn anew; their variance is a factor (n - 1) / n too small.
    for often in draws(2000, len(names), rng()):
        drawn = [k for unit, times in enumerate(often) for k in members[unit] * int(times)]
        errors.append(np.abs(deviation[drawn].mean(axis=0) - mean).mean())
    half = float(np.quantile(errors, confidence)) * (len(names) / (len(names) - 1)) ** 0.5
    value = np.abs(mean).mean()
    interval = measured(deviation, families, confidence=confidence).interval
    assert (interval.low, interval.high) == pytest.approx((max(0, value - half), value + half))
    assert interval.confidence == confidence


def test_the_interval_ends_at_zero_and_leaves_out_undefined_pairs() -> None:
    deviation = made("abcdef") - made("abcdef").mean(axis=0)
    interval = measured(deviation, "abcdef").interval
    assert (interval.confidence, interval.low) == (0.95, pytest.approx(0, abs=1e-12))
    assert interval.high > 0.01
    deviation = made("aabcd")
    deviation[:, 1, 2] = np.nan
    result = measured(deviation, "aabcd")
    assert result.value == pytest.approx(np.nanmean(np.abs(deviation.mean(axis=0))))
    assert result.interval.bounded


def test_templates_of_one_family_give_no_interval() -> None:
    result = unevenness(np.full((3, 2, 2), 0.5), EVEN, families=("a",) * 3, rng=rng())
    assert result.interval.status == "too_few_units"
    assert result.verdict is Verdict.UNDECIDED


def test_many_cells_are_drawn_in_blocks() -> None:
    predicted = np.full((4, 2, 1000), 0.5) + np.array([0.1, -0.1])[:, None]
    result = unevenness(predicted, np.full((2, 1000), 0.5), families=list("abcd"), rng=rng())
    assert result.p_value == 1 / 2000
    assert (result.interval.low, result.interval.high) == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize(
    ("p_value", "verdict"),
    [(0.2, Verdict.UNEVEN), (0.249, Verdict.UNEVEN), (0.25, Verdict.UNDECIDED)],
)
def test_chance_is_ruled_out_below_the_level(p_value: float, verdict: Verdict) -> None:
    result = Unevenness(0.1, Interval(0, 0.2, 0.75, "m"), p_value)
    assert result.verdict is verdict
    assert from_json(Unevenness, to_json(result)) == result


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.0, 0.05])
def test_level_and_coverage(effect: float) -> None:
    draw = np.random.default_rng(1)
    away = draw.normal(0, effect, (3, 8))
    away -= away.mean(axis=0)
    rejected = covered = 0
    rounds = 150
    for _ in range(rounds):
        noise = draw.normal(0, 0.1, (12, 3, 8))
        noise -= noise.mean(axis=1, keepdims=True)
        result = unevenness(
            1 / 3 + away + noise, np.full((3, 8), 1 / 3), families=list("abcdefghijkl"), rng=draw
        )
        rejected += result.p_value < 0.05
        covered += np.abs(away).mean() in result.interval
    assert covered >= 0.93 * rounds
    # 150 tests at 0.05: more than 15 has a chance below one in a hundred.
    assert rejected <= 15 if effect == 0 else rejected > 100
