"""Ranks and bands from spreads worked out by hand, at the limits of what separates models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.core.tally import Floats
from lmprobe.sweeping import ranking
from lmprobe.sweeping.ranking import Contest, _band, _critical, _ranking, bands, rank


def flat(*values: float, tasks: int = 1, families: tuple[str, ...] = ("f",)) -> Contest:
    """Models that have the same value in every cell."""
    shape = (len(families), 1, tasks)
    return Contest(
        tuple(f"m{number}" for number in range(len(values))),
        tuple(np.full(shape, value) for value in values),
        tuple(f"task {number}" for number in range(tasks)),
        families,
        "a set",
    )


@pytest.mark.parametrize("units", [2, 3, 10])
@pytest.mark.parametrize("claims", [1, 2, 7])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_quantile_is_students_with_bonferroni(
    units: int, claims: int, confidence: float
) -> None:
    student = stats.t.ppf(1 - (1 - confidence) / (2 * claims), units - 1)
    expected = student * math.sqrt(units / (units - 1))
    assert _critical(claims, units, confidence) == pytest.approx(expected)


def test_one_unit_claims_nothing_and_no_claim_is_as_one() -> None:
    assert _critical(3, 1, 0.95) == math.inf
    assert _critical(0, 5, 0.95) == _critical(1, 5, 0.95) < _critical(2, 5, 0.95)


# The difference of the second model from the first: its standard deviation is 1.
DRAWN = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, -1.0]])


@pytest.mark.parametrize(("difference", "apart"), [(0.5, False), (0.5 + 1e-9, True)])
def test_a_difference_of_half_the_width_separates_nothing(difference: float, apart: bool) -> None:
    found = _ranking(flat(0.0, difference), DRAWN, 0.5)
    assert found.halfwidth[0, 1] == 0.5
    assert found.separated.tolist() == [[False, apart], [apart, False]]


@pytest.mark.parametrize(("difference", "apart"), [(5e-5, True), (4.999e-5, False)])
def test_a_difference_that_four_decimals_do_not_show_separates_nothing(
    difference: float, apart: bool
) -> None:
    found = _ranking(flat(difference, 0.0), np.zeros((3, 2)), 2.0)
    assert found.models == ("m1", "m0")
    assert bool(found.separated[0, 1]) is apart


def test_without_a_quantile_nothing_is_separated() -> None:
    found = _ranking(flat(0.0, 5.0), np.zeros((3, 2)), math.inf)
    assert found.groups == (("m0", "m1"),)
    assert np.isinf(found.halfwidth).all()


def test_values_that_are_drawn_go_with_their_models() -> None:
    """The spread of a difference belongs to the models in the order of their values."""
    drawn = np.array([[1.0, 0.0, 4.0], [0.0, 0.0, 0.0], [-1.0, 0.0, -4.0]])
    found = _ranking(flat(0.3, 0.2, 0.1), drawn, 1.0)
    assert found.models == ("m2", "m1", "m0")
    np.testing.assert_allclose(found.halfwidth, [[0, 4, 3], [4, 0, 1], [3, 1, 0]], atol=1e-12)


def test_a_band_is_wide_by_the_quantile_of_all_its_steps() -> None:
    contest = flat(0.25, 0.5, tasks=3, families=("f", "g"))
    first, second = _band(contest, DRAWN[:, ::-1] * 2, 0.9)
    half = 2 * _critical(2, 2, 0.9)
    assert (first.low, first.high) == pytest.approx((0.25 - half, 0.25 + half))
    assert (first.confidence, first.method) == (0.9, "bonferroni-t")
    # The second step does not vary, so that its interval is not defined.
    assert not second.bounded


def test_a_spread_leaves_out_draws_without_a_value() -> None:
    drawn = np.array([[2.0], [np.nan], [0.0], [-2.0]])
    (only,) = _band(flat(0.0, tasks=2, families=("f", "g")), drawn, 0.95)
    assert only.high == pytest.approx(2 * _critical(1, 2, 0.95))


def test_claims_are_counted_over_all_contests_and_units_are_the_fewest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four models have six pairs, three have three."""
    asked: list[tuple[int, int, float]] = []

    def critical(claims: int, units: int, confidence: float) -> float:
        asked.append((claims, units, confidence))
        return 1.0

    monkeypatch.setattr(ranking, "_critical", critical)
    many = flat(0.1, 0.2, 0.3, 0.4, tasks=9, families=("f", "g", "h", "h"))
    few = flat(0.1, 0.2, 0.3, tasks=2, families=("f", "g", "h", "h"))
    rank([many, few], replicates=10)
    rank([many], replicates=10)
    bands([many, few], replicates=10, confidence=0.8)
    assert asked == [(9, 2, 0.95), (6, 3, 0.95), (4, 3, 0.8), (3, 2, 0.8)]


def noisy() -> Contest:
    rng = np.random.default_rng(2)
    cells = tuple(rng.normal(0, 0.1, (4, 2, 5)) for _ in range(3))
    names = tuple(f"task {number}" for number in range(5))
    return Contest(("a", "b", "c"), cells, names, ("f", "g", "h", "h"), "a set")


def test_the_defaults_are_seed_0_and_four_thousand_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    own = ranking.draws

    def draws(replicates: int, units: int, rng: np.random.Generator) -> Floats:
        drawn.append(replicates)
        return own(replicates, units, rng)

    monkeypatch.setattr(ranking, "draws", draws)
    (plain,), (first,), (second,) = (
        rank([noisy()], **seed) for seed in ({}, {"seed": 0}, {"seed": 1})
    )
    assert plain.halfwidth.tolist() == first.halfwidth.tolist() != second.halfwidth.tolist()
    assert bands([noisy()]) == bands([noisy()], seed=0) != bands([noisy()], seed=1)
    assert bands([noisy()]) == bands([noisy()], confidence=0.95)
    assert set(drawn) == {4000}


def test_contests_of_one_set_share_their_draws_and_tasks_are_shared_by_all() -> None:
    """So the same cells have the same spread in each; another set has draws of its own."""
    one = noisy()
    two = Contest(one.models, one.cells, one.tasks, one.families, "another set")
    same, again, other = rank([one, one, two], replicates=50)
    assert same.halfwidth.tolist() == again.halfwidth.tolist() != other.halfwidth.tolist()


def test_families_are_drawn_whole() -> None:
    """Templates of one family that cancel each other do not vary, whatever is drawn."""
    cells = np.array([[[1.0, 1.0]], [[-1.0, -1.0]], [[2.0, 2.0]], [[-2.0, -2.0]]])
    contest = Contest(
        ("a", "b"), (cells, np.zeros_like(cells)), ("t", "u"), ("f", "f", "g", "g"), "a set"
    )
    (found,) = rank([contest], replicates=50)
    assert found.halfwidth[0, 1] == pytest.approx(0, abs=1e-12)
