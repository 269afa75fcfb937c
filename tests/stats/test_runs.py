"""The mean over training runs: one interval that covers rows and runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.results import Estimate, Interval, NoteKind, Obstacle, Verdict, decide
from lmprobe.stats.method import Sample, interval
from lmprobe.stats.rows import interval_over_runs, mean_of_runs, runs_note


@pytest.mark.parametrize(
    "values", [[], [0.1, math.nan], [-math.inf, 0.1], [[0.1], [0.2]], [[]], 0.1]
)
def test_there_is_one_finite_number_per_run(values: list[float]) -> None:
    with pytest.raises(InputError, match="`values` must be one finite number per run"):
        interval_over_runs(values)


@pytest.mark.parametrize("confidence", [0, 1, 1.2, math.nan])
def test_the_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(InputError, match="`confidence`"):
        interval_over_runs([0.1, 0.2], confidence)


@pytest.mark.parametrize("runs", [2, 3, 12])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_it_is_students_interval(runs: int, confidence: float) -> None:
    values = np.random.default_rng(4).normal(size=runs)
    result = interval_over_runs(values.tolist(), confidence)
    expected = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert (result.confidence, result.method) == (confidence, "t")
    # As a method it is the same around the value of any sample.
    sample = Sample(5.0, observations=values)
    around = interval(sample, method="t", confidence=confidence, rng=np.random.default_rng(0))
    assert around.width == pytest.approx(result.width)
    assert (around.low + around.high) / 2 == pytest.approx(5)


def test_one_run_and_runs_that_agree_have_no_spread() -> None:
    assert interval_over_runs([0.1]).status == "too_few_units"
    assert interval_over_runs([0.1, 0.1]).status == "undefined"


def estimate(value: float, low: float, high: float, **more: Any) -> Estimate:
    ends = Interval(low, high, 0.9, "bootstrap")
    return Estimate(value, ends, decide(ends), **more)


def test_rows_and_runs_are_both_in_the_interval() -> None:
    """Half-widths over rows 0.1 and 0.3 on average, and Student's over three runs."""
    runs = [estimate(0.1, 0.0, 0.4), estimate(0.2, 0.1, 0.5), estimate(0.6, 0.5, 0.9)]
    mean = mean_of_runs(runs)
    half = stats.t.ppf(0.95, 2) * np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3)
    assert mean.value == pytest.approx(0.3)
    assert mean.interval.low == pytest.approx(0.3 - math.hypot(0.1, half))
    assert mean.interval.high == pytest.approx(0.3 + math.hypot(0.3, half))
    assert (mean.corrected, mean.verdict) == (None, Verdict.UNDECIDED)
    assert mean_of_runs(runs, span=(-0.2, 0.8)).interval.high == 0.8
    assert mean_of_runs(runs[:1]) is runs[0]


def test_the_claimed_values_scatter_and_not_the_published_ones() -> None:
    """Runs whose corrections agree: the interval is that over rows."""
    fixed = {"corrected": 0.3, "base_bias": 0.0}
    mean = mean_of_runs([estimate(value, 0.2, 0.4, **fixed) for value in (0.1, 0.9)])
    assert (mean.value, mean.corrected, mean.base_bias) == (0.5, 0.3, pytest.approx(0.2))
    assert (mean.interval.low, mean.interval.high) == pytest.approx((0.2, 0.4))
    assert mean.verdict is Verdict.AMPLIFIES


def test_what_has_no_spread_adds_none() -> None:
    undefined = Interval.undefined(0.9, "none")
    plain = [Estimate(value, undefined, Verdict.UNDECIDED) for value in (0.1, 0.2)]
    assert mean_of_runs(plain).interval == interval_over_runs([0.1, 0.2], 0.9)
    mixed = [plain[0], estimate(0.1, 0.0, 0.2)]
    assert (mean_of_runs(mixed).interval.low, mean_of_runs(mixed).interval.high) == (0.0, 0.2)
    assert mean_of_runs([plain[0], plain[0]]).interval.status == "undefined"
    few = Interval.too_few_units(0.9, "bootstrap")
    nothing = Estimate(math.nan, few, Verdict.UNDECIDED)
    for runs in ([nothing, mixed[1]], [replace(mixed[1], interval=few)] * 2):
        assert mean_of_runs(runs).interval.status == "too_few_units"


@pytest.mark.parametrize("obstacle", Obstacle)
def test_what_forbids_the_verdict_of_a_run_forbids_that_of_the_mean(obstacle: Obstacle) -> None:
    runs = [estimate(0.2, 0.1, 0.3), estimate(0.2, 0.1, 0.3, obstacle=obstacle)]
    mean = mean_of_runs(runs)
    assert mean.obstacle is obstacle
    assert not mean.verdict.decisive


def test_the_note_says_which_runs_and_which_units() -> None:
    note = runs_note(3, "templates")
    assert note.kind is NoteKind.RUNS
    assert "both other templates and other training runs than these 3" in note.text
