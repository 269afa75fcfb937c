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
