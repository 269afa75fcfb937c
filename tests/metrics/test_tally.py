"""Sums of attributes and tasks, against a sum over rows; weights and their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.association import checked_weight, tally


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kinds", [(int, int), (float, int), (int, float), (bool, np.uint8)])
def test_the_sums_are_those_of_the_rows(kinds: tuple[type, type], weighted: bool) -> None:
    # More rows than are summed at a time; tenths need double precision to 1e-14.
    draw = np.random.default_rng(0)
    n = 10_000
    group, task = (
        draw.integers(0, 11, (n, k)) / 10 if kind is float else draw.integers(0, 2, (n, k))
        for kind, k in zip(kinds, (2, 3), strict=True)
    )
    weight = draw.random(n) if weighted else None
    each = np.ones(n) if weight is None else weight
    sums = tally(group.astype(kinds[0]), task.astype(kinds[1]), weight)
    for a, t in np.ndindex(2, 3):
        assert sums.joint[a, t] == pytest.approx(math.fsum(each * group[:, a] * task[:, t]), 1e-13)
        assert sums.attribute[a] == pytest.approx(math.fsum(each * group[:, a]), rel=1e-13)
        assert sums.task[t] == pytest.approx(math.fsum(each * task[:, t]), rel=1e-13)
    assert sums.total == pytest.approx(math.fsum(each), rel=1e-13)


def test_counts_beyond_single_precision_are_exact() -> None:
    # 2**24 + 1 is the first whole number that float32 cannot hold.
    rows = 2**24 + 1
    ones = np.broadcast_to(np.ones((1, 1), dtype=np.uint8), (rows, 1))
    assert tally(ones, ones).joint[0, 0] == rows


def test_both_have_the_same_rows() -> None:
    with pytest.raises(InputError, match="the attributes have 3 rows and the tasks have 2"):
        tally(np.ones((3, 1)), np.ones((2, 1)))


def test_weights_may_be_zero_or_small() -> None:
    assert checked_weight(None, 3) is None
    np.testing.assert_array_equal(checked_weight([0, 0.25], 2), [0, 0.25])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, np.inf], "must be finite, not negative and not all zero"),
        ([-1e-9, 1], "must be finite, not negative and not all zero"),
        ([0, 0], "must be finite, not negative and not all zero"),
        ([1], r"must have shape \(2,\), found \(1,\)"),
        (["many", "few"], "must be one number per row"),
    ],
)
def test_any_other_weight_is_an_error_with_its_name(weight: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"`train_weight` {message}"):
        checked_weight(weight, 2, "train_weight")
