"""Ranks only what can be told apart: groups by hand, planted differences, no false ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from lmprobe.stats.verdicts import IntervalSettings
from lmprobe.sweeping.summary import Contest, Ranking, band, rank
from tests.stats.tables import moved_tables

SHAPE = (10, 12)


def contest(*moved: np.ndarray, **options: Any) -> Contest:
    """Return models that were moved by so much per template and task, (K, T)."""
    names = tuple(f"m{number}" for number in range(len(moved)))
    return Contest(names, tuple(moved_tables(table, **options) for table in moved))


def noisy(rng: np.random.Generator, shift: float, size: float) -> np.ndarray:
    return shift + rng.normal(0, size, SHAPE)


def test_ranks_and_groups_by_hand() -> None:
    """m0 and m1 overlap, m1 and m2 overlap, m0 and m2 are apart, m3 is apart from all."""
    apart = np.zeros((4, 4), dtype=bool)
    apart[0, 2] = apart[2, 0] = True
    apart[3, :3] = apart[:3, 3] = True
    order = Ranking(("m0", "m1", "m2", "m3"), apart)
    assert order.ranks == ((1, 2), (1, 3), (2, 3), (4, 4))
    assert order.groups == (("m0", "m1"), ("m1", "m2"), ("m3",))


@given(seed=st.integers(0, 10_000), count=st.integers(1, 9), share=st.floats(0, 1))
def test_two_models_share_a_group_if_and_only_if_they_are_not_separated(
    seed: int, count: int, share: float
) -> None:
    upper = np.triu(np.random.default_rng(seed).random((count, count)) < share, 1)
    apart = upper | upper.T
    names = tuple(f"m{number}" for number in range(count))
    groups = Ranking(names, apart).groups
    for i, name in enumerate(names):
        for j, other in enumerate(names):
            together = any(name in group and other in group for group in groups)
            assert together == (not apart[i, j])
    assert not any(set(group) < set(other) for group in groups for other in groups)


def test_what_differs_is_separated_and_the_pairing_makes_it_narrow() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 0.1, SHAPE)
    moved = [shared + noisy(rng, shift, 0.005) for shift in (0.05, 0.0, 0.0, 0.1)]
    (result,) = rank([contest(*moved)], IntervalSettings())
    assert result.models[2:] == ("m0", "m3")
    assert result.ranks == ((1, 2), (1, 2), (3, 3), (4, 4))


@pytest.mark.parametrize(
    ("shift", "separated"), [(0.0, False), (1e-6, False), (4.9e-5, False), (6e-5, True)]
)
def test_a_difference_that_four_decimals_do_not_show_separates_nothing(
    shift: float, separated: bool
) -> None:
    rng = np.random.default_rng(4)
    moved = noisy(rng, 0.1, 0.05)
    (result,) = rank([contest(moved, moved + shift + noisy(rng, 0, 1e-7))], IntervalSettings())
    assert len(result.groups) == (2 if separated else 1)


def test_one_family_separates_nothing() -> None:
    rng = np.random.default_rng(5)
    moved = [noisy(rng, shift, 0.01) for shift in (0.0, 0.3)]
    (result,) = rank([contest(*moved, families=("all",) * SHAPE[0])], IntervalSettings())
    assert result.groups == (("m0", "m1"),)


def test_templates_of_one_family_count_together() -> None:
    """Copies of two templates are no more evidence than the two."""
    rng = np.random.default_rng(6)
    pair = [noisy(rng, shift, 0.02)[:2] for shift in (0.0, 0.03)]
    families = ("f",) * 5 + ("g",) * 5
    copied = contest(*(np.repeat(moved, 5, axis=0) for moved in pair), families=families)
    assert (
        rank([copied], IntervalSettings())[0].groups
        == rank([contest(*pair)], IntervalSettings())[0].groups
    )
    assert len(rank([contest(*(np.repeat(moved, 5, axis=0) for moved in pair))],
                    IntervalSettings())[0].groups) == 2  # fmt: skip


def test_more_claims_need_more_evidence() -> None:
    """Of one contest at a barely sufficient confidence; another contest's pairs are claims too."""
    rng = np.random.default_rng(7)
    moved = [noisy(rng, shift, 0.02) for shift in (0.0, 0.02)]
    difference = moved_tables(moved[1] - moved[0])
    p = IntervalSettings().numbers_of(difference)["value"].spread().p_value()
    barely = IntervalSettings(confidence=1 - 1.5 * p)
    others = contest(*(noisy(rng, 0, 0.02) for _ in range(2)))
    assert len(rank([contest(*moved)], barely)[0].groups) == 2
    assert len(rank([contest(*moved), others], barely)[0].groups) == 1
    assert len(rank([contest(*moved)], IntervalSettings(confidence=1 - 0.9 * p))[0].groups) == 1


def test_a_band_covers_every_step_at_once() -> None:
    rng = np.random.default_rng(8)
    steps = contest(*(noisy(rng, shift, 0.05) for shift in (0.0, 0.1, 0.2)))
    together, alone = (
        band(steps, IntervalSettings(confidence=0.9, simultaneous=simultaneous))
        for simultaneous in (True, False)
    )
    for wide, single, table in zip(together, alone, steps.tables, strict=True):
        assert single.low - 1e-12 > wide.low
        assert table.published()["value"].mean() in single
        assert (wide.confidence, wide.method) == (0.9, "bootstrap")
    (step,) = band(contest(np.full(SHAPE, 0.25)), IntervalSettings(simultaneous=True))
    assert not step.bounded


# What differs between copies of one model: single cells, whole templates, whole tasks.
NOISE = {"cells": (10, 12), "templates": (10, 1), "tasks": (1, 12)}


@pytest.mark.slow
@pytest.mark.parametrize("axis", NOISE)
def test_equal_models_are_seldom_separated(axis: str) -> None:
    """20 copies of one model with independent noise: a false ranking is as rare as promised,
    by a one-sided binomial test at 0.01. docs/appendix/coverage.md has the shares."""
    rng = np.random.default_rng(len(axis))
    separated, sweeps = 0, 60
    for seed in range(sweeps):
        shared = rng.normal(0, 0.05, SHAPE)
        moved = [shared + rng.normal(0, 0.02, NOISE[axis]) for _ in range(20)]
        (result,) = rank([contest(*moved)], IntervalSettings(seed=seed))
        separated += bool(result.separated.any())
    assert stats.binomtest(separated, sweeps, 0.05, alternative="greater").pvalue > 0.01
