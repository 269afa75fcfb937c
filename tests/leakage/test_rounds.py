from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmprobe.errors import InputError
from lmprobe.leakage.inputs import GroupLabels, read_groups
from lmprobe.leakage.rounds import draw_rounds, read_split


def groups_of(*sizes: int) -> GroupLabels:
    names = [f"g{number}" for number in range(len(sizes))]
    return read_groups(np.repeat(names, sizes))


@given(st.lists(st.integers(50, 90), min_size=2, max_size=4), st.integers(0, 99))
def test_every_part_holds_every_group_equally_often(sizes: list[int], seed: int) -> None:
    groups = groups_of(*sizes)
    for one in draw_rounds(groups, None, rounds=2, rng=np.random.default_rng(seed)):
        rows = [one.train, one.dev, one.test]
        for part, share in zip(rows, (0.6, 0.2, 0.2), strict=True):
            counts = np.bincount(groups.codes[part], minlength=len(sizes))
            assert counts.tolist() == [int(share * min(sizes))] * len(sizes)
        assert len(set(np.concatenate(rows))) == sum(map(len, rows))


def test_rows_stay_in_their_part_and_rounds_differ() -> None:
    groups = groups_of(100, 60)
    split = read_split(["train", "val", "test", "train"] * 40, 160)
    one, other = draw_rounds(groups, split, rounds=2, rng=np.random.default_rng(0))
    for number, part in enumerate((one.train, one.dev, one.test)):
        assert (split[part] == number).all()
        assert np.ptp(np.bincount(groups.codes[part])) == 0
    assert len(one.train) == 60
    assert set(one.train) != set(other.train)
    assert one.seed != other.seed


def test_share_and_limits() -> None:
    groups, rng = groups_of(100, 100), np.random.default_rng(0)
    assert len(draw_rounds(groups, None, rounds=2, share=0.5, rng=rng)[0].train) == 60
    drawn = draw_rounds(groups, None, rounds=2, limits=(30, 15, 99), rng=rng)[0]
    assert [len(drawn.train), len(drawn.dev), len(drawn.test)] == [60, 30, 40]


def test_too_few_examples_to_balance() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="'g1' has 8 rows, at least 50 of each"):
        draw_rounds(groups_of(500, 8), None, rounds=2, rng=rng)
    split = read_split(["train"] * 60 + ["dev"] * 30 + ["test"] * 30, 120)
    with pytest.raises(InputError, match="'g1' has 0 rows in the part 'train'"):
        draw_rounds(groups_of(60, 60), split, rounds=2, rng=rng)


@pytest.mark.parametrize(("rounds", "share"), [(1, 1.0), (2, 0.0), (2, 1.5)])
def test_settings_that_make_no_sense(rounds: int, share: float) -> None:
    with pytest.raises(InputError, match="must"):
        draw_rounds(
            groups_of(90, 90), None, rounds=rounds, share=share, rng=np.random.default_rng()
        )


def test_split_words() -> None:
    with pytest.raises(InputError, match="found 'holdout'"):
        read_split(["train", "holdout"], 2)
    with pytest.raises(InputError, match="2 rows where"):
        read_split(["train", "test"], 3)


def test_the_rarest_group_gives_all_its_rows_once() -> None:
    # Of 50 rows 30, 10 and 10: nothing is left over.
    groups = groups_of(50, 80)
    one, _ = draw_rounds(groups, None, rounds=2, rng=np.random.default_rng(1))
    used = np.concatenate([one.train, one.dev, one.test])
    assert sorted(used[groups.codes[used] == 0]) == list(range(50))
    assert [len(one.train), len(one.dev), len(one.test)] == [60, 20, 20]


def test_fifty_rows_of_each_group_are_enough_and_forty_nine_are_not() -> None:
    rng = np.random.default_rng(0)
    assert len(draw_rounds(groups_of(50, 50), None, rounds=2, rng=rng)) == 2
    with pytest.raises(InputError, match="'g1' has 49 rows, at least 50 of each group"):
        draw_rounds(groups_of(50, 49), None, rounds=2, rng=rng)


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_ten_rows_of_each_group_in_each_part_are_enough(part: str) -> None:
    groups, rng = groups_of(30, 30), np.random.default_rng(0)
    split = read_split(["train", "dev", "test"] * 20, 60)
    (one, *_) = draw_rounds(groups, split, rounds=3, rng=rng)
    assert [len(one.train), len(one.dev), len(one.test)] == [20, 20, 20]
    # One row of the second group moves to another part.
    number = ["train", "dev", "test"].index(part)
    split[np.flatnonzero((split == number) & (groups.codes == 1))[0]] = (number + 1) % 3
    with pytest.raises(InputError, match=f"'g1' has 9 rows in the part '{part}', at least 10 of"):
        draw_rounds(groups, split, rounds=2, rng=rng)


def test_a_share_of_the_train_rows_is_rounded_and_never_below_ten() -> None:
    groups = groups_of(100, 100)
    for share, kept in ((0.5, 30), (0.26, 16), (0.01, 10), (1.0, 60)):
        drawn = draw_rounds(groups, None, rounds=2, share=share, rng=np.random.default_rng(0))
        assert [np.bincount(groups.codes[one.train]).tolist() for one in drawn] == [
            [kept, kept]
        ] * 2
        assert [len(drawn[0].dev), len(drawn[0].test)] == [40, 40]
    every = draw_rounds(groups, None, rounds=2, rng=np.random.default_rng(0))
    assert [len(one.train) for one in every] == [120, 120]


def test_limits_are_one_number_for_each_part() -> None:
    with pytest.raises(ValueError, match="argument"):
        draw_rounds(
            groups_of(90, 90), None, rounds=2, limits=(30, 15), rng=np.random.default_rng(0)
        )


def test_seeds_are_positive_numbers_of_31_bits() -> None:
    drawn = draw_rounds(groups_of(50, 50), None, rounds=40, rng=np.random.default_rng(0))
    seeds = [one.seed for one in drawn]
    assert 2**30 < max(seeds) < 2**31
    assert len(set(seeds)) == 40


def test_split_words_in_any_case_and_their_other_names() -> None:
    words = ["Train", "DEV", "test", "val", "valid", "validation", "development"]
    assert read_split(words, 7).tolist() == [0, 1, 2, 1, 1, 1, 1]
