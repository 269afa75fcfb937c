"""The standard error of a number over templates and tasks: hand formulas, units, many at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.stats.resampling import Replicates, Spread, effective_number, joint_confidence
from lmprobe.stats.row_tables import RowTables
from lmprobe.stats.verdicts import IntervalSettings
from tests.stats.tables import moved_tables, random_tables, row_tables

FORWARD, BACKWARD = DIRECTIONS
NAMES = tuple("abcdefghijklmnopqrst")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def numbers(tables: RowTables, seed: int = 0) -> dict[str, Replicates]:
    return IntervalSettings(seed=seed).numbers_of(replace(tables, seed=seed))


def number(moved: Any, **options: Any) -> Replicates:
    return numbers(moved_tables(moved, **options))["value"]


def ends(spread: Spread, confidence: float = 0.95) -> tuple[float, float]:
    interval = spread.interval(confidence)
    return interval.low, interval.high


@pytest.mark.parametrize("families", [None, tuple("aaabbbcccddd"), tuple("abcdabcdabcd")])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_of_equal_families_it_is_students_interval(
    families: tuple[str, ...] | None, confidence: float
) -> None:
    moved = rng(1).normal(0.05, 0.05, (12, 9))
    names = np.array(families or NAMES[:12])
    result = number(moved, families=tuple(names)).spread("templates")
    means = [moved[names == name].mean() for name in sorted(set(names))]
    expected = stats.t.interval(confidence, len(means) - 1, np.mean(means), stats.sem(means))
    assert ends(result, confidence) == pytest.approx(expected)
    assert result.p_value(0.03) == pytest.approx(stats.ttest_1samp(means, 0.03).pvalue)
    less = stats.ttest_1samp(means, 0.03, alternative="less").pvalue
    assert result.tail(result.value - 0.03) == pytest.approx(less)
    assert result.tail(0.03 - result.value) == pytest.approx(1 - less)


def test_of_a_plain_mean_over_tasks_it_is_the_classic_standard_error() -> None:
    moved = rng(2).normal(0.05, 0.05, (4, 15))
    spread = number(moved).spread("tasks")
    assert spread.variance == pytest.approx(moved.mean(axis=0).var(ddof=1) / 15)
    expected = stats.t.interval(0.95, 14, moved.mean(), stats.sem(moved.mean(axis=0)))
    assert ends(spread) == pytest.approx(expected)


def test_both_add_up_and_a_claim_must_be_true_of_each() -> None:
    """Satterthwaite's degrees of freedom of the sum; but never narrower than one part alone."""
    moved = 0.2 * rng(3).normal(size=(3, 1)) + 0.01 * rng(4).normal(size=(3, 15))
    result = number(np.clip(moved, -0.4, 0.4))
    both, alone = result.spread(), result.spread("templates")
    variances = [result.spread(axis).variance for axis in ("templates", "tasks")]
    assert both.variance == pytest.approx(sum(variances))
    degrees = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2 / 14)
    assert both.degrees == pytest.approx(degrees)
    assert ends(both)[0] <= ends(alone)[0] + 1e-12


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("own_lean", [True, False])
def test_copies_of_a_task_in_one_unit_are_no_more_evidence(
    direction: Direction, own_lean: bool
) -> None:
    plain = random_tables(direction, seed=7, tasks=8)
    lean = None if own_lean else np.sign(rng(1).normal(size=plain.base.shape))
    plain = row_tables(plain.predicted, plain.base, direction, declared=lean)
    twice = row_tables(
        plain.predicted.repeat(2, axis=2),
        plain.base.repeat(2, axis=1),
        direction,
        units=tuple(unit for unit in plain.units for _ in range(2)),
        declared=None if lean is None else lean.repeat(2, axis=1),
    )
    own = {part: actual.spread() for part, actual in numbers(plain).items()}
    copied = {part: actual.spread() for part, actual in numbers(twice).items()}
    for part, spread in own.items():
        # P(t|a) of a task is shared by its copies, and so is what it was amplified by.
        factor = 2 if direction is BACKWARD and part != "strength" else 1
        assert copied[part].variance * factor**2 == pytest.approx(spread.variance)
        assert copied[part].degrees == pytest.approx(spread.degrees)
        assert copied[part].units == spread.units


@given(sizes=st.lists(st.floats(0.01, 100), min_size=1, max_size=20), factor=st.floats(0.1, 10))
def test_unequal_units_are_worth_fewer(sizes: list[float], factor: float) -> None:
    result = effective_number(np.array(sizes))
    assert 1 - 1e-9 <= result <= len(sizes) + 1e-9
    assert effective_number(factor * np.array(sizes)) == pytest.approx(result)
    assert effective_number(np.full(len(sizes), factor)) == pytest.approx(len(sizes))


def test_unequal_families_have_fewer_degrees_of_freedom() -> None:
    moved = rng(5).normal(0, 0.05, (12, 9))
    uneven = number(moved, families=tuple("aaaaaaaaabcd")).spread("templates")
    assert uneven.degrees == pytest.approx(144 / 84 - 1)
    assert uneven.units == 4


def joint(several: Sequence[Replicates], resample: str = "both") -> float:
    return joint_confidence(several, resample, 0.95, rng())


@pytest.mark.parametrize("resample", ["both", "templates", "tasks"])
def test_many_intervals_need_more_than_one_and_less_than_bonferroni(resample: str) -> None:
    draw = rng(6)
    shared, own = draw.normal(0, 0.04, (12, 9)), [draw.normal(0, 0.04, (12, 9)) for _ in range(5)]
    same = joint([number(shared)] * 5, resample)
    related = joint([number(0.8 * shared + 0.2 * other) for other in own], resample)
    # Other templates and other tasks err on their own: nearly Bonferroni's share.
    apart = joint(
        [
            number(moved, families=tuple(f"{k}{n}" for n in NAMES[:12]),
                   units=tuple(f"{k}{n}" for n in NAMES[:9]))
            for k, moved in enumerate(own)
        ],
        resample,
    )  # fmt: skip
    assert same == pytest.approx(0.95, abs=0.004)
    assert 0.95 <= same < related < apart
    assert apart == pytest.approx(0.99, abs=0.003)
    assert joint([number(shared)], resample) == joint([], resample) == 0.95


def test_numbers_that_do_not_move_are_no_claims() -> None:
    moving, flat = number(rng(1).normal(0, 0.05, (6, 9))), number(np.full((6, 9), 0.1))
    assert joint([moving, flat]) == 0.95
    assert joint([moving, number(np.zeros((1, 9)))]) == 0.95


@pytest.mark.slow
def test_all_intervals_cover_together() -> None:
    draw, together, alone, rounds = rng(2), 0, 0, 150
    for seed in range(rounds):
        shared = draw.normal(0, 0.02, (12, 1)), draw.normal(0, 0.04, (1, 15))
        several = [number(0.02 + sum(shared) + draw.normal(0, 0.05, (12, 15))) for _ in range(6)]
        each = joint_confidence(several, "both", 0.95, rng(seed))
        spreads = [item.spread() for item in several]
        together += all(0.02 in spread.interval(each) for spread in spreads)
        alone += all(0.02 in spread.interval(0.95) for spread in spreads)
    assert alone < together
    assert stats.binomtest(together, rounds, 0.95, alternative="less").pvalue > 1e-3


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_same_seed_gives_the_same_numbers(direction: Direction) -> None:
    tables = random_tables(direction, seed=8)
    first, again, other = (
        ends(numbers(tables, seed=seed)["association"].spread()) for seed in (3, 3, 4)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("templates", "tasks", "resample", "status"),
    [
        (2, 2, "both", "ok"),
        (1, 2, "both", "too_few_units"),
        (2, 1, "both", "too_few_units"),
        (1, 2, "templates", "too_few_units"),
        (2, 1, "templates", "ok"),
        (1, 2, "tasks", "ok"),
        (2, 1, "tasks", "too_few_units"),
    ],
)
def test_two_units_of_what_is_drawn_are_enough(
    templates: int, tasks: int, resample: str, status: str
) -> None:
    spread = number(rng(9).normal(0, 0.1, (templates, tasks))).spread(resample)
    assert spread.interval(0.95).status == status
    assert math.isnan(spread.p_value()) is (status != "ok")


def test_where_nothing_varies_there_is_no_interval() -> None:
    flat = number(np.full((5, 6), 0.1)).spread()
    assert flat.interval(0.95).status == "undefined"
    assert math.isnan(flat.p_value())
    # No difference anywhere is no evidence of one, and surely within any margin.
    none = number(np.zeros((5, 6))).spread()
    assert (none.p_value(), none.tail(-0.01), none.tail(0.01)) == (1.0, 0.0, 1.0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_left_out_one_at_a_time(direction: Direction) -> None:
    """The number is that of the tables without a family or a unit, in the order of their names."""
    families, units = ("f", "e", "f", "g"), ("u", "v", "u", "w", "x", "v")
    tables = random_tables(direction, seed=9, families=families, units=units)
    for part, actual in numbers(tables).items():
        left = list(actual.leave_one_out())
        assert [axis for axis, _ in left] == ["families"] * 3 + ["tasks"] * 4
        expected = []
        for family in ("f", "e", "g"):
            rows = [number for number, name in enumerate(families) if name != family]
            expected.append(row_tables(tables.predicted[rows], tables.base, direction))
        for unit in sorted(set(units)):
            columns = [number for number, name in enumerate(units) if name != unit]
            expected.append(
                row_tables(tables.predicted[:, :, columns], tables.base[:, columns], direction)
            )
        values = [numbers(rest)[part].value for rest in expected]
        assert [rest.value for _, rest in left] == pytest.approx(values, abs=1e-9)


def test_a_number_without_a_unit_has_about_the_interval_of_its_table() -> None:
    moved = rng(10).normal(0.05, 0.05, (6, 12))
    for place, (axis, rest) in enumerate(number(moved).leave_one_out()):
        gone = np.delete(moved, place % 6 if axis == "families" else place - 6, place >= 6)
        assert ends(rest.spread()) == pytest.approx(ends(number(gone).spread()), abs=0.006)


def test_of_two_units_none_can_be_left_out() -> None:
    left = [axis for axis, _ in number(rng().normal(0, 0.1, (2, 2))).leave_one_out()]
    assert left == ["families", "families"]
    assert list(number(np.zeros((1, 1))).leave_one_out()) == []


@given(seed=st.integers(0, 1000), factor=st.floats(-3, 3), templates=st.integers(2, 5))
def test_sums_and_multiples_are_those_of_their_tables(
    seed: int, factor: float, templates: int
) -> None:
    draw = rng(seed)
    first, second = draw.normal(0, 0.03, (2, templates, 4))
    added = number(first).combined(1.0, number(second), factor)
    table = number(first + factor * second)
    assert ends(added.spread()) == pytest.approx(ends(table.spread()))
    scaled = number(first).combined(2.5, number(second), 0.0)
    assert ends(scaled.spread()) == pytest.approx(ends(number(2.5 * first).spread()))
