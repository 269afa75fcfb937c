"""Student's quantile without scipy, whose import costs more than a run whose answers are known."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

# Far from the root a step doubles t, close to it the digits that are right: always enough.
_STEPS = 60
# From here on the four terms of the expansion are exact to 1e-12, and sums would be long.
_FEW = 1000


def student_quantile(confidence: float, degrees: int) -> float:
    """Return t with P(-t < T < t) = confidence, for Student's T with so many degrees of freedom.

    Newton's steps on the finite sums of Abramowitz & Stegun 26.7.3 and 26.7.4. The probability
    is concave in t, and the normal quantile is below the root: every step stays below it. For
    many degrees of freedom their expansion around the normal quantile, 26.7.5.

    >>> round(student_quantile(0.95, 19), 4)
    2.093
    """
    t = NormalDist().inv_cdf((1 + confidence) / 2)
    if degrees > _FEW:
        return _expansion(t, degrees)
    constant = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    for _ in range(_STEPS):
        density = math.exp(constant - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        density /= math.sqrt(degrees * math.pi)
        t += (confidence - _central_probability(t, degrees)) / (2 * density)
    return t


def _expansion(z: float, degrees: int) -> float:
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / degrees**power for power, term in enumerate(terms, start=1)))


def _central_probability(t: float, degrees: int) -> float:
    """Return P(-t < T < t)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    if degrees % 2 == 0:
        even = np.arange(2, degrees, 2)
        return sine * (1 + float(np.cumprod((even - 1) / even * cosine**2).sum()))
    odd = np.arange(3, degrees, 2)
    terms = float(np.cumprod((odd - 1) / odd * cosine**2).sum())
    inside = 0.0 if degrees == 1 else sine * cosine * (1 + terms)
    return 2 / math.pi * (angle + inside)
