"""Guaranteed intervals hold the truth as often as they promise, and the rest nearly."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.intervals.method import Sample, interval

STUDY = Path(__file__).parents[2] / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """Return the coverage study itself: what the docs print is what is tested."""
    found = importlib.util.spec_from_file_location("coverage_study", STUDY)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    # Fewer replicates than the docs' table: the ends are a little rougher.
    module.REPLICATES = 600
    return module


def holds(tally: Any, promise: float = 0.95) -> bool:
    """Tell whether the coverage is not below the promise beyond simulation error."""
    return stats.binomtest(tally.held, tally.runs, promise, alternative="less").pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("n", [50, 500])
def test_guaranteed_methods_keep_their_promise(study: ModuleType, number: int, n: int) -> None:
    found = study.disparity_study(study.POPULATIONS[number], n, 150, np.random.default_rng(n))
    for name in (*study.GUARANTEED, "bernstein"):
        assert holds(found[name]), name
    if "score" in found:
        # Nearly exact, not guaranteed.
        assert holds(found["score"], 0.93)
    if n == 500:
        assert found["stratified"].mean_width < found["hoeffding"].mean_width
    if n == 500 and "score" in found:
        assert found["score"].mean_width < found["stratified"].mean_width


@pytest.mark.slow
def test_the_bootstrap_falls_short_where_costs_are_unseen(study: ModuleType) -> None:
    rare = study.POPULATIONS[3]
    found = study.disparity_study(rare, 50, 200, np.random.default_rng(1))
    assert found["bootstrap"].coverage < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 5, 6, 8, 9])
def test_the_crossed_bootstrap_holds(study: ModuleType, number: int) -> None:
    probe = study.PROBES[number]
    found = study.probe_study(probe, 200, np.random.default_rng(number))
    assert holds(found["bootstrap"], 0.95 if probe.tasks > 8 else 0.9)


@pytest.mark.slow
def test_drawing_templates_alone_forgets_the_tasks(study: ModuleType) -> None:
    found = study.probe_study(study.PROBES[2], 200, np.random.default_rng(0), "templates")
    assert found["bootstrap"].coverage < 0.8


@pytest.mark.slow
def test_rows_hold_once_the_lean_is_clear(study: ModuleType) -> None:
    assert holds(study.rows_study(500, "fixed", 300, np.random.default_rng(0)), 0.93)


@pytest.mark.parametrize("name", ["hoeffding", "empirical-bernstein"])
def test_means_of_bounded_values(name: str) -> None:
    draw = np.random.default_rng(0)
    held = 0
    for _ in range(500):
        values = draw.choice([-1.0, 1.0], 40, p=[0.9, 0.1])
        sample = Sample(float(values.mean()), values)
        held += -0.8 in interval(sample, method=name, rng=draw)
    assert stats.binomtest(held, 500, 0.95, alternative="less").pvalue > 1e-4
