"""Chooses rows so that no label occurs with one group much more than with another (Eq. 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.core.labels import Labels
from lmprobe.errors import InputError
from lmprobe.leakage.inputs import Codes, GroupLabels, read_groups, read_labels

# Sums of counts are whole numbers; this only keeps 3 * 0.1 from being less than 0.3.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class BalancedSplit:
    """The rows that stay, in their old order, and how balanced they are."""

    rows: Codes
    alpha: float
    """The largest ratio between two groups that is left on any label; 1 is perfect."""
    removed: int
    lost: tuple[str, ...]
    """Labels that no longer occur at all, because some group never had them."""


def balanced_split(
    labels: Labels, attribute: Labels, *, alpha: float, seed: int = 0
) -> BalancedSplit:
    """Remove rows until every label occurs with no group more than alpha times another.

    With one label per row the surplus is removed at random, no row too many. With several
    labels per row, removing for one label changes the others: as in the paper, the labels
    are taken one at a time, round and round, until every one satisfies the constraint.

    >>> split = balanced_split(["cook"] * 8, ["w"] * 6 + ["m"] * 2 , alpha=2)
    Traceback (most recent call last):
    lmprobe.errors.InputError: `labels` are the same in every row, so there is nothing to guess from
    >>> split = balanced_split(["cook"] * 8 + ["run"], ["w"] * 6 + ["m"] * 3, alpha=2)
    >>> len(split.rows), split.alpha, split.lost
    (6, 2.0, ('run',))
    """
    if not 1 <= alpha < math.inf:
        raise InputError(
            f"`alpha` is a ratio between groups and must be finite and 1 or more, found {alpha}"
        )
    truth = read_labels(labels)
    groups = read_groups(attribute, len(truth.values))
    rng = np.random.default_rng(seed)
    kept = np.ones(len(truth.values), dtype=bool)
    counts = _counts(truth.values, groups)
    changed = True
    # With one label per row no label touches another, so the second pass finds nothing.
    while changed:
        changed = False
        for label in rng.permutation(len(truth.names)):
            changed |= _trim(truth.values, groups, kept, counts, int(label), alpha, rng)
    if not counts.any():
        raise InputError(
            f"no row with a label is left at alpha = {alpha:g}: the labels cannot be balanced "
            "that far; use a larger alpha"
        )
    gone = np.flatnonzero((truth.values.sum(axis=0) > 0) & (counts.sum(axis=0) == 0))
    lost = tuple(truth.names[label] for label in gone)
    rows = np.flatnonzero(kept).astype(np.int64)
    return BalancedSplit(rows, _ratio(counts), int((~kept).sum()), lost)


def _trim(
    values: NDArray[Any],
    groups: GroupLabels,
    kept: NDArray[np.bool_],
    counts: NDArray[np.int64],
    label: int,
    alpha: float,
    rng: np.random.Generator,
) -> bool:
    """Remove the surplus of one label from `kept` and `counts`; tell whether there was any."""
    limit = int(alpha * counts[:, label].min() + _ROUNDING)
    over = np.flatnonzero(counts[:, label] > limit)
    for group in over:
        rows = np.flatnonzero(kept & (values[:, label] == 1) & (groups.codes == group))
        order = np.lexsort((rng.random(len(rows)), *_worth(values[rows], counts, int(group))))
        gone = rows[order[: counts[group, label] - limit]]
        kept[gone] = False
        counts[group] -= values[gone].sum(axis=0, dtype=np.int64)
    return len(over) > 0


def _worth(
    values: NDArray[Any], counts: NDArray[np.int64], group: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how much each row should stay: the second number counts first.

    Deviation: the paper removes rows with few labels first. Here a row goes first if most
    of its labels are in surplus in its group, and few labels decide a tie; otherwise each
    removal breaks the balance of other labels and several times as many rows are lost.
    """
    side = np.sign(counts.max(axis=0) + counts.min(axis=0) - 2 * counts[group])
    return values.sum(axis=1, dtype=np.int64), values.astype(np.int64) @ side


def _counts(values: NDArray[Any], groups: GroupLabels) -> NDArray[np.int64]:
    """Return how often each group has each label, (G, L)."""
    sums = [values[groups.codes == code].sum(axis=0) for code in range(len(groups.names))]
    return np.stack(sums).astype(np.int64)


def _ratio(counts: NDArray[np.int64]) -> float:
    """Return the largest ratio between groups over the labels that occur."""
    present = counts[:, counts.any(axis=0)]
    return float((present.max(axis=0) / present.min(axis=0)).max())
