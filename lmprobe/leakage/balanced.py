"""Chooses rows so that no label occurs with one group much more than with another (Eq. 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import Codes, read_groups, read_labels
from lmprobe.metrics.labels import Labels


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

    Deviation: the paper removes rows with few labels first. Here a row goes first if most
    of its labels are in surplus in its group, and few labels decide a tie; otherwise each
    removal breaks the balance of other labels and several times as many rows are lost.

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
    values, rng = truth.values, np.random.default_rng(seed)
    stays = np.ones(len(values), dtype=bool)
    # How often each group has each label, (G, L).
    members = [groups.codes == code for code in range(len(groups.names))]
    counts = np.stack([values[own].sum(axis=0, dtype=np.int64) for own in members])
    before, changed = counts.any(axis=0), True
    while changed:
        changed = False
        for label in rng.permutation(len(truth.names)):
            # The small number keeps 1.15 * 100 from being 114.
            limit = int(alpha * counts[:, label].min() + 1e-9)
            for group in np.flatnonzero(counts[:, label] > limit):
                rows = np.flatnonzero(stays & (values[:, label] == 1) & members[group])
                held = values[rows].astype(np.int64)
                short = np.sign(counts.max(axis=0) + counts.min(axis=0) - 2 * counts[group])
                # The last key sorts first.
                order = np.lexsort((rng.random(len(rows)), held.sum(axis=1), held @ short))
                surplus = order[: counts[group, label] - limit]
                stays[rows[surplus]] = False
                counts[group] -= held[surplus].sum(axis=0)
                changed = True
    after = counts.any(axis=0)
    if not after.any():
        raise InputError(
            f"no row with a label is left at alpha = {alpha:g}: the labels cannot be balanced "
            "that far; use a larger alpha"
        )
    ratio = counts[:, after].max(axis=0) / counts[:, after].min(axis=0)
    lost = tuple(truth.names[label] for label in np.flatnonzero(before & ~after))
    return BalancedSplit(np.flatnonzero(stays), float(ratio.max()), int((~stays).sum()), lost)
