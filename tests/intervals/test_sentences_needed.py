"""How many sentences are enough: the search over sizes of a base, and what is rounded."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.errors import InputError
from lmprobe.intervals import base_uncertainty
from lmprobe.intervals.base_uncertainty import _round_up, sentences_needed

COUNTS = np.array([[7.0, 2.0, 4.0], [1.0, 6.0, 5.0]])
GIVEN_TASK = Direction.TASK_TO_ATTRIBUTE


class TestSentencesNeeded:
    def searched(
        self, monkeypatch: pytest.MonkeyPatch, enough: float, total: float = 1000.0, **options: Any
    ) -> tuple[int | None, list[float]]:
        """What is found, and the factors tried, if `enough` times the sentences show 0.9."""
        tried = []

        def shown(*_: object, rng: Any, factor: float, **__: object) -> SimpleNamespace:
            assert rng.bit_generator.state == expected.bit_generator.state
            tried.append(factor)
            return SimpleNamespace(proportional=0.9 if factor >= enough else 0.8999)

        expected = np.random.default_rng(options.get("seed", 0))
        monkeypatch.setattr(base_uncertainty, "reliability", shown)
        counts = np.array([[total - 1, 0.0], [0.0, 1.0]])
        return sentences_needed(counts, GIVEN_TASK, **options), tried

    def test_a_base_that_is_large_enough_needs_no_more(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.searched(monkeypatch, 1.0) == (1000, [1.0])
        assert self.searched(monkeypatch, 0.1) == (1000, [1.0])
        assert self.searched(monkeypatch, 0.1, total=123)[0] == 130

    @pytest.mark.parametrize(
        ("enough", "expected"),
        # The factor doubles, and its last doubling is halved three times.
        [
            (1.01, 2 ** (1 / 8)),
            (1.1, 2 ** (2 / 8)),
            (2.0, 2.0),
            (3.0, 2 ** (13 / 8)),
            (4.0, 4.0),
            (4.1, 2 ** (17 / 8)),
        ],
    )
    def test_the_smallest_of_eight_steps_that_is_enough(
        self, enough: float, expected: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found, tried = self.searched(monkeypatch, enough, seed=5)
        assert found == _round_up(1000 * expected * (1 - 1e-12))
        doublings = [one for one in tried if one in (1, 2, 4, 8)]
        assert doublings == [1, 2, 4, 8][: len(doublings)]
        assert len(tried) == len(doublings) + 3

    def test_more_than_a_trillion_sentences_are_too_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found, tried = self.searched(monkeypatch, math.inf, total=1000)
        assert found is None
        # 2**40 is a little more than 1000 * 2**30.
        assert tried == [2.0**power for power in range(31)]
        found, tried = self.searched(monkeypatch, 2.0**30, total=1024)
        assert found is not None
        assert 2.0**30 in tried

    @pytest.mark.parametrize("reliable", [0, 1, -0.5, 1.5, math.nan])
    def test_reliable_is_a_share(self, reliable: float) -> None:
        with pytest.raises(InputError, match="`reliable`"):
            sentences_needed(COUNTS, GIVEN_TASK, reliable=reliable)

    def test_weights_are_no_counts(self) -> None:
        with pytest.raises(InputError, match="whole numbers"):
            sentences_needed(COUNTS + 0.5, GIVEN_TASK)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0.4, 1), (7, 7), (7.2, 8), (10, 10), (10.1, 11), (90.5, 91), (99.5, 100), (100, 100),
     (101, 110), (123.4, 130), (999, 1000), (1000, 1000), (12_345, 13_000), (1.01e6, 1_100_000)],
)  # fmt: skip
def test_two_digits_are_kept_rounded_up(number: float, expected: int) -> None:
    assert _round_up(number) == expected
