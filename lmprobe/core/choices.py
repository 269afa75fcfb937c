"""The values of options that are a closed set: one definition for library and command line.

This module imports nothing heavy, so that the command line can show the choices in its help.
"""

from __future__ import annotations

from typing import Literal, get_args

Missing = Literal["drop", "error", "smooth", "keep"]
"""What happens to words that a base does not know."""
MISSING: tuple[Missing, ...] = get_args(Missing)

Resample = Literal["both", "templates", "tasks"]
"""What the bootstrap of a probe draws anew."""
RESAMPLES: tuple[Resample, ...] = get_args(Resample)

LeanWeighting = Literal["joint", "paper"]
"""How the lean weighs tasks and groups: Eq. 2 of the paper, or its published code."""
LEAN_WEIGHTINGS: tuple[LeanWeighting, ...] = get_args(LeanWeighting)

Pairs = Literal["first", "all"]
"""Which models are compared: every one with the first, or every two."""

Dtype = Literal["float32", "float64", "bfloat16", "float16"]
"""The precision in which a model computes."""
DTYPES: tuple[Dtype, ...] = get_args(Dtype)

DisparityMeasure = Literal[
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "fpr_difference",
    "tpr_difference",
    "accuracy_difference",
]
"""What is compared between groups; `lmprobe.metrics.disparity` says what each charges."""
