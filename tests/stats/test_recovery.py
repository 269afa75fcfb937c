"""Intervals of the reference models hold the planted truth as often as they promise."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import lmprobe
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.probe import probe
from lmprobe.probing.result import ProbeResult
from lmprobe.stats.verdicts import IntervalSettings

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
    """Over many choices of 10 templates and, where the value does not hang on it, of 16 tasks."""
    row = probed(kind).row("labor", direction)
    draw, choices = np.random.default_rng(0), IntervalSettings()
    number = 16 if direction is Direction.TASK_TO_ATTRIBUTE else len(row.tasks)
    held = 0
    for seed in range(RUNS):
        places = draw.choice(len(row.families), 10, replace=False)
        tasks = draw.choice(row.tasks, number, replace=False).tolist()
        some = replace(
            row,
            predicted=row.predicted[places],
            families=tuple(row.families[place] for place in places),
        )
        tables = some.tables(seed).chosen(row.attributes, row.attributes, tasks)
        value = replace(choices, seed=seed).numbers_of(tables, value_alone=True)["value"]
        held += truth(kind, direction) in choices.interval_of(value, 0.95, tables.bound)
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
