"""The mean over training runs: its own interval, and the mean of those of the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.results import Interval, NoteKind
from lmprobe.stats.method import Sample, interval
from lmprobe.stats.methods.t import interval_over_runs
from lmprobe.stats.runs import mean_interval, runs_note


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
    found = interval_over_runs(values.tolist(), confidence)
    expected = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert (found.confidence, found.method) == (confidence, "t")
    # As a method it is the same around the value of any sample.
    sample = Sample(5.0, observations=values)
    around = interval(sample, method="t", confidence=confidence, rng=np.random.default_rng(0))
    assert around.width == pytest.approx(found.width)
    assert (around.low + around.high) / 2 == pytest.approx(5)


def test_one_run_and_runs_that_agree_have_no_spread() -> None:
    assert interval_over_runs([0.1]).status == "too_few_units"
    assert interval_over_runs([0.1, 0.1]).status == "undefined"


def test_the_mean_of_intervals_has_the_means_of_their_ends() -> None:
    found = mean_interval(
        [Interval(0, 2, 0.9, "t"), Interval(1, 4, 0.9, "t"), Interval(-4, 9, 0.9, "t")]
    )
    assert found == Interval(-1.0, 5.0, 0.9, "t")
    undefined = mean_interval([Interval(0, 2, 0.9, "t"), Interval.undefined(0.9, "t")])
    assert undefined.status == "undefined"
    alone = Interval.too_few_units(0.9, "t")
    assert mean_interval([alone]) is alone


def test_the_note_says_which_runs_and_which_units() -> None:
    note = runs_note(3, "templates")
    assert note.kind is NoteKind.RUNS
    assert "what other templates would give with these 3 trained models" in note.text
