"""The paired permutation test by sign flips, and control over many of them."""

from __future__ import annotations

import itertools

import numpy as np

from lmprobe.errors import InputError, did_you_mean
from lmprobe.tally import Floats

# Up to so many pairs, every way of flipping signs is tried; beyond, so many at random.
_EXACT = 12
FLIPS = 9_999

CONTROLS = ("holm", "benjamini-hochberg")


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


def adjusted(p_values: Floats, control: str) -> Floats:
    """Return p-values that may be compared with the level although there are many.

    `holm` bounds the chance of any false claim, `benjamini-hochberg` the share of false
    ones among the claims. An undefined (NaN) p-value stays undefined and is no test.

    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    if control not in CONTROLS:
        raise InputError(f'no control called "{control}"; {did_you_mean(control, CONTROLS)}')
    found = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    m = len(known)
    if not m:
        return found
    order = known[np.argsort(p_values[known], kind="stable")]
    rank = np.arange(1, m + 1)
    if control == "holm":
        steps = np.maximum.accumulate(p_values[order] * (m + 1 - rank))
    else:
        steps = np.minimum.accumulate((p_values[order] * m / rank)[::-1])[::-1]
    found[order] = np.minimum(steps, 1.0)
    return found
