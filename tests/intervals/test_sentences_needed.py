"""How many sentences a base needs to show most of an amplification."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.intervals.base_uncertainty import reliability, sentences_needed

GIVEN_TASK = Direction.TASK_TO_ATTRIBUTE


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_reliability_grows_with_the_sentences_and_says_how_many_are_enough() -> None:
    draw = rng(3)
    rate = draw.beta(2, 2, 20)
    counts = draw.multinomial(200, (np.stack([rate, 1 - rate]) / 20).ravel()).reshape(2, 20)
    counts = counts[:, counts.sum(axis=0) > 0].astype(float)
    found = [reliability(counts, GIVEN_TASK, rng=rng(), factor=factor) for factor in (1, 10, 100)]
    shares = [share.proportional for share in found]
    assert shares[0] < 0.85 < shares[1] < shares[2] <= 1
    assert all(share.even < share.proportional for share in found)
    needed = sentences_needed(counts, GIVEN_TASK)
    assert needed is not None
    # Two digits, and the smallest of eight steps of each doubling that is enough.
    assert needed % 10 ** (len(str(needed)) - 2) == 0

    def shown(sentences: float) -> float:
        factor = sentences / counts.sum()
        return reliability(counts, GIVEN_TASK, rng=rng(), factor=factor).proportional

    assert shown(needed / 1.25) < 0.9 <= shown(needed * 1.02)
    # A base that shows enough needs no more than it has, rounded up.
    assert sentences_needed(counts * 100, GIVEN_TASK) == 100 * counts.sum()
    assert sentences_needed(np.array([[300.0, 4], [3, 700]]), GIVEN_TASK) == 1100


def test_where_no_link_is_seen_no_number_of_sentences_is_enough() -> None:
    assert sentences_needed(np.full((1, 3), 100.0), GIVEN_TASK) is None
    with pytest.raises(InputError, match="whole numbers of sentences"):
        sentences_needed(np.array([[1.5, 2], [3, 4]]), GIVEN_TASK)
    for reliable in (0, 1, -0.5, 1.5, math.nan):
        with pytest.raises(InputError, match="`reliable`"):
            sentences_needed(np.ones((2, 3)), GIVEN_TASK, reliable=reliable)
