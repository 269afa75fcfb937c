"""The paired permutation test by sign flips."""

from __future__ import annotations

import itertools

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError

# Up to so many pairs, every way of flipping signs is tried; beyond, so many at random.
_EXACT = 12
FLIPS = 9_999


def sign_flip_p_value(differences: Floats, rng: np.random.Generator) -> Floats:
    """Return the two-sided p-value of "the differences are as often up as down", (...,).

    `differences` is (n, ...): n paired differences of each of many statistics. Under the null
    hypothesis each is as likely with the other sign; the p-value is the share of sign flips
    whose mean is at least as far from zero. With n pairs it cannot be below 2 / 2**n.
    """
    n = len(differences)
    if not n:
        raise InputError("a paired test needs at least one pair")
    flat = differences.reshape(n, -1)
    observed = np.abs(flat.mean(axis=0))
    if n <= _EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
        extra = 0
    else:
        signs = rng.integers(0, 2, size=(FLIPS, n)) * 2.0 - 1.0
        # What was observed is one of the flips (Phipson & Smyth 2010): never a p-value of 0.
        extra = 1
    flipped = np.abs(signs @ flat / n)
    # The identity is among the flips; rounding must not make it smaller than itself.
    extreme = flipped >= observed * (1 - 1e-12)
    p = (extreme.sum(axis=0) + extra) / (len(signs) + extra)
    return np.asarray(p).reshape(differences.shape[1:])
