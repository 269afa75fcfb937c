"""Whether two models are the same within a margin: two one-sided tests (Schuirmann 1987)."""

from __future__ import annotations

import math

from lmprobe.errors import InputError
from lmprobe.intervals.crossed import CrossedMean

SMALLEST = 0.00005
"""A smaller difference is not claimed: values are shown with four digits."""


def equivalence_p_value(difference: CrossedMean | None, margin: float) -> float:
    """Return the p-value against "the models differ by the margin or more".

    Both one-sided hypotheses must be rejected, so it is the larger of their p-values, and no
    correction for two tests is due.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise InputError(f"`margin` must be a positive number: found {margin}")
    if difference is None:
        return math.nan
    return max(difference.p_below(-margin), difference.p_above(margin))
