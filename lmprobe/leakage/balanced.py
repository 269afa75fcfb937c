"""Chooses rows so that no label occurs with one group much more than with another (Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.labels import Labels
from lmprobe.leakage.evidence import Codes, Groups, read_groups, read_labels

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
    labels per row, removing for one label changes the others: the paper's heuristic takes
    the labels one at a time, removes rows with the fewest labels first, and goes round
    until every label satisfies the constraint.

    >>> split = balanced_split(["cook"] * 8, ["w"] * 6 + ["m"] * 2 , alpha=2)
    Traceback (most recent call last):
    lmprobe.errors.InputError: `labels` are the same in every row, so there is nothing to guess from
    >>> split = balanced_split(["cook"] * 8 + ["run"], ["w"] * 6 + ["m"] * 3, alpha=2)
    >>> len(split.rows), split.alpha, split.lost
    (6, 2.0, ('run',))
    """
    if not alpha >= 1:
        raise InputError(f"`alpha` is a ratio between groups and must be 1 or more, found {alpha}")
    truth = read_labels(labels)
    groups = read_groups(attribute, len(truth.values))
    rng = np.random.default_rng(seed)
    kept = np.ones(len(truth.values), dtype=bool)
    changed = True
    # With one label per row no label touches another, so the second pass finds nothing.
    while changed:
        changed = False
        for label in rng.permutation(len(truth.names)):
            changed |= _trim(truth.values, groups, kept, int(label), alpha, rng)
    counts = _counts(truth.values[kept], groups.codes[kept], len(groups.names))
    if not counts.any():
        raise InputError(
            f"no row is left at alpha = {alpha:g}: some group is missing from every label; "
            "use a larger alpha"
        )
    gone = np.flatnonzero((truth.values.sum(axis=0) > 0) & (counts.sum(axis=0) == 0))
    lost = tuple(truth.names[label] for label in gone)
    rows = np.flatnonzero(kept).astype(np.int64)
    return BalancedSplit(rows, _ratio(counts), int((~kept).sum()), lost)


def _trim(
    values: NDArray[Any],
    groups: Groups,
    kept: NDArray[np.bool_],
    label: int,
    alpha: float,
    rng: np.random.Generator,
) -> bool:
    """Remove the surplus of one label from `kept`; tell whether there was any."""
    having = np.flatnonzero(kept & (values[:, label] == 1))
    own = groups.codes[having]
    counts = np.bincount(own, minlength=len(groups.names))
    limit = int(alpha * counts.min() + _ROUNDING)
    for group in np.flatnonzero(counts > limit):
        rows = having[own == group]
        order = np.lexsort((rng.random(len(rows)), values[rows].sum(axis=1)))
        kept[rows[order[: counts[group] - limit]]] = False
    return bool((counts > limit).any())


def _counts(values: NDArray[Any], codes: Codes, groups: int) -> NDArray[np.int64]:
    """Return how often each group has each label, (G, L)."""
    return np.stack([values[codes == group].sum(axis=0, dtype=np.int64) for group in range(groups)])


def _ratio(counts: NDArray[np.int64]) -> float:
    """Return the largest ratio between groups over the labels that occur."""
    present = counts[:, counts.any(axis=0)]
    return float((present.max(axis=0) / present.min(axis=0)).max())
