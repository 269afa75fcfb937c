"""Counts how often attributes and tasks go together: the sums that every metric is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError

Floats = NDArray[np.float64]

# Rows turned into floats at a time: the product then works in cache and memory stays
# in proportion to the input, whatever its length.
_ROWS = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Weighted sums over rows: `joint` (A, T), `attribute` (A,), `task` (T,), `total`."""

    joint: Floats
    attribute: Floats
    task: Floats
    total: float


def tally(attributes: NDArray[Any], tasks: NDArray[Any], weight: Floats | None = None) -> Tally:
    """Count the indicators `attributes` (n, A) and `tasks` (n, T), rows weighted."""
    rows = len(attributes)
    if len(tasks) != rows:
        raise InputError(f"the attributes have {rows} rows and the tasks have {len(tasks)}")
    joint = np.zeros((attributes.shape[1], tasks.shape[1]))
    attribute, task = np.zeros(attributes.shape[1]), np.zeros(tasks.shape[1])
    # Sums of 0/1 over a chunk are exact in single precision, which is twice as fast.
    whole = weight is None and attributes.dtype.kind in "biu" and tasks.dtype.kind in "biu"
    kind: type[Any] = np.float32 if whole else np.float64
    for start in range(0, rows, _ROWS):
        part = slice(start, start + _ROWS)
        left: NDArray[Any] = attributes[part].astype(kind)
        right: NDArray[Any] = tasks[part].astype(kind)
        if weight is None:
            task += right.sum(axis=0)
            attribute += left.sum(axis=0)
        else:
            task += weight[part] @ right
            left = left * weight[part, None]
            attribute += left.sum(axis=0)
        joint += left.T @ right
    return Tally(joint, attribute, task, float(rows if weight is None else weight.sum()))


def checked_weight(weight: Any, rows: int, role: str = "sample_weight") -> Floats | None:
    """Return the row weights as floats, or None when every row weighs the same."""
    if weight is None:
        return None
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{role}` must be one number per row") from None
    if values.shape != (rows,):
        raise InputError(f"`{role}` must have shape ({rows},), found {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise InputError(f"`{role}` must be finite, not negative and not all zero")
    return values
