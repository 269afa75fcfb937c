"""Balanced rounds, how their guesses are scored, the interval by hand; balanced data sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import AttackerInput, GroupLabels, read_groups
from lmprobe.leakage.rounds import (
    Round,
    Trial,
    balanced_split,
    draw_rounds,
    leakage_interval,
    read_split,
    score_guesses,
)
from tests.leakage.leaking_data import many_labels


def groups_of(*sizes: int) -> GroupLabels:
    return read_groups(np.repeat([f"g{number}" for number in range(len(sizes))], sizes))


@given(
    st.lists(st.integers(50, 90), min_size=2, max_size=4),
    st.sampled_from([1.0, 0.5, 0.26, 0.01]),
    st.integers(0, 99),
)
def test_every_part_holds_every_group_equally_often(
    sizes: list[int], share: float, seed: int
) -> None:
    groups, rng = groups_of(*sizes), np.random.default_rng(seed)
    drawn = draw_rounds(groups, None, rounds=2, share=share, rng=rng)
    least = min(sizes)
    # A share of the train rows, but never fewer than ten of a group.
    expected = [max(10, round(share * int(0.6 * least))), int(0.2 * least), int(0.2 * least)]
    for one in drawn:
        rows = [one.train, one.dev, one.test]
        for part, size in zip(rows, expected, strict=True):
            assert np.bincount(groups.codes[part]).tolist() == [size] * len(sizes)
        assert len(set(np.concatenate(rows))) == sum(map(len, rows))
    assert set(drawn[0].test) != set(drawn[1].test)
    assert drawn[0].seed != drawn[1].seed


def test_rows_stay_in_their_part_and_limits_cap_them() -> None:
    groups = groups_of(100, 60)
    split = read_split(["Train", "val", "TEST", "train"] * 40, 160)
    rng = np.random.default_rng(0)
    for limits, sizes in ((None, [60, 30, 30]), ((12, 11, 99), [24, 22, 30])):
        one, other = draw_rounds(groups, split, rounds=2, rng=rng, limits=limits)
        parts = (one.train, one.dev, one.test)
        assert [len(part) for part in parts] == sizes
        for number, part in enumerate(parts):
            assert (split[part] == number).all()
            assert np.ptp(np.bincount(groups.codes[part])) == 0
        assert set(one.train) != set(other.train)


def test_too_few_examples_to_balance() -> None:
    rng = np.random.default_rng(0)
    assert len(draw_rounds(groups_of(50, 50), None, rounds=2, rng=rng)) == 2
    with pytest.raises(InputError, match="'g1' has 49 rows, at least 50 of each group"):
        draw_rounds(groups_of(50, 49), None, rounds=2, rng=rng)
    split = read_split(["train", "dev", "test"] * 20, 60)
    assert len(draw_rounds(groups_of(30, 30), split, rounds=2, rng=rng)[0].test) == 20
    split[np.flatnonzero(split == 1)[-1]] = 2
    with pytest.raises(InputError, match="'g1' has 9 rows in the part 'dev', at least 10 of"):
        draw_rounds(groups_of(30, 30), split, rounds=2, rng=rng)


def test_words_of_a_split() -> None:
    words = ["train", "dev", "test", "val", "valid", "validation", "development"]
    assert read_split(words, 7).tolist() == [0, 1, 2, 1, 1, 1, 1]
    with pytest.raises(InputError, match="found 'holdout'"):
        read_split(["train", "holdout"], 2)
    with pytest.raises(InputError, match="2 rows where"):
        read_split(["train", "test"], 3)


def trial(test: list[int]) -> Trial:
    none = np.array([], dtype=np.int64)
    inputs = AttackerInput(np.zeros(5, dtype=np.int64), 2)
    groups = GroupLabels(np.array([0, 1, 0, 1, 1]), ("a", "b"))
    return Trial(inputs, groups, Round(none, none, np.array(test), 0))


def test_guesses_are_scored_by_round_and_by_row() -> None:
    trials = [trial([0, 1, 3]), trial([1, 3]), trial([3, 4])]
    guesses = [np.array([0, 0, 1]), np.array([1, 1]), np.array([0, 0])]
    values, by_row = score_guesses(guesses, trials)
    assert values == pytest.approx((2 / 3, 1.0, 0.0))
    # Row 1 was right in one of two rounds, row 3 in two of three, row 2 was never tested.
    assert by_row == pytest.approx([1.0, 0.5, np.nan, 2 / 3, 0.0], nan_ok=True)
    with pytest.raises(ValueError, match="argument"):
        score_guesses(guesses[:1], trials)


SCORE = np.array([0.1, 0.5, 0.4, 0.2, 0.0, 0.3, np.nan, 0.6, 0.1, 0.2])
TWO = GroupLabels(np.array([0] * 4 + [1] * 6), ("m", "f"))
THREE = GroupLabels(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2]), ("a", "b", "c"))


@pytest.mark.parametrize("groups", [TWO, THREE])
@pytest.mark.parametrize("values", [[0.2, 0.3, 0.28], [0.25, 0.25]])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_interval_is_satterthwaites_by_hand(
    groups: GroupLabels, values: list[float], confidence: float
) -> None:
    between = np.var(values, ddof=1) / len(values)
    tested = [SCORE[(groups.codes == code) & ~np.isnan(SCORE)] for code in set(groups.codes)]
    # Every group weighs the same, and has one made-up row at each bound.
    within = sum(np.var([*own, -1, 1], ddof=1) / len(own) for own in tested) / len(tested) ** 2
    freedom = (between + within) ** 2 / (between**2 / (len(values) - 1) + within**2 / 8)
    half = stats.t.ppf((1 + confidence) / 2, freedom) * math.sqrt(between + within)
    expected = np.clip([np.mean(values) - half, np.mean(values) + half], -1, 1)
    found = leakage_interval(values, SCORE, groups, bounds=(-1.0, 1.0), confidence=confidence)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert (found.confidence, found.method) == (confidence, "t over rounds and test rows")


labelled = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("wmx")), min_size=4, max_size=60
)


@given(labelled, st.sampled_from([1.0, 1.15, 1.5, 2.0, 3.0]), st.integers(0, 9))
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
