"""Ranks only what can be told apart: groups by hand, a slow path, and no false ranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmprobe.core.tally import Floats
from lmprobe.sweeping.ranking import Contest, Ranking, bands, rank

TASKS = tuple(f"task {number}" for number in range(12))
FAMILIES = tuple(f"template {number}" for number in range(10))


def contest(*cells: Floats, families: tuple[str, ...] = FAMILIES) -> Contest:
    names = tuple(f"m{number}" for number in range(len(cells)))
    return Contest(names, cells, TASKS, families, "a set")


def noisy(rng: np.random.Generator, shift: float, size: float) -> Floats:
    return shift + rng.normal(0, size, (len(FAMILIES), 2, len(TASKS)))


def test_ranks_and_groups_by_hand() -> None:
    """m0 and m1 overlap, m1 and m2 overlap, m0 and m2 are apart, m3 is apart from all."""
    apart = np.zeros((4, 4), dtype=bool)
    apart[0, 2] = apart[2, 0] = True
    apart[3, :3] = apart[:3, 3] = True
    order = Ranking(("m0", "m1", "m2", "m3"), np.zeros((4, 4)), apart)
    assert order.ranks == ((1, 2), (1, 3), (2, 3), (4, 4))
    assert order.groups == (("m0", "m1"), ("m1", "m2"), ("m3",))


@given(seed=st.integers(0, 10_000), count=st.integers(1, 9), share=st.floats(0, 1))
def test_two_models_share_a_group_if_and_only_if_they_are_not_separated(
    seed: int, count: int, share: float
) -> None:
    upper = np.triu(np.random.default_rng(seed).random((count, count)) < share, 1)
    apart = upper | upper.T
    names = tuple(f"m{number}" for number in range(count))
    groups = Ranking(names, np.zeros((count, count)), apart).groups
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            together = any(one in group and other in group for group in groups)
            assert together == (not apart[i, j])
    assert not any(set(one) < set(other) for one in groups for other in groups)


def test_what_differs_is_separated_and_the_pairing_makes_it_narrow() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 0.1, (len(FAMILIES), 1, len(TASKS)))
    cells = [shared + noisy(rng, shift, 0.01) for shift in (0.3, 0.0, 0.0, 0.6)]
    # A template without a defined pair takes no part.
    cells[0][3] = np.nan
    (found,) = rank([contest(*cells)], replicates=1000)
    assert found.models[2:] == ("m0", "m3")
    assert found.ranks == ((1, 2), (1, 2), (3, 3), (4, 4))
    assert found.halfwidth[1:, 1:].max() < 0.05


@pytest.mark.parametrize(
    ("shift", "separated"), [(0.0, False), (1e-6, False), (4.9e-5, False), (6e-5, True)]
)
def test_a_difference_that_four_decimals_do_not_show_separates_nothing(
    shift: float, separated: bool
) -> None:
    cells = noisy(np.random.default_rng(4), 0.1, 0.1)
    (found,) = rank([contest(cells, cells + shift)], replicates=500)
    assert len(found.groups) == (2 if separated else 1)


def test_one_family_separates_nothing() -> None:
    rng = np.random.default_rng(5)
    cells = [noisy(rng, shift, 0.01) for shift in (0.0, 1.0)]
    (found,) = rank([contest(*cells, families=("all",) * len(FAMILIES))], replicates=200)
    assert found.groups == (("m0", "m1"),)
    assert np.isinf(found.halfwidth).all()


def bootstrap(cells: Floats, replicates: int = 4000) -> float:
    """A slow path: the spread of the mean, resampled template by template and task by task."""
    rng = np.random.default_rng(7)
    values = []
    for _ in range(replicates):
        rows = rng.integers(len(FAMILIES), size=len(FAMILIES))
        columns = rng.integers(len(TASKS), size=len(TASKS))
        values.append(cells.mean(axis=1)[np.ix_(rows, columns)].mean())
    return float(np.std(values, ddof=1))


def student(claims: int, units: int = len(FAMILIES), confidence: float = 0.95) -> float:
    """Student's quantile with Bonferroni, stretched by what resampling takes from a variance."""
    tail = (1 - confidence) / (2 * claims)
    return float(stats.t.isf(tail, units - 1) * np.sqrt(units / (units - 1)))


def test_intervals_are_those_of_the_paired_bootstrap_for_all_pairs_at_once() -> None:
    """Three models have three pairs; those of another contest are claims too."""
    rng = np.random.default_rng(6)
    cells = [noisy(rng, shift, 0.1) for shift in (0.0, 0.1, 0.2)]
    (found,) = rank([contest(*cells)])
    assert found.models == ("m0", "m1", "m2")
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = student(3) * bootstrap(cells[j] - cells[i])
        assert found.halfwidth[i, j] == found.halfwidth[j, i] == pytest.approx(expected, rel=0.06)
    few = Contest(("a", "b"), (cells[0][:, :, :3], cells[1][:, :, :3]), TASKS[:3], FAMILIES, "set")
    together, _ = rank([contest(*cells), few])
    # Four pairs, and three tasks are the fewest units that are drawn.
    ratio = student(4, units=3) / student(3)
    np.testing.assert_allclose(together.halfwidth, found.halfwidth * ratio, rtol=0.1)
    wide = rank([contest(*cells)], confidence=0.99)[0].halfwidth
    np.testing.assert_allclose(
        wide, found.halfwidth * student(3, confidence=0.99) / student(3), rtol=1e-12
    )


def test_a_band_covers_every_step_at_once() -> None:
    rng = np.random.default_rng(8)
    cells = [noisy(rng, shift, 0.1) for shift in (0.0, 0.1, 0.2)]
    (band,) = bands([contest(*cells)], confidence=0.9)
    for interval, own in zip(band, cells, strict=True):
        half = student(3, confidence=0.9) * bootstrap(own)
        ends = (own.mean() - half, own.mean() + half)
        assert (interval.low, interval.high) == pytest.approx(ends, abs=0.06 * half)
        assert (interval.confidence, interval.method) == (0.9, "bonferroni-t")
    flat = np.full((len(FAMILIES), 2, len(TASKS)), 0.25)
    ((step,),) = bands([contest(flat)], replicates=50)
    assert not step.bounded


def test_families_are_drawn_whole() -> None:
    """Templates of one family that cancel each other do not vary, whatever is drawn."""
    cells = np.array([[[1.0, 1.0]], [[-1.0, -1.0]], [[2.0, 2.0]], [[-2.0, -2.0]]])
    pair = Contest(
        ("a", "b"), (cells, np.zeros_like(cells)), ("t", "u"), ("f", "f", "g", "g"), "a set"
    )
    (found,) = rank([pair], replicates=50)
    assert found.halfwidth[0, 1] == pytest.approx(0, abs=1e-12)


def test_contests_of_one_set_share_their_draws_and_a_seed_gives_them_again() -> None:
    rng = np.random.default_rng(2)
    first = contest(noisy(rng, 0, 0.1), noisy(rng, 0, 0.1))
    other = Contest(first.models, first.cells, first.tasks, first.families, "another set")
    drawn = [one.halfwidth.tolist() for one in rank([first, first, other], replicates=50)]
    assert drawn[0] == drawn[1] != drawn[2]
    zero, again, one = (rank([first], seed=seed)[0].halfwidth[0, 1] for seed in (0, 0, 1))
    assert zero == again != one


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_spreads_do_not_drown_in_what_models_share_or_differ_by(far: float) -> None:
    rng = np.random.default_rng(0)
    shared = 100 * rng.normal(0, 1, (len(FAMILIES), 1, len(TASKS)))
    small = [noisy(rng, 0, 1e-3) for _ in range(2)]
    (plain,) = rank([contest(*small)])
    (found,) = rank([contest(shared + small[0], shared + small[1] + far)])
    np.testing.assert_allclose(found.halfwidth, plain.halfwidth, rtol=1e-4, atol=1e-9)


# What differs between copies of one model: single cells, whole templates, whole tasks.
NOISE = {"cells": (10, 2, 12), "templates": (10, 1, 1), "tasks": (1, 1, 12)}


@pytest.mark.parametrize(("axis", "sweeps"), [("cells", 300), ("templates", 100), ("tasks", 100)])
def test_equal_models_are_seldom_separated(axis: str, sweeps: int) -> None:
    """20 copies of one model with independent noise: a false ranking is as rare as promised,
    by a one-sided binomial test at 0.01. docs/coverage.md has the shares."""
    rng = np.random.default_rng(len(axis))
    separated = 0
    for seed in range(sweeps):
        shared = rng.normal(0, 0.1, (10, 2, 12))
        cells = [shared + rng.normal(0, 0.02, NOISE[axis]) for _ in range(20)]
        (found,) = rank([contest(*cells)], replicates=600, seed=seed)
        separated += bool(found.separated.any())
    assert stats.binomtest(separated, sweeps, 0.05, alternative="greater").pvalue > 0.01
