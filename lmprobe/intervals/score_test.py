"""The score statistic of two binomial counts (Miettinen & Nurminen 1985).

`score` inverts its approximate law, `exact` its exact one. The statistic falls as the
difference grows, rises in the first count and falls in the second; docs/statistics.md has
the proof, which `exact` rests on.
"""

from __future__ import annotations

import numpy as np

from lmprobe.core.tally import Floats

Numbers = Floats | float


def score_statistic(
    difference: Floats, x_a: Numbers, a: Numbers, x_b: Numbers, b: Numbers
) -> Floats:
    """Return the score statistic of p_a - p_b = difference; arrays broadcast."""
    p_b = _likeliest(difference, x_a, a, x_b, b)
    p_a = p_b + difference  # within [0, 1], as p_b is within what the difference leaves
    n = a + b
    variance = (p_a * (1 - p_a) / a + p_b * (1 - p_b) / b) * n / (n - 1)
    apart = x_a / a - x_b / b - difference
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0, 0.0, apart / np.sqrt(variance))


def _likeliest(d: Floats, x_a: Numbers, a: Numbers, x_b: Numbers, b: Numbers) -> Floats:
    """Return the most likely p_b given p_a - p_b = d: the root of Miettinen & Nurminen's cubic."""
    n, x = a + b, x_a + x_b
    square = (a + 2 * b) * d - n - x
    single = (b * d - n - 2 * x_b) * d + x
    rest = x_b * d * (1 - d)
    shift = square / (3 * n)
    q = shift**3 - single * square / (6 * n**2) + rest / (2 * n)
    p = np.copysign(np.sqrt(np.maximum(shift**2 - single / (3 * n), 0)), q)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(p == 0, 0.0, q / p**3)
    angle = (np.pi + np.arccos(np.minimum(cosine, 1))) / 3
    root = 2 * p * np.cos(angle) - shift
    return np.asarray(np.clip(root, np.maximum(0, -d), np.minimum(1, 1 - d)))
