"""Simultaneous intervals: the maximum-t written out, joint in their draws, right together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.stats.probe import probe_interval
from lmprobe.stats.simultaneous import JointRow, bonferroni, simultaneous_intervals
from lmprobe.stats.weights import draws

FAMILIES = [str(number) for number in range(12)]
TASKS = tuple(f"t{number}" for number in range(15))


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def cells(draw: np.random.Generator, truth: float = 0.0) -> np.ndarray:
    return (
        truth
        + draw.normal(0, 0.05, (12, 1, 1))
        + draw.normal(0, 0.1, (1, 1, 15))
        + draw.normal(0, 0.05, (12, 2, 15))
    )


def other_tasks(draw: np.random.Generator, rows: int, truth: float = 0.0) -> list[JointRow]:
    return [
        JointRow(cells(draw, truth), tuple(f"{task}-{number}" for task in TASKS))
        for number in range(rows)
    ]


def joint_rows() -> list[JointRow]:
    """Two rows with tasks in common, a template of one of them without a pair, and a flat row."""
    first, second = rng(8).normal(0.1, 0.1, (4, 2, 3)), rng(9).normal(-0.2, 0.3, (4, 2, 2))
    first[0, 1, 2] = second[3] = math.nan
    return [
        JointRow(first, ("cook", "nurse", "pilot")),
        JointRow(second, ("nurse", "actor")),
        JointRow(np.full((4, 2, 2), 0.3), ("nurse", "cook")),
    ]


def values(cells: np.ndarray, templates: np.ndarray, tasks: np.ndarray) -> np.ndarray:
    """The mean over templates of the mean over their defined pairs, all by their weights."""
    pairs = np.einsum("kat,rt->rk", ~np.isnan(cells), tasks)
    sums = np.einsum("kat,rt->rk", np.nan_to_num(cells), tasks)
    weight = templates * (pairs > 0)
    with np.errstate(invalid="ignore"):
        return (weight * sums / np.maximum(pairs, 1)).sum(axis=1) / weight.sum(axis=1)


@pytest.mark.parametrize("resample", ["both", "templates", "tasks"])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_are_those_of_the_largest_studentized_deviation(
    resample: str, confidence: float
) -> None:
    rows = joint_rows()
    found = simultaneous_intervals(
        rows, families=list("babc"), confidence=confidence, resample=resample, rng=rng(5)
    )
    # Families (a, b, c) and tasks (actor, cook, nurse, pilot) are drawn once for all rows.
    generator, families, tasks = rng(5), np.ones((10_000, 3)), np.ones((10_000, 4))
    if resample != "tasks":
        families = draws(10_000, 3, generator)
    if resample != "templates":
        tasks = draws(10_000, 4, generator)
    columns = [[1, 2, 3], [2, 0], [2, 1]]
    drawn = [
        values(row.cells, families[:, [1, 0, 1, 2]], tasks[:, columns[number]])
        for number, row in enumerate(rows)
    ]
    value = [
        float(values(row.cells, np.ones((1, 4)), np.ones((1, row.cells.shape[2])))[0])
        for row in rows
    ]
    spread = [float(np.nanstd(drawn[number])) for number in (0, 1)]
    away = np.nanmax([abs(drawn[n] - value[n]) / spread[n] for n in (0, 1)], axis=0)
    # Hesterberg: as far out as Student's interval of a mean of so few would be.
    units = {"both": 2, "templates": 3, "tasks": 2}[resample]
    t = stats.t.ppf((1 + confidence) / 2, units - 1) * math.sqrt(units / (units - 1))
    reach = np.quantile(away, 1 - 2 * stats.norm.sf(t))
    for number in (0, 1):
        half = reach * spread[number]
        ends = (value[number] - half, value[number] + half)
        assert (found[number].low, found[number].high) == pytest.approx(ends, rel=1e-9)
    assert {(row.method, row.confidence) for row in found} == {("bootstrap", confidence)}
    assert [row.status for row in found] == ["ok", "ok", "undefined"]


def test_copies_of_a_row_cost_nothing_and_other_rows_widen() -> None:
    """Draws are joint: a row that says the same adds no chance to miss."""
    draw = rng(0)
    row = JointRow(cells(draw), TASKS)
    alone, _ = probe_interval(row.cells, rng=rng())
    (one,) = simultaneous_intervals([row], families=FAMILIES, rng=rng())
    assert one.width == pytest.approx(alone.width, rel=0.05)
    same = simultaneous_intervals([row] * 5, families=FAMILIES, rng=rng())
    assert {(found.low, found.high) for found in same} == {(one.low, one.high)}
    wider, *_ = simultaneous_intervals([row, *other_tasks(draw, 5)], families=FAMILIES, rng=rng())
    assert wider.width > 1.15 * one.width


@pytest.mark.slow
def test_all_rows_are_covered_together() -> None:
    draw, together, alone = rng(2), 0, 0
    for _ in range(60):
        rows = other_tasks(draw, 6, truth=0.02)
        found = simultaneous_intervals(rows, families=FAMILIES, rng=draw)
        together += all(0.02 in interval for interval in found)
        alone += all(0.02 in probe_interval(row.cells, rng=draw)[0] for row in rows)
    assert alone < together
    assert stats.binomtest(together, 60, 0.95, alternative="less").pvalue > 1e-3


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
    table = rng(3).normal(size=(templates, 2, tasks))
    rows = [JointRow(table, TASKS[:tasks]), JointRow(table + 1, TASKS[:tasks])]
    found = simultaneous_intervals(
        rows, families=FAMILIES[:templates], resample=resample, rng=rng()
    )
    assert [row.status for row in found] == [status, status]


def test_where_nothing_moves_no_row_has_an_interval() -> None:
    flat = JointRow(np.full((4, 2, 3), 0.1), TASKS[:3])
    found = simultaneous_intervals([flat, flat], families=list("abcd"), rng=rng())
    assert [row.status for row in found] == ["undefined", "undefined"]
    with pytest.raises(InputError, match="`confidence`"):
        simultaneous_intervals([flat], families=list("abcd"), confidence=1, rng=rng())


def test_bonferroni_shares_what_may_go_wrong() -> None:
    assert bonferroni(0.95, 8) == pytest.approx(1 - 0.05 / 8)
    # Nothing to share: one interval, or none.
    assert bonferroni(0.9, 1) == bonferroni(0.9, 0) == pytest.approx(0.9)
    with pytest.raises(InputError, match="`confidence`"):
        bonferroni(1.0, 2)
