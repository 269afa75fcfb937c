"""Balanced splits satisfy equation 2 and lose no row too many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lmprobe.errors import InputError
from lmprobe.leakage.rounds import balanced_split
from tests.leakage.leaking_data import many_labels

rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("wmx")), min_size=4, max_size=60)


@given(rows, st.sampled_from([1.0, 1.15, 1.5, 2.0, 3.0]), st.integers(0, 9))
def test_one_label_per_row_loses_no_row_too_many(
    made: list[tuple[str, str]], alpha: float, seed: int
) -> None:
    labels, group = np.array([label for label, _ in made]), np.array([who for _, who in made])
    groups, expected = sorted(set(group)), {}
    for label in set(labels):
        counts = [int(np.sum((labels == label) & (group == who))) for who in groups]
        expected[label] = [min(count, int(alpha * min(counts) + 1e-9)) for count in counts]
    if len(set(labels)) < 2 or len(groups) < 2 or not np.sum(list(expected.values())):
        return
    split = balanced_split(labels, group, alpha=alpha, seed=seed)
    for label, counts in expected.items():
        own = group[split.rows][labels[split.rows] == label]
        assert [int(np.sum(own == who)) for who in groups] == counts
    assert 1 <= split.alpha <= alpha + 1e-9
    assert split.removed == len(labels) - len(split.rows)
    assert set(split.lost) == {label for label, counts in expected.items() if not sum(counts)}


@pytest.mark.parametrize("alpha", [3.0, 2.0, 1.2, 1.0, 100.0])
def test_several_labels_reach_the_constraint(alpha: float) -> None:
    labels, group = many_labels(np.random.default_rng(0), 3000, skew=0.8)
    split = balanced_split(labels, group, alpha=alpha)
    counts = [labels[split.rows][group[split.rows] == code].sum(axis=0) for code in (0, 1)]
    ratio = np.max(counts, axis=0) / np.min(counts, axis=0)
    assert split.alpha == pytest.approx(ratio.max())
    assert ratio.max() <= alpha + 1e-9
    assert (np.diff(split.rows) > 0).all()
    assert len(split.rows) == 3000 - split.removed
    # Removing rows by their number of labels alone would leave 184 at alpha = 1.2.
    assert len(split.rows) > 800 if alpha < 100 else split.removed == 0


def test_a_label_that_some_group_never_has_is_lost_and_one_that_never_occurs_is_not() -> None:
    labels = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    split = balanced_split(labels, ["w", "m", "w", "m", "w"], alpha=2)
    assert (split.lost, split.rows.tolist()) == (("1", "2"), [0, 1, 3])
    assert (split.alpha, split.removed) == (2.0, 2)


def test_which_rows_go_is_decided_by_the_seed() -> None:
    labels, group = ["x"] * 60 + ["y", "y"], ["w"] * 40 + ["m"] * 20 + ["w", "m"]
    drawn = [balanced_split(labels, group, alpha=1, seed=seed).rows.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_cannot_be_balanced() -> None:
    for alpha in (0.5, 0.999, np.nan, np.inf):
        with pytest.raises(InputError, match=f"finite and 1 or more, found {alpha}"):
            balanced_split(["a", "b"], ["w", "m"], alpha=alpha)
    with pytest.raises(InputError, match="no row with a label is left at alpha = 2"):
        balanced_split(["a", "b"] * 5, ["w", "m"] * 5, alpha=2)
