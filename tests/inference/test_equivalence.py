"""Two one-sided tests, against Student's law."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.inference.equivalence import SMALLEST, equivalence_p_value
from lmprobe.intervals.crossed import CrossedMean, Spread


@pytest.mark.parametrize("value", [0.02, -0.02, 0.0])
def test_it_is_the_larger_of_both_p_values(value: float) -> None:
    difference = CrossedMean(value, Spread(0.03, 11))
    # The distance to the nearer end of the margin decides.
    expected = stats.t.sf((0.1 - abs(value)) / 0.03, 11)
    assert equivalence_p_value(difference, 0.1) == pytest.approx(expected)


@pytest.mark.parametrize("margin", [0.0, -0.1, math.inf, -math.inf, math.nan])
def test_the_margin_is_a_positive_number(margin: float) -> None:
    with pytest.raises(InputError, match="`margin` must be a positive number"):
        equivalence_p_value(None, margin)
    assert math.isnan(equivalence_p_value(None, 0.1))


def test_the_smallest_difference_is_half_of_the_last_digit_that_is_shown() -> None:
    assert f"{math.nextafter(SMALLEST, 1):.4f}" == "0.0001"
    assert f"{math.nextafter(SMALLEST, 0):.4f}" == "0.0000"
    # An error of 0.03 cannot show that models are as near to each other as that.
    assert equivalence_p_value(CrossedMean(0.0, Spread(0.03, 11)), SMALLEST) > 0.49
