"""How many rows the `exact` interval needs: no formula, so its test is asked for each number.

Counts move in whole steps, and the law of the test with them: a number of rows may be enough
while the next one is not. What is planned for is the smallest from which on all are enough.
"""

from __future__ import annotations

import math

import numpy as np

from lmprobe.intervals.exact_test import ScoreTest

# How far above the large-sample answer the last number that is not enough is looked for, and
# how many numbers of rows are tried on the way.
_MARGIN, _TRIED = 1.1, 200
_HALVINGS = 24


def exact_sample_size(effect: float, share: float, rate: float, confidence: float) -> int:
    """Return the smallest n from which on every number of rows excludes zero.

    The rates of the two groups lie half of the effect above and below `rate`, which is at
    most 1/2. Where there are more than a few hundred candidates, only some of them are tried.
    """
    start = math.ceil(_MARGIN * _large_sample(effect, share, rate, confidence))
    # An odd step meets even and odd group sizes alike.
    step = 2 * math.ceil((_MARGIN - 1) * start / _TRIED / 2) - 1
    while not _excludes(start, effect, share, rate, confidence):
        start = math.ceil(_MARGIN * start)
    n = start
    for fewer in (step, 1):
        while n - fewer >= 2 and _excludes(n - fewer, effect, share, rate, confidence):
            n -= fewer
    return n


def exact_claimable_effect(n: float, share: float, rate: float, confidence: float) -> float:
    """Return the smallest difference of rates around `rate` that excludes zero."""
    low, high = 0.0, 1.0
    if not _excludes(int(n), high, share, rate, confidence):
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = _excludes(int(n), middle, share, rate, confidence)
        low, high = (low, middle) if enough else (middle, high)
    return high


def _excludes(n: int, effect: float, share: float, rate: float, confidence: float) -> bool:
    """Tell whether so many rows with this difference reject that there is none."""
    n_a = round(n * share)
    n_b = n - n_a
    if min(n_a, n_b) < 1:
        return False
    middle = max(rate, effect / 2)
    x_a, x_b = round(n_a * (middle + effect / 2)), round(n_b * (middle - effect / 2))
    test = ScoreTest(x_a, n_a, x_b, n_b, 1 - confidence)
    return bool(test.rejects(np.zeros(1), np.zeros(1))[0])


def _large_sample(effect: float, share: float, rate: float, confidence: float) -> float:
    """Return the rows that the normal law asks for, when counts fall short by rounding."""
    from scipy import special

    middle = max(rate, effect / 2)
    # The squared quantile of the normal law.
    reach = float(special.chdtri(1, 1 - confidence))
    n = max(4.0, reach * middle * (1 - middle) / (effect**2 * share * (1 - share)))
    lost = min(0.5, 1 / (2 * n * share * (1 - share) * effect))
    return n / (1 - lost) ** 2
