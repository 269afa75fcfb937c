from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmprobe.errors import InputError
from lmprobe.leakage.balanced import _ratio, _worth, balanced_split
from tests.leakage.leaking_data import many_labels

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


def kept(first: int, second: int, alpha: float) -> list[int]:
    """Return how many rows of two groups stay of one label; another label is even."""
    labels = ["x"] * (first + second) + ["y", "y"]
    group = ["w"] * first + ["m"] * second + ["w", "m"]
    split = balanced_split(labels, group, alpha=alpha)
    own = split.rows[split.rows < first + second]
    assert split.removed == first + second - len(own)
    return [int(np.sum(own < first)), int(np.sum(own >= first))]


def test_the_limit_is_rounded_down_to_whole_rows() -> None:
    assert kept(2, 9, 1.95) == [2, 3]
    assert kept(2, 9, 2) == [2, 4]
    assert kept(9, 2, 1) == [2, 2]
    # 1.15 * 100 is 114.99999999999999 in floating point.
    assert kept(130, 100, 1.15) == [115, 100]
    assert kept(4, 3, 1.5) == [4, 3]


def test_a_label_of_one_row_is_lost_and_a_label_that_never_occurs_is_not() -> None:
    labels = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    split = balanced_split(labels, ["w", "m", "w", "m", "w"], alpha=2)
    assert split.lost == ("1", "2")
    assert split.rows.tolist() == [0, 1, 3]
    assert (split.alpha, split.removed) == (2.0, 2)


def test_surplus_counts_before_the_number_of_labels() -> None:
    counts = np.array([[5, 2, 3], [1, 4, 3]])
    values = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]])
    # The first group has too many of the first label, too few of the second.
    labels, worth = _worth(values, counts, 0)
    assert worth.tolist() == [-1, 0, 1, -1]
    assert labels.tolist() == [1, 2, 2, 2]
    assert _worth(values, counts, 1)[1].tolist() == [1, 0, -1, 1]
    # Of three groups, the middle between the most and the fewest decides.
    three = np.array([[10, 1], [4, 1], [0, 7]])
    assert _worth(np.eye(2, dtype=int), three, 1)[1].tolist() == [1, 1]
    assert _worth(np.eye(2, dtype=int), three, 2)[1].tolist() == [1, -1]


def test_the_ratio_is_the_largest_over_the_labels_that_occur() -> None:
    assert _ratio(np.array([[6, 0, 2, 5], [4, 0, 4, 5], [4, 0, 3, 5]])) == 2.0


def test_three_groups_are_all_cut_to_the_rarest() -> None:
    labels = ["x"] * 18 + ["y"] * 3
    group = ["a"] * 9 + ["b"] * 6 + ["c"] * 3 + ["a", "b", "c"]
    split = balanced_split(labels, group, alpha=1)
    assert np.unique(np.array(group)[split.rows], return_counts=True)[1].tolist() == [4, 4, 4]
    assert split.alpha == 1.0


def test_the_labels_are_taken_again_until_every_one_is_balanced() -> None:
    # Removing for one label unbalances others, so that one pass is not enough.
    for seed in range(5):
        labels, group = many_labels(np.random.default_rng(seed), 200, skew=0.8)
        split = balanced_split(labels, group, alpha=1.1, seed=seed)
        counts = [labels[split.rows][group[split.rows] == one].sum(axis=0) for one in (0, 1)]
        assert (np.max(counts, axis=0) <= 1.1 * np.min(counts, axis=0) + 1e-9).all()


def test_which_rows_go_is_decided_by_the_seed() -> None:
    labels, group = ["x"] * 60 + ["y", "y"], ["w"] * 40 + ["m"] * 20 + ["w", "m"]
    rows = [balanced_split(labels, group, alpha=1, seed=seed).rows.tolist() for seed in (0, 0, 1)]
    assert rows[0] == rows[1] == balanced_split(labels, group, alpha=1).rows.tolist()
    assert rows[1] != rows[2]


def test_a_ratio_just_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="1 or more"):
        balanced_split(["a", "b"] * 4, ["w", "w", "m", "m"] * 2, alpha=0.999)
    assert balanced_split(["a", "b"] * 4, ["w", "w", "m", "m"] * 2, alpha=1).removed == 0
