"""Unevenness without a lean: the value, the p-value by enumeration, its level, its interval."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from lmprobe.inference import unevenness as module
from lmprobe.inference.unevenness import Unevenness, unevenness
from lmprobe.intervals.weights import draws
from lmprobe.results import Interval, Verdict

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


def made(families: str, seed: int = 0, attributes: int = 3, tasks: int = 4) -> np.ndarray:
    """Return deviations (K, A, T) with templates of one family alike."""
    draw = np.random.default_rng(seed)
    shared = {name: draw.normal(0, 0.2, (attributes, tasks)) for name in sorted(set(families))}
    noise = draw.normal(0, 0.1, (len(families), attributes, tasks))
    return np.array([shared[name] for name in families]) + noise


def errors_by_loop(deviation: np.ndarray, families: str, draw: np.random.Generator) -> list[float]:
    """The mean size of the errors of each of 2,000 resamples of whole families."""
    names = sorted(set(families))
    members = [[k for k, one in enumerate(families) if one == name] for name in names]
    mean = deviation.mean(axis=0)
    found = []
    for often in draws(2000, len(names), draw):
        chosen = [k for one, times in enumerate(often) for k in members[one] * int(times)]
        found.append(np.abs(deviation[chosen].mean(axis=0) - mean).mean())
    return [error * (len(names) / (len(names) - 1)) ** 0.5 for error in found]


@pytest.mark.parametrize(("families", "confidence"), [("aab", 0.9), ("abccdefg", 0.5)])
def test_the_interval_is_the_value_and_the_quantile_of_its_errors(
    families: str, confidence: float
) -> None:
    deviation = made(families)
    errors = errors_by_loop(deviation, families, rng())
    assert module._errors(deviation, list(families), rng()) == pytest.approx(errors)
    half = float(np.quantile(errors, confidence))
    value = np.abs(deviation.mean(axis=0)).mean()
    found = unevenness(
        deviation + 0.25,
        np.full((3, 4), 0.25),
        families=list(families),
        confidence=confidence,
        rng=rng(),
    )
    assert found.interval.low == pytest.approx(max(0, value - half))
    assert found.interval.high == pytest.approx(value + half)
    assert found.interval.confidence == confidence


def test_the_interval_is_at_95_percent_and_not_below_zero_if_not_told_otherwise() -> None:
    deviation = made("abcdef") - made("abcdef").mean(axis=0)
    found = unevenness(deviation, np.zeros((3, 4)), families=list("abcdef"), rng=rng())
    assert found.interval.confidence == 0.95
    assert found.interval.low == 0.0
    assert found.interval.high > 0.01


def test_pairs_that_are_undefined_are_in_no_mean() -> None:
    deviation = made("aabcd")
    deviation[:, 1, 2] = np.nan
    found = unevenness(deviation, np.zeros((3, 4)), families=list("aabcd"), rng=rng())
    assert found.value == pytest.approx(np.nanmean(np.abs(deviation.mean(axis=0))))
    assert found.interval.bounded


@pytest.mark.parametrize("block", [12 * 70, 12 * 300])
def test_blocks_of_resamples_change_nothing(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    deviation, base = made("aabcd"), np.zeros((3, 4))
    whole = unevenness(deviation, base, families=list("aabcd"), rng=rng())
    monkeypatch.setattr(module, "_BLOCK", block)
    assert unevenness(deviation, base, families=list("aabcd"), rng=rng()) == whole


class Still:
    """A generator that permutes nothing, and counts how often it is asked to."""

    def __init__(self) -> None:
        self.rows = 0

    def permuted(self, block: np.ndarray, axis: int) -> np.ndarray:
        self.rows += len(block)
        return np.zeros((len(block), 1, 1, 1))


@pytest.mark.parametrize(
    ("cells", "permutations"),
    # 400 million cells at most are permuted, as long as they are 199 permutations.
    [(4, 1999), (200_000, 1999), (400_000, 1000), (1_000_000, 400), (2_010_000, 199)],
)
def test_a_large_set_is_permuted_less_often(cells: int, permutations: int) -> None:
    deviation = np.broadcast_to(0.0, (1, 1, cells))
    still = Still()
    assert module._p_value(deviation, 0.1, still) == 1 / (1 + permutations)  # type: ignore[arg-type]
    assert still.rows == permutations


def test_what_no_permutation_reaches_is_one_of_two_thousand() -> None:
    predicted = np.tile(np.array([[0.8, 0.7], [0.2, 0.3]]), (15, 1, 1))
    found = unevenness(predicted, EVEN, families=list("abcdefghijklmno"), rng=rng())
    assert found.p_value == 1 / 2000


def test_what_every_permutation_reaches_is_certain() -> None:
    # A single template has the same deviations in any order, but for rounding.
    draw = np.random.default_rng(2)
    found = unevenness(draw.random((1, 3, 7)), np.full((3, 7), 0.3), families=list("a"), rng=rng())
    assert found.p_value == 1
    assert unevenness(np.full((2, 2, 2), 0.5), EVEN, families=list("ab"), rng=rng()).p_value == 1


def test_a_permutation_that_is_a_little_less_uneven_does_not_count() -> None:
    # Of two groups, each template may be turned: 0.26 or 0.24, equally often.
    predicted = 0.5 + np.array([[[0.5], [-0.5]], [[0.02], [-0.02]]])
    found = unevenness(predicted, np.full((2, 1), 0.5), families=list("ab"), rng=rng())
    assert found.value == pytest.approx(0.26)
    # Four standard errors of a share of 1,999.
    assert found.p_value == pytest.approx(0.5, abs=0.045)


@pytest.mark.parametrize(
    ("p_value", "verdict"),
    [(0.2, Verdict.UNEVEN), (0.249, Verdict.UNEVEN), (0.25, Verdict.UNDECIDED)],
)
def test_chance_is_ruled_out_below_the_level(p_value: float, verdict: Verdict) -> None:
    assert Unevenness(0.1, Interval(0, 0.2, 0.75, "m"), p_value).verdict is verdict
