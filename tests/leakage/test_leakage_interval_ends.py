"""The interval of a leakage by hand, and where it is cut off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.leakage.inputs import GroupLabels
from lmprobe.leakage.leakage_interval import leakage_interval

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
