"""Tallies add up, whatever the chunks."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.core import tally as module
from lmprobe.core.tally import checked_weight, tally
from lmprobe.errors import InputError


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_make_no_difference(
    monkeypatch: pytest.MonkeyPatch, dtype: type, weighted: bool
) -> None:
    rng = np.random.default_rng(0)
    group, task = rng.integers(0, 2, (50, 2)).astype(dtype), rng.integers(0, 2, (50, 3))
    weight = rng.random(50) if weighted else None
    w = np.ones(50) if weight is None else weight
    monkeypatch.setattr(module, "_ROWS", 7)
    found = tally(group, task, weight)
    np.testing.assert_allclose(found.joint, (group * w[:, None]).T @ task)
    np.testing.assert_allclose(found.attribute, w @ group)
    np.testing.assert_allclose(found.task, w @ task)
    assert found.total == pytest.approx(w.sum())
    parts = [slice(None, 20), slice(20, None)]
    one, two = (tally(group[p], task[p], None if weight is None else w[p]) for p in parts)
    np.testing.assert_allclose((one + two).joint, found.joint)
    np.testing.assert_allclose((one + two).attribute, found.attribute)
    np.testing.assert_allclose((one + two).task, found.task)
    assert (one + two).total == pytest.approx(found.total)


def test_counts_beyond_single_precision_are_exact() -> None:
    # 2**24 + 1 is the first whole number that float32 cannot hold.
    rows = 2**24 + 1
    ones = np.broadcast_to(np.ones((1, 1), dtype=np.uint8), (rows, 1))
    assert tally(ones, ones).joint[0, 0] == rows


def test_weights_are_checked() -> None:
    assert checked_weight(None, 3) is None
    for bad in ([1, np.nan], [0, 0], [1, -1]):
        with pytest.raises(InputError, match="finite, not negative and not all zero"):
            checked_weight(bad, 2)
    with pytest.raises(InputError, match=r"`sample_weight` must have shape \(2,\), found \(1,\)"):
        checked_weight([1], 2)
    with pytest.raises(InputError, match="`sample_weight` must be one number per row"):
        checked_weight(["many", "few"], 2)
