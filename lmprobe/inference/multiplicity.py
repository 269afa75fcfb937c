"""P-values that may be compared with the level although there are many of them."""

from __future__ import annotations

import numpy as np

from lmprobe.core.tally import Floats
from lmprobe.errors import InputError, did_you_mean

CONTROLS = ("holm", "benjamini-hochberg")


def adjusted(p_values: Floats, control: str) -> Floats:
    """Return p-values that may be compared with the level although there are many.

    `holm` bounds the chance of any false claim, `benjamini-hochberg` the share of false
    ones among the claims. An undefined (NaN) p-value stays undefined and is no test.

    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    if control not in CONTROLS:
        raise InputError(f'no control called "{control}"; {did_you_mean(control, CONTROLS)}')
    from scipy import stats

    values = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    m = len(known)
    if not m:
        return values
    if control == "benjamini-hochberg":
        values[known] = stats.false_discovery_control(p_values[known], method="bh")
        return values
    order = known[np.argsort(p_values[known], kind="stable")]
    steps = np.maximum.accumulate(p_values[order] * np.arange(m, 0, -1))
    values[order] = np.minimum(steps, 1.0)
    return values
