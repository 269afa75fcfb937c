"""The mean over training runs: its own interval, and the mean of those of the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lmprobe.errors import InputError
from lmprobe.intervals.method import Sample, interval
from lmprobe.intervals.methods.t import interval_over_runs
from lmprobe.intervals.runs import mean_interval, runs_note
from lmprobe.results import Interval, NoteKind


@pytest.mark.parametrize(
    "values",
    [
        [],
        [math.nan],
        [0.1, math.nan, 0.3],
        [0.1, math.inf],
        [-math.inf, 0.1],
        [[0.1, 0.2], [0.3, 0.4]],
        [[0.1], [0.2]],
        [[]],
        0.1,
    ],
)
def test_there_is_one_finite_number_per_run(values: list[float]) -> None:
    with pytest.raises(InputError, match="one finite number per run"):
        interval_over_runs(values)


@pytest.mark.parametrize("confidence", [0, 1, 1.2, math.nan])
def test_the_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(InputError, match="`confidence`"):
        interval_over_runs([0.1, 0.2], confidence)


def test_two_runs_are_enough() -> None:
    # Half of their distance is the standard error of the mean: sd / sqrt(2).
    found = interval_over_runs([0.1, 0.3])
    half = 0.1 * stats.t.ppf(0.975, 1)
    assert (found.low, found.high) == pytest.approx((0.2 - half, 0.2 + half))
    assert (found.confidence, found.method, found.status) == (0.95, "t", "ok")


def test_one_run_and_runs_that_agree_have_no_spread() -> None:
    assert interval_over_runs([0.1]).status == "too_few_units"
    assert interval_over_runs([0.1, 0.1]).status == "undefined"
    assert interval_over_runs(np.zeros(3)).status == "undefined"  # type: ignore[arg-type]


def test_three_runs_by_hand() -> None:
    # Mean 2, variance (1 + 0 + 1) / 2 = 1.
    found = interval_over_runs([1, 2, 3], 0.9)
    half = stats.t.ppf(0.95, 2) / math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half))
    sample = Sample(5.0, observations=np.array([1.0, 2.0, 3.0]))
    around = interval(sample, method="t", confidence=0.9, rng=np.random.default_rng(0))
    assert (around.low, around.high) == pytest.approx((5 - half, 5 + half))


def test_the_mean_of_intervals_has_the_means_of_their_ends() -> None:
    found = mean_interval(
        [Interval(0, 2, 0.9, "t"), Interval(1, 4, 0.9, "t"), Interval(-4, 9, 0.9, "t")]
    )
    assert found == Interval(-1.0, 5.0, 0.9, "t")
    two = mean_interval([Interval(0, 2, 0.9, "t"), Interval(1, 4, 0.9, "t")])
    assert (two.low, two.high) == (0.5, 3.0)
    undefined = mean_interval([Interval(0, 2, 0.9, "t"), Interval.undefined(0.9, "t")])
    assert undefined.status == "undefined"


def test_the_interval_of_one_run_is_its_own_with_its_reason() -> None:
    for one in (Interval(0, 2, 0.9, "t"), Interval.too_few_units(0.9, "t")):
        assert mean_interval([one]) is one


def test_the_note_says_which_runs_and_which_units() -> None:
    note = runs_note(3, "templates")
    assert note.kind is NoteKind.RUNS
    assert "what other templates would give with these 3 trained models" in note.text
    assert note.text.endswith("what other training runs would give on these templates")
