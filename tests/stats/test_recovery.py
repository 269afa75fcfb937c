"""Intervals of the reference models hold the planted truth as often as they promise."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import lmprobe
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.probing.probe import probe
from lmprobe.probing.result import ProbeResult
from lmprobe.stats.probe import probe_interval

BUNDLED = Path(lmprobe.__file__).parent / "models" / "reference"
RUNS = 150


@cache
def probed(kind: str) -> ProbeResult:
    return probe(f"reference:{kind}", "fitbert", "labor")


def truth(kind: str, direction: Direction) -> float:
    planted = json.loads((BUNDLED / kind / "truth.json").read_text())["planted_amplification"]
    return float(planted["values"][direction])


@pytest.mark.slow
@pytest.mark.xdist_group("reference")
@pytest.mark.parametrize("kind", ["faithful", "amplified"])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_planted_truth_is_held(kind: str, direction: Direction) -> None:
    """Over many choices of 10 templates and 16 tasks, each with a seed of its own."""
    row = probed(kind).row("labor", direction)
    draw = np.random.default_rng(0)
    held = 0
    for seed in range(RUNS):
        templates = draw.choice(row.cells.shape[0], 10, replace=False)
        tasks = draw.choice(row.cells.shape[2], 16, replace=False)
        found, _ = probe_interval(
            row.cells[np.ix_(templates, range(row.cells.shape[1]), tasks)],
            rng=np.random.default_rng(seed),
        )
        held += truth(kind, direction) in found
    assert stats.binomtest(held, RUNS, 0.95, alternative="less").pvalue > 1e-3, held


@pytest.mark.slow
@pytest.mark.xdist_group("reference")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [("faithful", "undecided"), ("amplified", "amplifies")],
)
def test_the_verdict_on_all_templates(kind: str, expected: str) -> None:
    row = probed(kind).row("labor", "task->attribute")
    assert truth(kind, "task->attribute") in row.interval
    assert row.verdict == expected
