from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leaking_data import many_labels

from lmprobe.errors import InputError
from lmprobe.leakage.balanced import balanced_split

rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("wm")), min_size=4, max_size=60)


@given(rows, st.sampled_from([1.0, 1.5, 2.0, 3.0]), st.integers(0, 9))
def test_one_label_per_row_loses_no_row_too_many(
    made: list[tuple[str, str]], alpha: float, seed: int
) -> None:
    labels, group = np.array([one for one, _ in made]), np.array([other for _, other in made])
    expected = {}
    for label in set(labels):
        counts = [int(np.sum((labels == label) & (group == who))) for who in "wm"]
        expected[label] = [min(count, int(alpha * min(counts) + 1e-9)) for count in counts]
    if len(set(labels)) < 2 or len(set(group)) < 2 or not np.sum(list(expected.values())):
        return
    split = balanced_split(labels, group, alpha=alpha, seed=seed)
    for label, counts in expected.items():
        kept = labels[split.rows] == label
        assert [int(np.sum(kept & (group[split.rows] == who))) for who in "wm"] == counts
    assert 1 <= split.alpha <= alpha + 1e-9
    assert split.removed == len(labels) - len(split.rows)
    assert set(split.lost) == {label for label, counts in expected.items() if not sum(counts)}


@pytest.mark.parametrize("alpha", [3.0, 2.0, 1.2, 1.0])
def test_several_labels_reach_the_constraint(alpha: float) -> None:
    labels, group = many_labels(np.random.default_rng(0), 3000, skew=0.8)
    split = balanced_split(labels, group, alpha=alpha)
    kept, who = labels[split.rows], group[split.rows]
    counts = np.stack([kept[who == one].sum(axis=0) for one in (0, 1)])
    assert (counts.max(axis=0) <= alpha * counts.min(axis=0) + 1e-9).all()
    assert split.alpha == pytest.approx((counts.max(axis=0) / counts.min(axis=0)).max())
    # Removing rows by their number of labels alone would leave 184 at alpha = 1.2.
    assert len(split.rows) > 800


def test_a_loose_constraint_removes_nothing_and_rows_keep_their_order() -> None:
    labels, group = many_labels(np.random.default_rng(1), 500)
    split = balanced_split(labels, group, alpha=100)
    assert split.rows.tolist() == list(range(500))
    assert split.removed == 0


def test_rows_with_few_labels_go_first() -> None:
    labels = np.array([[1, 0, 0]] * 3 + [[1, 1, 1]] * 2 + [[1, 1, 1]] * 2)
    group = ["w"] * 5 + ["m"] * 2
    split = balanced_split(labels, group, alpha=1)
    assert split.rows.tolist() == [3, 4, 5, 6]


def test_what_cannot_be_balanced() -> None:
    for alpha in (0.5, np.nan, np.inf):
        with pytest.raises(InputError, match=f"finite and 1 or more, found {alpha}"):
            balanced_split(["a", "b"], ["w", "m"], alpha=alpha)
    with pytest.raises(InputError, match="no row with a label is left"):
        balanced_split(["a", "b"] * 5, ["w", "m"] * 5, alpha=2)
