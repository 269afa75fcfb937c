"""Control over all rows of a comparison: Holm, equivalence, intervals that cover together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lmprobe import ProbeResult, compare
from lmprobe.inference.comparison import adjusted
from lmprobe.intervals.method import intervals
from lmprobe.results import NoteKind, Verdict

Made = Callable[..., ProbeResult]


@pytest.fixture
def results(made: Made) -> list[ProbeResult]:
    return [made(model=name, seed=seed) for seed, name in enumerate("abc")]


def test_p_values_are_adjusted_over_models_bases_and_directions(results: list[ProbeResult]) -> None:
    rows = compare(results).rows
    plain = np.array([row.p_value_unadjusted for row in rows])
    assert [row.p_value for row in rows] == pytest.approx(list(adjusted(plain, "holm")))
    alone = compare(results[:2]).rows
    # The same pair in a smaller family: unadjusted alike, adjusted no larger.
    for row, other in zip(alone, rows, strict=False):
        assert row.p_value_unadjusted == pytest.approx(other.p_value_unadjusted)
        assert row.p_value <= other.p_value
    tasks = [task for row in rows for task in row.tasks]
    holm = adjusted(np.array([task.p_value for task in tasks]), "holm")
    assert [task.p_holm for task in tasks] == pytest.approx(list(holm), nan_ok=True)
    assert all(any(note.kind is NoteKind.MULTIPLICITY for note in row.notes) for row in rows)


def test_a_claim_needs_the_adjusted_p_value_and_the_interval(results: list[ProbeResult]) -> None:
    row = compare(results).rows[0]
    clear = replace(row, value=0.2, interval=replace(row.interval, low=0.1, high=0.3), p_value=0.01)
    assert clear.verdict.decisive
    assert replace(clear, p_value=0.06).verdict is Verdict.UNDECIDED
    assert replace(clear, p_value=math.nan).verdict is Verdict.UNDECIDED
    around = replace(clear.interval, low=-0.1)
    assert replace(clear, interval=around).verdict is Verdict.UNDECIDED


def test_a_difference_that_no_table_shows_is_not_claimed(results: list[ProbeResult]) -> None:
    row = compare(results).rows[0]
    tiny = replace(row.interval, low=0.00003, high=0.00005)
    assert replace(row, value=0.00004, interval=tiny, p_value=0.0).verdict is Verdict.UNDECIDED
    assert replace(row, value=0.00006, interval=tiny, p_value=0.0).verdict.decisive


def test_models_are_the_same_within_a_margin(results: list[ProbeResult]) -> None:
    first = results[0]
    shifted = [
        replace(row, predicted=np.clip(row.predicted + 1e-4 * np.sign(row.lean), 0, 1))
        for row in first.rows
    ]
    rng = np.random.default_rng(0)
    noisy = [
        replace(row, predicted=row.predicted + rng.normal(0, 1e-4, row.predicted.shape))
        for row in shifted
    ]
    other = replace(first, rows=tuple(noisy))
    wide, narrow = (compare([first, other], margin=margin).rows for margin in (0.05, 1e-5))
    assert {row.verdict for row in wide} == {Verdict.EQUIVALENT}
    assert Verdict.EQUIVALENT not in {row.verdict for row in narrow}
    assert all(row.p_equivalence is None for row in compare([first, other]).rows)


def test_the_same_model_twice_is_equivalent(results: list[ProbeResult]) -> None:
    rows = compare([results[0], results[0]], margin=0.01).rows
    assert {row.verdict for row in rows} == {Verdict.EQUIVALENT}
    assert {row.p_value for row in rows} == {1.0}


@pytest.mark.parametrize("method", ["bootstrap", "t-crossed"])
def test_simultaneous_intervals_of_differences_are_wider(
    results: list[ProbeResult], method: str
) -> None:
    alone = compare(results, interval=method).rows
    together = compare(results, interval=method, simultaneous=True).rows
    for one, other in zip(alone, together, strict=True):
        assert other.interval.width > one.interval.width
        assert other.interval.confidence == one.interval.confidence


def test_a_bootstrap_of_another_name_covers_together_too(
    results: list[ProbeResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a method does follows from its traits, so that one of a plug-in is treated alike."""
    monkeypatch.setitem(intervals._found, "resampled", intervals.get("bootstrap"))
    own, built_in = (
        compare(results, interval=name, simultaneous=True).rows
        for name in ("resampled", "bootstrap")
    )
    for row, other in zip(own, built_in, strict=True):
        assert (row.interval.low, row.interval.high) == (other.interval.low, other.interval.high)
