"""The numbers of rows that are tried for the exact interval, and the counts of each of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from scipy import stats

from lmprobe.inference import exact_planning
from lmprobe.inference.planning import claimable_effect, sample_size
from lmprobe.intervals.exact_test import ScoreTest

Tried = Callable[[float, Callable[[int], bool]], tuple[int, list[int]]]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    """Return the answer and the numbers that are tried, given what is enough.

    The first argument is what the normal law asks for.
    """

    def run(large_sample: float, enough: Callable[[int], bool]) -> tuple[int, list[int]]:
        seen: list[int] = []

        def excludes(n: int, *_: float) -> bool:
            assert n >= 2
            seen.append(n)
            return enough(n)

        monkeypatch.setattr(exact_planning, "_large_sample", lambda *_: large_sample)
        monkeypatch.setattr(exact_planning, "_excludes", excludes)
        return exact_planning.exact_sample_size(0.1, 0.5, 0.5, 0.95), seen

    return run


class TestSampleSize:
    @pytest.mark.parametrize("wanted", [2, 3, 4, 57, 999, 1000, 1001, 1101, 5000])
    def test_a_small_number_is_found_one_by_one(self, tried: Tried, wanted: int) -> None:
        assert tried(1000.5, lambda n: n >= wanted)[0] == wanted

    def test_the_search_begins_a_tenth_above_the_large_sample(self, tried: Tried) -> None:
        found, seen = tried(1000.5, lambda n: n >= 1050)
        assert found == 1050
        # 1.1 times 1000.5, rounded up; then each smaller number, until one is not enough.
        assert seen[:53] == list(range(1101, 1048, -1))
        assert set(seen[53:]) <= {1049}

    def test_it_goes_up_a_tenth_at_a_time_where_that_is_not_enough(self, tried: Tried) -> None:
        _, seen = tried(1000.5, lambda n: n >= 1300)
        assert seen[:3] == [1101, 1212, 1334]

    def test_a_number_that_is_not_enough_ends_the_search(self, tried: Tried) -> None:
        # 900 rows are enough as well, but 1049 are not.
        assert tried(1000.5, lambda n: n >= 900 and n != 1049)[0] == 1050

    @pytest.mark.parametrize(
        ("start", "step"),
        # A tenth of 108,000 in 200 steps is 54, between the odd 53 and 55.
        [(4001, 3), (107_999, 53), (108_001, 55), (112_001, 57)],
    )
    def test_a_tenth_is_gone_through_in_about_two_hundred_odd_steps(
        self, tried: Tried, start: int, step: int
    ) -> None:
        wanted = start - 10 * step - 1
        found, seen = tried((start - 0.5) / 1.1, lambda n: n >= wanted)
        assert found == wanted
        coarse = list(range(start, wanted - step, -step))
        assert seen[: len(coarse)] == coarse
        assert seen[len(coarse)] == coarse[-2] - 1

    def test_up_to_four_thousand_every_number_is_tried(self, tried: Tried) -> None:
        assert tried(3998.5 / 1.1, lambda n: n >= 3900)[1][:3] == [3999, 3998, 3997]

    def test_every_number_may_be_enough(self, tried: Tried) -> None:
        assert tried(1000.5, lambda n: True)[0] == 2
        assert tried(6000.5, lambda n: True)[0] == 2

    def test_two_rows_are_enough_where_little_is_asked_for(self) -> None:
        # One of one and none of one: at most an even chance of two different rows.
        assert sample_size(1.0, confidence=0.4, method="exact") == 2
        assert sample_size(1.0, confidence=0.6, method="exact") > 2


class TestClaimableEffect:
    @pytest.mark.parametrize("wanted", [0.02, 0.3, 0.5, 0.7, 0.999])
    def test_it_is_found_to_24_binary_digits(
        self, monkeypatch: pytest.MonkeyPatch, wanted: float
    ) -> None:
        def excludes(n: int, effect: float, *_: float) -> bool:
            assert 0 <= effect <= 1
            assert n == 60
            return effect >= wanted

        monkeypatch.setattr(exact_planning, "_excludes", excludes)
        found = exact_planning.exact_claimable_effect(60.9, 0.5, 0.5, 0.95)
        assert found == math.ceil(wanted * 2**24) / 2**24

    def test_none_where_the_largest_is_not_enough(self) -> None:
        # One row has no two groups; two rows never differ at 0.95.
        assert claimable_effect(1, method="exact") == math.inf
        assert claimable_effect(2, method="exact") == math.inf
        assert claimable_effect(2, confidence=0.4, method="exact") <= 1
        assert claimable_effect(1, confidence=0.4, method="exact") == math.inf


class TestCounts:
    @pytest.mark.parametrize(
        ("n", "effect", "share", "rate", "counts"),
        [
            # 40 and 60 rows at rates of 0.5 ± 0.1.
            (100, 0.2, 0.4, 0.5, (24, 40, 24, 60)),
            (1000, 0.2, 0.3, 0.2, (90, 300, 70, 700)),
            # A rate of 0.1 leaves no room for 0.3 around it: 0.3 and 0.
            (1000, 0.3, 0.3, 0.1, (90, 300, 0, 700)),
            (10, 1.0, 0.5, 0.5, (5, 5, 0, 5)),
            (11, 0.5, 0.4, 0.5, (3, 4, 2, 7)),
            # 28.6 and 71.4 rows are 29 and 71; 0.55 and 0.45 of them are 15.95 and 31.95.
            (100, 0.1, 0.286, 0.5, (16, 29, 32, 71)),
            (2, 1.0, 0.5, 0.5, (1, 1, 0, 1)),
        ],
    )
    def test_the_rates_lie_half_of_the_effect_around_the_middle(
        self,
        monkeypatch: pytest.MonkeyPatch,
        n: int,
        effect: float,
        share: float,
        rate: float,
        counts: tuple[int, ...],
    ) -> None:
        seen: list[tuple[Any, ...]] = []

        def test(*given: Any) -> ScoreTest:
            seen.append(given)
            return ScoreTest(*given)

        monkeypatch.setattr(exact_planning, "ScoreTest", test)
        exact_planning._excludes(n, effect, share, rate, 0.9)
        assert seen == [(*counts, pytest.approx(0.1))]

    def test_it_is_the_exact_tests_answer(self) -> None:
        # Of 5 against 0 of 5 the chance is at most 2 / 2**10, over all rates; of 4 against 0,
        # more than 0.05.
        assert exact_planning._excludes(10, 1.0, 0.5, 0.5, 0.95)
        assert not exact_planning._excludes(10, 0.01, 0.5, 0.5, 0.95)


@pytest.mark.parametrize(
    ("effect", "share", "rate", "confidence"),
    list(itertools.product((0.03, 0.2, 0.5), (0.1, 0.4), (0.05, 0.5), (0.9, 0.99))),
)
def test_the_large_sample_makes_up_for_rounded_counts(
    effect: float, share: float, rate: float, confidence: float
) -> None:
    middle = max(rate, effect / 2)
    error_of_one_row = math.sqrt(middle * (1 - middle) * (1 / share + 1 / (1 - share)))
    n = (stats.norm.isf((1 - confidence) / 2) * error_of_one_row / effect) ** 2
    # Each rate may be half a row too small, or too large.
    rounding = 0.5 / (n * share) + 0.5 / (n * (1 - share))
    assert n > 4
    assert rounding < effect / 2
    expected = n * (effect / (effect - rounding)) ** 2
    found = exact_planning._large_sample(effect, share, rate, confidence)
    assert found == pytest.approx(expected)


def test_the_large_sample_has_a_floor_and_counts_no_more_than_half_of_the_effect_as_lost() -> None:
    # Fewer than four rows by the normal law; rounding then takes half of the effect, at most.
    assert exact_planning._large_sample(0.5, 0.3, 0.5, 0.5) == 16
    # More than four rows, of which rounding may take more than the effect.
    n = (stats.norm.isf(0.1) * 0.5 / 0.9) ** 2 / 0.09
    assert n > 5
    assert exact_planning._large_sample(0.9, 0.1, 0.5, 0.8) == pytest.approx(4 * n)
