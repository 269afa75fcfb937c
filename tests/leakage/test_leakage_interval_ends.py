"""The interval of a leakage by hand, and where it is cut off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.leakage.inputs import AttackerInput, GroupLabels
from lmprobe.leakage.leakage_interval import METHOD, leakage_interval, score_guesses
from lmprobe.leakage.rounds import Round, Trial

GROUPS = GroupLabels(np.array([0] * 4 + [1] * 6), ("m", "f"))
SCORE = np.array([0.1, 0.5, 0.4, 0.2, 0.0, 0.3, np.nan, 0.6, 0.1, 0.2])


def test_it_is_satterthwaites_by_hand() -> None:
    values, bounds = [0.2, 0.3, 0.28], (-1.0, 1.0)
    between = np.var(values, ddof=1) / 3
    parts = [SCORE[:4], np.delete(SCORE[4:], 2)]
    within = sum(np.var([*own, *bounds], ddof=1) / len(own) for own in parts) / 4
    freedom = (between + within) ** 2 / (between**2 / 2 + within**2 / 8)
    half = stats.t.ppf(0.95, freedom) * math.sqrt(between + within)
    found = leakage_interval(values, SCORE, GROUPS, bounds=bounds, confidence=0.9)
    centre = np.mean(values)
    assert (found.low, found.high) == pytest.approx((centre - half, centre + half), rel=1e-9)


@pytest.mark.parametrize(("centre", "cut"), [(0.95, "high"), (-0.95, "low")])
def test_an_amplification_ends_where_the_numbers_end(centre: float, cut: str) -> None:
    values = [centre - 0.02, centre + 0.02]
    score = np.where(np.isnan(SCORE), np.nan, centre)
    found = leakage_interval(values, score, GROUPS, bounds=(-1.0, 1.0), confidence=0.95)
    free = leakage_interval(values, score, GROUPS, bounds=(-1.0, 1.0), confidence=1e-9)
    assert free.width < 1e-6
    assert getattr(found, cut) == math.copysign(1.0, centre)
    other = found.low if cut == "high" else found.high
    assert -1.0 < other < 1.0


def test_three_groups_weigh_a_third_each() -> None:
    groups = GroupLabels(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2]), ("a", "b", "c"))
    score = np.array([1.0, 0.0, 0.5, 1.0, 1.0, 0.0, 0.25, 0.5, np.nan])
    values, bounds = [0.5, 0.5], (0.0, 1.0)
    # Rounds that agree add nothing: what is left is the error of the test rows.
    parts = [score[:3], score[3:5], score[5:8]]
    within = sum(np.var([*own, 0, 1], ddof=1) / len(own) for own in parts) / 9
    half = stats.t.ppf(0.975, 8 - 1) * math.sqrt(within)
    found = leakage_interval(values, score, groups, bounds=bounds, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-9)
    assert (found.confidence, found.method) == (0.95, METHOD)


def trial(test: list[int]) -> Trial:
    none = np.array([], dtype=np.int64)
    inputs = AttackerInput(np.zeros(5, dtype=np.int64), 2)
    groups = GroupLabels(np.array([0, 1, 0, 1, 1]), ("a", "b"))
    return Trial(inputs, groups, Round(none, none, np.array(test), 0))


def test_guesses_are_scored_by_round_and_by_row() -> None:
    trials = [trial([0, 1, 3]), trial([1, 3]), trial([3, 4])]
    guesses = [np.array([0, 0, 1]), np.array([1, 1]), np.array([0, 0])]
    values, by_row = score_guesses(guesses, trials)
    assert values == pytest.approx((2 / 3, 1.0, 0.0))
    # Row 1 was right in one of two rounds, row 3 in two of three, row 2 was never tested.
    assert by_row == pytest.approx([1.0, 0.5, np.nan, 2 / 3, 0.0], nan_ok=True)
    values, by_row = score_guesses([np.array([1, 1])], [trial([0, 1])])
    assert values == (0.5,)
    assert by_row == pytest.approx([0, 1, np.nan, np.nan, np.nan], nan_ok=True)


@pytest.mark.parametrize("answers", [0, 1, 3])
def test_an_attacker_must_answer_every_round_once(answers: int) -> None:
    with pytest.raises(ValueError, match="argument"):
        score_guesses([np.array([0, 0])] * answers, [trial([0, 1]), trial([1, 3])])
