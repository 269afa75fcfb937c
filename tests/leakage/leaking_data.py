"""Generated data whose leakage is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Data = tuple[NDArray[Any], NDArray[Any]]


def one_label(rng: np.random.Generator, rows: int, leak: float, labels: int = 4) -> Data:
    """One label per row; with probability `leak` it comes from the group's own half."""
    group = rng.integers(0, 2, rows)
    half = labels // 2
    own = group * half + rng.integers(0, half, rows)
    return np.where(rng.random(rows) < leak, own, rng.integers(0, labels, rows)), group


def many_labels(rng: np.random.Generator, rows: int, labels: int = 8, skew: float = 0.5) -> Data:
    """Yes-or-no labels, every other one more frequent with group 1."""
    group = rng.integers(0, 2, rows)
    side = np.where(np.arange(labels) % 2, 1, -1)
    chance = 1 / (1 + np.exp(0.5 - skew * side * (2 * group - 1)[:, None]))
    return (rng.random((rows, labels)) < chance).astype(int), group


def planted(
    rng: np.random.Generator, rows: int, skew: float = 0.5
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Features that show the labels faintly and the group plainly."""
    labels, group = many_labels(rng, rows, skew=skew)
    faint = 1.5 * labels + rng.normal(size=labels.shape)
    plain = 1.5 * (2 * group - 1)[:, None] + rng.normal(size=(rows, 3))
    return np.hstack([faint, plain]), labels, group
