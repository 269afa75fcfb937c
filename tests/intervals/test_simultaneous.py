"""Simultaneous intervals: wider than one alone, joint in their draws, right together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.intervals import simultaneous
from lmprobe.intervals.probe import probe_interval
from lmprobe.intervals.simultaneous import JointRow, bonferroni, simultaneous_intervals
from lmprobe.intervals.weights import draws

FAMILIES = [str(number) for number in range(12)]
TASKS = tuple(f"t{number}" for number in range(15))


def cells(rng: np.random.Generator, truth: float = 0.0) -> np.ndarray:
    return (
        truth
        + rng.normal(0, 0.05, (12, 1, 1))
        + rng.normal(0, 0.1, (1, 1, 15))
        + rng.normal(0, 0.05, (12, 2, 15))
    )


def test_one_row_alone_has_about_its_own_interval() -> None:
    table = cells(np.random.default_rng(0))
    alone, _ = probe_interval(table, rng=np.random.default_rng(1))
    (found,) = simultaneous_intervals(
        [JointRow(table, TASKS)], families=FAMILIES, rng=np.random.default_rng(1)
    )
    assert found.width == pytest.approx(alone.width, rel=0.05)


def test_copies_of_a_row_cost_nothing_and_other_rows_widen() -> None:
    """Draws are joint: a row that says the same adds no chance to miss."""
    rng = np.random.default_rng(0)
    table = cells(rng)
    row = JointRow(table, TASKS)
    one, *_ = simultaneous_intervals([row], families=FAMILIES, rng=np.random.default_rng(1))
    same = simultaneous_intervals([row] * 5, families=FAMILIES, rng=np.random.default_rng(1))
    assert {(found.low, found.high) for found in same} == {(one.low, one.high)}
    others = [JointRow(cells(rng), tuple(f"{task}-{n}" for task in TASKS)) for n in range(5)]
    wider, *_ = simultaneous_intervals(
        [row, *others], families=FAMILIES, rng=np.random.default_rng(1)
    )
    assert wider.width > 1.15 * one.width


def test_rows_may_lack_tasks_that_others_have() -> None:
    table = cells(np.random.default_rng(0))
    rows = [JointRow(table, TASKS), JointRow(table[:, :, :6], TASKS[:6])]
    found = simultaneous_intervals(rows, families=FAMILIES, rng=np.random.default_rng(1))
    assert found[1].width > found[0].width


@pytest.mark.slow
def test_all_rows_are_covered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    # Enough for the ends of 60 simulations; results use 10,000.
    for module in ("simultaneous", "methods.bootstrap"):
        monkeypatch.setattr(f"lmprobe.intervals.{module}.REPLICATES", 2000)
    rng = np.random.default_rng(2)
    together = alone = 0
    for _ in range(60):
        tables = [cells(rng, 0.02) for _ in range(6)]
        rows = [
            JointRow(table, tuple(f"{task}-{n}" for task in TASKS))
            for n, table in enumerate(tables)
        ]
        found = simultaneous_intervals(rows, families=FAMILIES, rng=rng)
        together += all(0.02 in one for one in found)
        alone += all(0.02 in probe_interval(one, rng=rng)[0] for one in tables)
    assert together >= 52
    assert alone < together


def test_rows_without_spread_or_units_are_undefined() -> None:
    flat = JointRow(np.full((12, 2, 15), 0.1), TASKS)
    row = JointRow(cells(np.random.default_rng(0)), TASKS)
    found = simultaneous_intervals([flat, row], families=FAMILIES, rng=np.random.default_rng(1))
    assert [one.status for one in found] == ["undefined", "ok"]
    single = simultaneous_intervals([row], families=["a"] * 12, rng=np.random.default_rng(1))
    assert single[0].status == "too_few_units"


def test_bonferroni_shares_what_may_go_wrong() -> None:
    assert bonferroni(0.95, 8) == pytest.approx(1 - 0.05 / 8)
    assert bonferroni(0.9, 2) == pytest.approx(0.95)
    # Nothing to share: one interval, or none.
    assert bonferroni(0.9, 1) == bonferroni(0.9, 0) == pytest.approx(0.9)
    with pytest.raises(InputError, match="`confidence`"):
        bonferroni(1.0, 2)


NAN = float("nan")
NAMES = ["b", "a", "b", "c"]


def joint_rows() -> list[JointRow]:
    """Two rows with tasks in common, a template of one of them without a pair, and a flat row."""
    rng = np.random.default_rng(8)
    first, second = rng.normal(0.1, 0.1, (4, 2, 3)), rng.normal(-0.2, 0.3, (4, 2, 2))
    first[0, 1, 2] = second[3] = NAN
    return [
        JointRow(first, ("cook", "nurse", "pilot")),
        JointRow(second, ("nurse", "actor")),
        JointRow(np.full((4, 2, 2), 0.3), ("nurse", "cook")),
    ]


def value_by_loop(cells: np.ndarray, templates: np.ndarray, tasks: np.ndarray) -> float:
    """The mean over templates of the mean over their defined pairs, all by their weights."""
    top = bottom = 0.0
    for template, weight in zip(cells, templates, strict=True):
        counted = ~np.isnan(template) * tasks
        if counted.sum() > 0:
            top += weight * (np.nan_to_num(template) * counted).sum() / counted.sum()
            bottom += weight
    return top / bottom if bottom else NAN


def replicates_by_loop(rows: list[JointRow], resample: str, replicates: int) -> np.ndarray:
    """Families (a, b, c) and tasks (actor, cook, nurse, pilot) drawn once for all rows."""
    rng = np.random.default_rng(5)
    families, tasks = np.ones((replicates, 3)), np.ones((replicates, 4))
    if resample != "tasks":
        families = draws(replicates, 3, rng)
    if resample != "templates":
        tasks = draws(replicates, 4, rng)
    order = {"actor": 0, "cook": 1, "nurse": 2, "pilot": 3}
    return np.array(
        [
            [
                value_by_loop(
                    row.cells, family[[1, 0, 1, 2]], task[[order[name] for name in row.tasks]]
                )
                for family, task in zip(families, tasks, strict=True)
            ]
            for row in rows
        ]
    )


@pytest.mark.parametrize("resample", ["both", "templates", "tasks"])
@pytest.mark.parametrize("method", ["bootstrap", "bootstrap-percentile"])
def test_intervals_are_those_of_the_largest_studentized_deviation(
    resample: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simultaneous, "REPLICATES", 60)
    rows = joint_rows()
    found = simultaneous_intervals(
        rows, families=NAMES, method=method, resample=resample, rng=np.random.default_rng(5)
    )
    drawn = replicates_by_loop(rows, resample, 60)
    values = [value_by_loop(row.cells, np.ones(4), np.ones(row.cells.shape[2])) for row in rows]
    spread = np.nanstd(drawn, axis=1)
    away = [
        np.nanmax([abs(drawn[row, one] - values[row]) / spread[row] for row in (0, 1)])
        for one in range(60)
    ]
    units = {"both": 2, "templates": 3, "tasks": 2}[resample]
    level = 0.95
    if method == "bootstrap":
        # Hesterberg: as far out as Student's interval of a mean of so few would be.
        t = stats.t.ppf(0.975, units - 1) * math.sqrt(units / (units - 1))
        level = 1 - 2 * stats.norm.sf(t)
    reach = np.quantile(away, level)
    for row in (0, 1):
        assert (found[row].low, found[row].high) == pytest.approx(
            (values[row] - reach * spread[row], values[row] + reach * spread[row])
        )
    assert {(one.method, one.confidence) for one in found} == {(method, 0.95)}
    assert [one.status for one in found] == ["ok", "ok", "undefined"]


def test_no_more_numbers_than_a_block_are_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def watched(rows: int, units: int, rng: np.random.Generator) -> np.ndarray:
        asked.append((rows, units))
        return draws(rows, units, rng)

    monkeypatch.setattr(simultaneous, "draws", watched)
    monkeypatch.setattr(simultaneous, "REPLICATES", 5)
    # Four templates and four tasks: 23 numbers are those of two resamples.
    monkeypatch.setattr(simultaneous, "_BLOCK", 23)
    rng = np.random.default_rng(0)
    found = simultaneous_intervals(joint_rows(), families=NAMES, rng=rng)
    assert asked == [(2, 3), (2, 4), (2, 3), (2, 4), (1, 3), (1, 4)]
    assert found[0].status == "ok"
    asked.clear()
    monkeypatch.setattr(simultaneous, "_BLOCK", 1)
    simultaneous_intervals(joint_rows(), families=NAMES, resample="templates", rng=rng)
    assert asked == [(1, 3)] * 5


def test_ten_thousand_resamples_are_drawn_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def watched(rows: int, units: int, rng: np.random.Generator) -> np.ndarray:
        asked.append(rows)
        return draws(rows, units, rng)

    monkeypatch.setattr(simultaneous, "draws", watched)
    rng = np.random.default_rng(0)
    simultaneous_intervals(joint_rows(), families=NAMES, resample="templates", rng=rng)
    assert asked == [10_000]


@pytest.mark.parametrize(
    ("templates", "tasks", "resample", "status"),
    [
        (2, 2, "both", "ok"),
        (1, 2, "both", "too_few_units"),
        (2, 1, "both", "too_few_units"),
        (1, 2, "templates", "too_few_units"),
        (2, 1, "templates", "ok"),
        (1, 2, "tasks", "ok"),
        (7, 2, "tasks", "ok"),
        (2, 7, "templates", "ok"),
        (2, 1, "tasks", "too_few_units"),
    ],
)
def test_two_units_of_what_is_drawn_are_enough(
    templates: int, tasks: int, resample: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simultaneous, "REPLICATES", 50)
    table = np.random.default_rng(3).normal(size=(templates, 2, tasks))
    rows = [JointRow(table, TASKS[:tasks]), JointRow(table + 1, TASKS[:tasks])]
    found = simultaneous_intervals(
        rows, families=FAMILIES[:templates], resample=resample, rng=np.random.default_rng(1)
    )
    assert [one.status for one in found] == [status, status]


def test_where_nothing_moves_no_row_has_an_interval() -> None:
    flat = JointRow(np.full((4, 2, 3), 0.1), TASKS[:3])
    found = simultaneous_intervals([flat, flat], families=NAMES, rng=np.random.default_rng(1))
    assert [one.status for one in found] == ["undefined", "undefined"]
    with pytest.raises(InputError, match="`confidence`"):
        simultaneous_intervals([flat], families=NAMES, confidence=1, rng=np.random.default_rng(1))
