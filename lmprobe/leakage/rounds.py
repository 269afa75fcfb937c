"""The rows of an attack: balanced rounds, the score of their guesses, and balanced data sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from lmprobe.errors import InputError, invalid, plural
from lmprobe.leakage.inputs import AttackerInput, Codes, GroupLabels, read_groups, read_labels
from lmprobe.metrics.association import Floats
from lmprobe.metrics.labels import Labels
from lmprobe.results.verdict import Interval

PARTS = ("train", "dev", "test")
_ALIASES = {"val": "dev", "valid": "dev", "validation": "dev", "development": "dev"}

# How an example set without a split of its own is cut.
_SHARES = (0.6, 0.2, 0.2)

# With fewer in any part, an accuracy is a coin toss.
_FEWEST = 10

METHOD = "t over rounds and test rows"
"""Adds two variances: between rounds (which examples, which start) and between test rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The rows on which one attacker is trained, chosen and judged."""

    train: Codes
    dev: Codes
    test: Codes
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One round with what its attacker sees and has to guess."""

    inputs: AttackerInput
    groups: GroupLabels
    rows: Round

    @property
    def truth(self) -> Codes:
        """The group of each test row."""
        return self.groups.codes[self.rows.test]


def read_split(split: Any, rows: int) -> Codes:
    """Read a column of `train`, `dev` and `test` into 0, 1, 2; `val` means `dev`."""
    given = np.atleast_1d(np.asarray(split))
    names = [_ALIASES.get(str(name).lower(), str(name).lower()) for name in given]
    if len(names) != rows:
        raise invalid("split", f" has {len(names)} rows where the other data have {rows}")
    unknown = sorted(set(names) - set(PARTS))
    if unknown:
        raise invalid("split", f" must say train, dev or test in each row, found {unknown[0]!r}")
    return np.array([PARTS.index(name) for name in names], dtype=np.int64)


def draw_rounds(
    groups: GroupLabels,
    split: Codes | None,
    *,
    rounds: int,
    rng: np.random.Generator,
    share: float = 1.0,
    limits: Sequence[int] | None = None,
) -> tuple[Round, ...]:
    """Draw balanced rounds: every group as often as the rarest one, in each of the parts.

    With a `split` each row stays in its part; without, every round cuts the data anew into
    60 % train, 20 % dev, 20 % test. `share` is how much of the train part is used.
    `limits` caps the rows per group in train, dev and test.
    """
    if rounds < 2:
        raise invalid("rounds", f" must be 2 or more for an interval over rounds, found {rounds}")
    if not 0 < share <= 1:
        raise invalid("share", f" must lie in (0, 1], found {share}")
    sizes = _sizes(groups, split)
    if limits is not None:
        sizes = [min(both) for both in zip(sizes, limits, strict=True)]
    used = [max(_FEWEST, round(share * sizes[0])), *sizes[1:]]
    members = [np.flatnonzero(groups.codes == group) for group in range(len(groups.names))]
    drawn = []
    for _ in range(rounds):
        # Rows of each group in train, dev and test.
        by_group = [_cut(rows, split, sizes, rng) for rows in members]
        train, dev, test = (
            np.concatenate([rows[:size] for rows in part])
            for part, size in zip(zip(*by_group, strict=True), used, strict=True)
        )
        drawn.append(Round(train, dev, test, seed=int(rng.integers(2**31))))
    return tuple(drawn)


def _sizes(groups: GroupLabels, split: Codes | None) -> list[int]:
    """Return how many rows of each group train, dev and test get."""
    sizes = []
    for number, part in enumerate(PARTS):
        inside = groups.codes if split is None else groups.codes[split == number]
        counts = np.bincount(inside, minlength=len(groups.names))
        rarest = int(counts.argmin())
        needed, where = _FEWEST, f" in the part {part!r}"
        if split is None:
            needed, where = round(_FEWEST / min(_SHARES)), ""
        if counts[rarest] < needed:
            raise InputError(
                f"too few examples to balance the groups: {groups.names[rarest]!r} has "
                f"{plural(int(counts[rarest]), 'row')}{where}, at least {needed} of each group are "
                "needed"
            )
        sizes.append(int(counts[rarest] * (_SHARES[number] if split is None else 1)))
    return sizes


def _cut(
    members: Codes, split: Codes | None, sizes: Sequence[int], rng: np.random.Generator
) -> list[Codes]:
    """Return as many of a group's rows for train, dev and test as there are to be."""
    if split is None:
        return np.split(rng.permutation(members), np.cumsum(sizes))[: len(sizes)]
    inside = [members[split[members] == number] for number in range(len(sizes))]
    return [rng.permutation(rows)[:size] for rows, size in zip(inside, sizes, strict=True)]


def score_guesses(
    guesses: Sequence[Codes], trials: Sequence[Trial]
) -> tuple[tuple[float, ...], Floats]:
    """Return the accuracy of each round, and each example's over rounds (NaN if never tested)."""
    right, times = np.zeros((2, len(trials[0].groups.codes)))
    values = []
    for guess, trial in zip(guesses, trials, strict=True):
        correct = guess == trial.truth
        values.append(float(correct.mean()))
        right[trial.rows.test] += correct
        times[trial.rows.test] += 1
    return tuple(values), np.where(times > 0, right / np.maximum(times, 1), np.nan)


def leakage_interval(
    values: Sequence[float],
    score: Floats,
    groups: GroupLabels,
    *,
    bounds: tuple[float, float],
    confidence: float,
) -> Interval:
    """Return the interval of the mean over rounds.

    `score` (n,) is what each example contributed, averaged over the rounds that tested
    it; NaN where none did. The variance between rounds alone would call five attackers
    that agree on the same 300 test rows certain, so that of a mean over test rows,
    stratified by group, is added; the degrees of freedom are Satterthwaite's.
    """
    between = float(np.var(values, ddof=1)) / len(values)
    tested = [score[(groups.codes == code) & ~np.isnan(score)] for code in range(len(groups.names))]
    # Two made-up rows, one at each bound: rows that all agree are not certainty.
    spreads = [np.append(own, bounds).var(ddof=1) / len(own) for own in tested]
    within, others = float(sum(spreads)) / len(tested) ** 2, sum(map(len, tested)) - 1
    total = between + within
    freedom = total**2 / (between**2 / (len(values) - 1) + within**2 / others)
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * math.sqrt(total)
    centre, (least, most) = float(np.mean(values)), bounds
    return Interval(max(least, centre - half), min(most, centre + half), confidence, METHOD)


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
        raise invalid(
            "alpha", f" is a ratio between groups and must be finite and 1 or more, found {alpha}"
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
