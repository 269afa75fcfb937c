"""Simultaneous intervals: wider than one alone, joint in their draws, right together."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.intervals.probe import probe_interval
from lmprobe.intervals.simultaneous import JointRow, bonferroni, simultaneous_intervals

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
