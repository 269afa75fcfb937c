"""Unevenness without a lean: the value, the p-value by enumeration, its level, its interval."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from lmprobe.inference.unevenness import Unevenness, unevenness
from lmprobe.results import Verdict

EVEN = np.full((2, 2), 0.5)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_value_is_the_mean_size_of_the_mean_deviation() -> None:
    predicted = np.array([[[0.9, 0.4], [0.1, 0.6]], [[0.7, 0.8], [0.3, 0.2]]])
    found = unevenness(predicted, EVEN, families=("a", "b"), rng=rng())
    # |0.4 + 0.2| / 2 in the first task, |-0.1 + 0.3| / 2 in the second, for both groups.
    assert found.value == pytest.approx((0.3 + 0.1) / 2)


def test_the_p_value_is_the_share_of_arrangements_at_least_as_uneven() -> None:
    draw = np.random.default_rng(3)
    predicted = draw.dirichlet(np.ones(3), size=(2, 2)).transpose(0, 2, 1)
    base = np.full((3, 2), 1 / 3)
    found = unevenness(predicted, base, families=("a", "b"), rng=rng())
    sizes = []
    orders = list(permutations(range(3)))
    for chosen in product(orders, repeat=4):
        table = np.empty_like(predicted)
        for (k, t), order in zip(product(range(2), range(2)), chosen, strict=True):
            table[k, :, t] = predicted[k, list(order), t]
        sizes.append(np.abs((table - base).mean(axis=0)).mean())
    share = np.mean(np.array(sizes) >= found.value - 1e-12)
    assert found.p_value == pytest.approx(share, abs=0.04)


def test_a_group_that_is_always_preferred_is_uneven() -> None:
    predicted = np.tile(np.array([[0.8, 0.7], [0.2, 0.3]]), (12, 1, 1))
    found = unevenness(predicted, EVEN, families=[str(k) for k in range(12)], rng=rng())
    assert found.verdict is Verdict.UNEVEN
    assert found.p_value < 0.01
    # Every template says the same, so the interval is that value.
    assert found.interval.low == pytest.approx(0.25)
    assert found.interval.high == pytest.approx(0.25)
    assert Unevenness.from_dict(found.to_dict()) == found


def test_templates_of_one_family_give_no_interval() -> None:
    found = unevenness(np.full((3, 2, 2), 0.5), EVEN, families=("a",) * 3, rng=rng())
    assert found.interval.status == "too_few_units"
    assert found.verdict is Verdict.UNDECIDED


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
        found = unevenness(
            1 / 3 + away + noise, np.full((3, 8), 1 / 3), families=list("abcdefghijkl"), rng=draw
        )
        rejected += found.p_value < 0.05
        covered += np.abs(away).mean() in found.interval
    assert covered >= 0.93 * rounds
    # 150 tests at 0.05: more than 15 has a chance below one in a hundred.
    assert rejected <= 15 if effect == 0 else rejected > 100
