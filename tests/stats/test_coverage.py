"""Coverage as the page of the docs states it: quicker forms of its studies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage import betting, disparities, page, probes, rows
from benchmarks.coverage.tally import Tally


@pytest.fixture(autouse=True)
def fewer_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than the docs' table: the ends are a little rougher."""
    monkeypatch.setattr("benchmarks.coverage.tally.REPLICATES", 600)


def holds(tally: Tally, promise: float = 0.95) -> bool:
    """Tell whether the coverage is not below the promise beyond simulation error."""
    return stats.binomtest(tally.held, tally.runs, promise, alternative="less").pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("n", [50, 500])
def test_disparities(number: int, n: int) -> None:
    found = disparities.disparity_study(
        disparities.POPULATIONS[number], n, 150, np.random.default_rng(n)
    )
    assert holds(found["bernstein"])
    # Nearly exact, not guaranteed.
    assert "score" not in found or holds(found["score"], 0.93)


@pytest.mark.slow
@pytest.mark.parametrize("costs", betting.COSTS)
def test_bounded_costs(costs: betting.Costs) -> None:
    found = betting.betting_study(costs, (40, 60), 150, np.random.default_rng(0))
    assert holds(found["betting"])


@pytest.mark.slow
def test_the_bootstrap_falls_short_where_costs_are_unseen() -> None:
    rare = disparities.POPULATIONS[3]
    found = disparities.disparity_study(rare, 50, 200, np.random.default_rng(1))
    assert found["bootstrap"].coverage < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 8, 9, 12, 13])
def test_the_crossed_bootstrap_holds(number: int) -> None:
    probe = probes.PROBES[number]
    found = probes.probe_study(probe, 200, np.random.default_rng(number))
    assert holds(found["bootstrap"], 0.95 if probe.tasks > 8 else 0.9)


@pytest.mark.slow
def test_drawing_templates_alone_forgets_the_tasks() -> None:
    found = probes.probe_study(probes.PROBES[2], 200, np.random.default_rng(0), "templates")
    assert found["bootstrap"].coverage < 0.8


@pytest.mark.slow
def test_rows_hold_once_the_lean_is_clear() -> None:
    assert holds(rows.rows_study(500, "fixed", 150, np.random.default_rng(0)), 0.93)


def test_a_study_alone_leaves_the_other_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    studies = {"a": lambda *_: iter(["## a\n", "old"]), "b": lambda *_: iter(["## b\n", "old"])}
    monkeypatch.setattr(page, "STUDIES", studies)
    before = page.page(100, 0)
    monkeypatch.setitem(studies, "b", lambda *_: iter(["## b\n", "new"]))
    after = page.page(100, 0, only=["b"], old=before)
    assert after == before.replace("## b\n\nold", "## b\n\nnew") != before
