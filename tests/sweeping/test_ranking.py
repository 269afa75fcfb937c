"""Ranks only what can be told apart: groups by hand, a slow path, and no false ranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmprobe.core.tally import Floats
from lmprobe.sweeping.ranking import Contest, Ranking, _spread_of_differences, bands, rank

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


def test_a_model_that_varies_is_like_others_on_both_sides_of_its_neighbours() -> None:
    """m1 varies: only m0 and m2 are apart, and nobody may read that m1 and m3 are."""
    apart = np.zeros((4, 4), dtype=bool)
    for low, high in ((0, 1), (1, 2), (0, 2)):
        apart[low, high] = apart[high, low] = True
    order = Ranking(("m0", "m1", "m2", "m3"), np.zeros((4, 4)), apart)
    assert order.groups == (("m0", "m3"), ("m1", "m3"), ("m2", "m3"))
    assert order.ranks == ((1, 2), (2, 3), (3, 4), (1, 4))


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


def test_clear_differences_are_ranked_and_equal_models_are_not() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 0.1, (len(FAMILIES), 1, len(TASKS)))
    cells = [shared + noisy(rng, shift, 0.01) for shift in (0.3, 0.0, 0.0, 0.6)]
    (found,) = rank([contest(*cells)], replicates=1000)
    assert found.models[2:] == ("m0", "m3")
    assert found.ranks == ((1, 2), (1, 2), (3, 3), (4, 4))
    # What the models share is no part of their differences: the pairing makes them narrow.
    assert found.halfwidth.max() < 0.05


def test_identical_models_are_never_separated() -> None:
    rng = np.random.default_rng(4)
    cells = noisy(rng, 0.1, 0.1)
    (found,) = rank([contest(cells, cells.copy(), cells + 1e-6)], replicates=500)
    assert found.groups == (("m0", "m1", "m2"),)


def test_one_family_separates_nothing() -> None:
    rng = np.random.default_rng(5)
    cells = [noisy(rng, shift, 0.01) for shift in (0.0, 1.0)]
    (found,) = rank([contest(*cells, families=("all",) * len(FAMILIES))], replicates=200)
    assert found.groups == (("m0", "m1"),)


def test_two_models_have_the_interval_of_the_paired_bootstrap() -> None:
    """A slow path: resample template by template, task by task, and take Student's tail."""
    rng = np.random.default_rng(6)
    first, second = noisy(rng, 0.0, 0.1), noisy(rng, 0.1, 0.1)
    (found,) = rank([contest(first, second)], replicates=4000)
    difference = (second - first).mean(axis=1)
    draws = np.random.default_rng(7)
    values = []
    for _ in range(4000):
        rows = draws.integers(len(FAMILIES), size=len(FAMILIES))
        columns = draws.integers(len(TASKS), size=len(TASKS))
        values.append(difference[np.ix_(rows, columns)].mean())
    spread = np.std(values, ddof=1)
    units = len(FAMILIES)
    wide = stats.t.ppf(0.975, units - 1) * np.sqrt(units / (units - 1))
    assert found.halfwidth[0, 1] == pytest.approx(wide * spread, rel=0.06)


def test_a_band_covers_every_step_at_once() -> None:
    rng = np.random.default_rng(8)
    cells = [noisy(rng, shift, 0.1) for shift in (0.0, 0.1, 0.2)]
    ((first, second, third),) = bands([contest(*cells)], replicates=1000)
    (alone,) = bands([contest(cells[0])], replicates=1000)
    assert alone[0].width < first.width
    assert 0.0 in first
    assert 0.1 in second
    assert 0.2 in third


def test_spreads_of_differences_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(0, 1, (300, 1)) + rng.normal(0, 1e-5, (300, 5))
    values[rng.random(values.shape) < 0.1] = np.nan
    values[:, 4] = np.nan
    found = _spread_of_differences(values)
    for i in range(4):
        for j in range(4):
            slow = np.nanstd(values[:, i] - values[:, j], ddof=1)
            assert found[i, j] == pytest.approx(slow, rel=1e-6, abs=1e-15)
    assert np.isnan(found[4]).all()


def test_a_template_without_a_defined_pair_takes_no_part() -> None:
    rng = np.random.default_rng(10)
    cells = [noisy(rng, shift, 0.01) for shift in (0.0, 0.5)]
    cells[0][3] = np.nan
    (found,) = rank([contest(*cells)], replicates=200)
    assert found.ranks == ((1, 1), (2, 2))


# What differs between copies of one model: single cells, whole templates, whole tasks.
NOISE = {"cells": (10, 2, 12), "templates": (10, 1, 1), "tasks": (1, 1, 12)}


@pytest.mark.parametrize(("axis", "sweeps"), [("cells", 500), ("templates", 150), ("tasks", 150)])
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


def test_spreads_do_not_drown_in_what_models_differ_by() -> None:
    noise = np.random.default_rng(0).normal(0, 1e-3, (200, 3))
    values = noise + np.array([0.0, 1e6, -3e6])
    spreads = _spread_of_differences(values)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = np.std(noise[:, i] - noise[:, j], ddof=1)
        assert spreads[i, j] == pytest.approx(expected, rel=1e-4)
