"""Betting against a mean of bounded values (Waudby-Smith & Ramdas 2024).

Whoever bets a share of a capital of 1 on values exceeding their true mean does not expect to
gain, whatever they learn on the way. A mean at which the capital has grown to 1/α is thus
rejected at level α (Ville's inequality). Values are in random order, so that their past says
nothing about what comes next.
"""

from __future__ import annotations

import math

import numpy as np

from lmprobe.core.tally import Floats

# The most of the capital that may be lost on one value: further is narrower until all is lost.
_STAKE = 0.9
# No more values are bet on than this; more are averaged in random blocks first.
_BETS = 10_000
_HALVINGS = 40
# Numbers held in memory at a time.
_BLOCK = 2_000_000


def shuffled(values: Floats, rng: np.random.Generator) -> Floats:
    """Return the values in random order; very many become the means of random blocks."""
    drawn = rng.permutation(values)
    if len(drawn) <= _BETS:
        return drawn
    edges = np.linspace(0, len(drawn), _BETS + 1).astype(np.intp)
    return np.asarray(np.add.reduceat(drawn, edges[:-1]) / np.diff(edges))


def running_variance(values: Floats) -> Floats:
    """Return the variance as it is known before each value and after the last, (n + 1,).

    It starts at 1/4, the largest of values in [0, 1], which counts as one value.
    """
    often = np.arange(1, len(values) + 1)
    means = (0.5 + values.cumsum()) / (often + 1)
    squares = 0.25 + ((values - means) ** 2).cumsum()
    return np.concatenate([[0.25], squares / (often + 1)])


def log_capital(values: Floats, bets: Floats, means: Floats) -> Floats:
    """Return the log of what betting on values above each of `means` leaves; it falls in them."""
    found = np.empty(len(means))
    step = max(1, _BLOCK // len(values))
    for start in range(0, len(means), step):
        mean = np.maximum(means[start : start + step, None], 1e-300)
        share = np.minimum(bets, _STAKE / mean)
        found[start : start + step] = np.log1p(share * (values - mean)).sum(axis=1)
    return found


def limits(values: Floats, alpha: float) -> tuple[float, float]:
    """Return limits of the mean, wrong with a chance of at most `alpha`, half of it each."""
    return _lower(values, alpha / 2), 1 - _lower(1 - values, alpha / 2)


def _lower(values: Floats, alpha: float) -> float:
    log = math.log(1 / alpha)
    bets = np.sqrt(2 * log / (len(values) * running_variance(values)[:-1]))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beaten = log_capital(values, bets, np.array([middle]))[0] >= log
        low, high = (middle, high) if beaten else (low, middle)
    return low
