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
from lmprobe.core.direction import Direction
from lmprobe.probing.probe import probe
from lmprobe.probing.result import ProbeResult
from lmprobe.stats.row_tables import GIVEN_TASK
from lmprobe.stats.verdicts import Choices

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
def test_the_planted_truth_is_held(kind: str) -> None:
    """Over many choices of 10 templates and 16 tasks."""
    row = probed(kind).row("labor", GIVEN_TASK)
    whole, draw, held = row.tables(), np.random.default_rng(0), 0
    for _ in range(RUNS):
        templates = draw.choice(len(whole.predicted), 10, replace=False)
        tasks = [whole.tasks[one] for one in draw.choice(len(whole.tasks), 16, replace=False)]
        part = replace(
            whole.chosen(row.attributes, row.attributes, tasks),
            families=tuple(whole.families[one] for one in templates),
        )
        part = replace(part, predicted=part.predicted[templates], logs=part.logs[templates])
        number = part.replicates(value_alone=True)["value"]
        held += truth(kind, GIVEN_TASK) in Choices().interval(number, 0.95, part.bound)
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
