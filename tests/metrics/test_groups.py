"""Group rates against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.disparity import group_rates


def test_rates_agree_with_counting() -> None:
    rng = np.random.default_rng(0)
    group, truth, guess = rng.integers(0, 2, (3, 200))
    weight = rng.integers(1, 4, 200)
    rates = group_rates(group, truth, guess, sample_weight=weight)
    for number in range(2):

        def share(wanted: np.ndarray, among: np.ndarray, number: int = number) -> float:
            own = (group == number) & among
            return float(weight[own & wanted].sum() / weight[own].sum())

        everybody = np.ones(200, dtype=bool)
        assert rates.true_positive[number, 0] == pytest.approx(share(guess == 1, truth == 1))
        assert rates.false_positive[number, 0] == pytest.approx(share(guess == 1, truth == 0))
        assert rates.accuracy[number, 0] == pytest.approx(share(guess == truth, everybody))
    subgroups = [
        np.average(guess[own] == truth[own], weights=weight[own])
        for own in ((group == a) & (truth == t) for a in range(2) for t in range(2))
    ]
    assert rates.subgroup_accuracy[0] == pytest.approx(np.mean(subgroups))
    difference = rates.difference("accuracy", "1", "0")
    assert difference == pytest.approx(rates.accuracy[1] - rates.accuracy[0])


def test_a_rate_of_nobody_is_undefined_whatever_the_weights() -> None:
    draw = np.random.default_rng(0)
    groups, weight = draw.integers(0, 3, 20_000), draw.random(20_000)
    rates = group_rates(groups, np.ones(20_000), draw.integers(0, 2, 20_000), sample_weight=weight)
    assert np.isnan(rates.false_positive).all()
    assert np.isnan(rates.subgroup_accuracy).all()


def test_each_task_of_each_group_by_hand() -> None:
    """Three groups and two tasks, so that no axis stands for another."""
    group = ["a", "a", "b", "b", "c", "c", "c", "c"]
    truth = [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    guess = [[1, 1], [1, 0], [0, 1], [0, 0], [1, 0], [0, 0], [0, 1], [1, 0]]
    rates = group_rates(group, truth, guess)
    assert rates.attributes == ("a", "b", "c")
    assert rates.true_positive.tolist() == [[1, 0], [0, 1], [1 / 2, 1 / 2]]
    assert rates.false_positive.tolist() == [[1, 1], [0, 0], [1 / 2, 0]]
    assert rates.accuracy.tolist() == [[1 / 2, 0], [1 / 2, 1], [1 / 2, 3 / 4]]
    # The mean over three groups of (true positive rate + true negative rate) / 2.
    expected = [(1 / 2 + 1 / 2 + 1 / 2) / 3, (0 + 1 + 3 / 4) / 3]
    assert rates.subgroup_accuracy == pytest.approx(expected)
    assert rates.difference("true_positive", "a", "c").tolist() == [1 / 2, -1 / 2]
    assert rates.difference("false_positive", "c", "a").tolist() == [-1 / 2, -1]
    for pair in (("a", "dd"), ("dd", "a")):
        with pytest.raises(InputError, match='no group called "dd"'):
            rates.difference("accuracy", *pair)


def test_probabilities_count_in_part() -> None:
    rates = group_rates(["a", "a"], [1, 0], [0.75, 0.25])
    assert rates.true_positive.tolist() == [[0.75]]
    assert rates.false_positive.tolist() == [[0.25]]
    assert rates.accuracy.tolist() == [[0.75]]
