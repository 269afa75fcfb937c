"""Student's quantile against scipy's, which is too slow to import for what needs it."""

from __future__ import annotations

import pytest
from scipy import stats

from lmprobe.intervals.student import student_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 19, 20, 999, 1000, 1001, 50_000, 10**6])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.999])
def test_the_quantile_is_that_of_scipy(confidence: float, degrees: int) -> None:
    expected = stats.t.ppf((1 + confidence) / 2, degrees)
    assert student_quantile(confidence, degrees) == pytest.approx(expected, rel=1e-11)
