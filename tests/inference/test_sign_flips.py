"""Sign flips: all of them up to twelve pairs, 9,999 at random beyond."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.inference.permutation import sign_flip_p_value


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def share_of_flips(values: np.ndarray) -> float:
    """The share of all sign flips whose mean is at least as far from zero."""
    signs = np.array(list(itertools.product((1, -1), repeat=len(values))))
    return float(np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-9))


def test_twelve_pairs_are_flipped_in_every_way() -> None:
    assert sign_flip_p_value(np.ones(12), rng()) == 2 / 2**12
    values = rng(1).normal(0.2, 1, 12)
    assert sign_flip_p_value(values, rng()) == pytest.approx(share_of_flips(values), abs=1e-12)


def test_thirteen_pairs_are_flipped_at_random() -> None:
    values = rng(2).normal(0.25, 1, 13)
    exact = share_of_flips(values)
    assert 0.05 < exact < 0.6
    found = [float(sign_flip_p_value(values, rng(seed))) for seed in range(2)]
    # Four standard errors of a share of 9,999 flips.
    assert found == pytest.approx([exact] * 2, abs=0.02)
    assert found[0] != found[1]
    # What was observed is one of 10,000.
    assert 10_000 * found[0] == pytest.approx(round(10_000 * found[0]), abs=1e-9)


def test_what_is_observed_counts_among_the_random_flips() -> None:
    # None of 9,999 random flips of forty signs has all signs alike.
    assert sign_flip_p_value(np.ones(40), rng()) == 1 / 10_000


def test_differences_that_cancel_show_nothing() -> None:
    assert sign_flip_p_value(np.array([1.0, -1.0]), rng()) == 1
    assert sign_flip_p_value(np.zeros(3), rng()) == 1


def test_a_mean_a_little_nearer_to_zero_is_not_as_extreme() -> None:
    # Flipping the smaller pair makes 0.96 of 1.04: more than nine tenths of it.
    assert sign_flip_p_value(np.array([1.0, 0.04]), rng()) == 0.5


def test_one_that_differs_by_rounding_alone_is() -> None:
    # 0.1 + 0.2 + 0.3 depends on the order of summation in the last digit.
    values = np.array([0.1, 0.2, 0.3])
    assert sign_flip_p_value(values, rng()) == 2 / 8
    assert sign_flip_p_value(values[::-1], rng()) == 2 / 8


def test_each_statistic_has_its_own_p_value() -> None:
    values = rng(3).normal(0.3, 1, size=(6, 2, 3))
    found = sign_flip_p_value(values, rng())
    assert found.shape == (2, 3)
    for one, other in itertools.product(range(2), range(3)):
        assert found[one, other] == pytest.approx(share_of_flips(values[:, one, other]))


def test_at_least_one_pair() -> None:
    assert sign_flip_p_value(np.array([0.3]), rng()) == 1
    with pytest.raises(InputError, match="at least one pair"):
        sign_flip_p_value(np.empty((0, 2)), rng())
