"""Intervals of value, association and preference: which noise and correction each one gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.intervals.base_uncertainty import BaseCorrection, Reliability, with_noise
from lmprobe.intervals.cross_fit import CrossFittedLean
from lmprobe.intervals.probe import probe_interval
from lmprobe.probing.cells import RowCells
from lmprobe.probing.estimates import PARTS, RowNumbers, estimates
from lmprobe.probing.settings import ProbeSettings
from lmprobe.results import Interval, NoteKind, Verdict

TASKS = ("nurse", "cook", "clerk", "vet")
FAMILIES = tuple("abcdefgh")
RNG = np.random.default_rng(8)
CELLS = [RNG.normal(mean, 0.02, (8, 2, 4)) for mean in (0.1, 0.04, 0.2, 0.07)]
NOISE = {"value": 0.03, "association": 0.01, "preference": 0.05}
NOTHING = CrossFittedLean(np.zeros((2, 4)), np.zeros((2, 4)))


def correction(proportional: float, even: float) -> BaseCorrection:
    return BaseCorrection(NOTHING, Reliability(proportional, even), 100, NOTHING)


def exact() -> RowNumbers:
    return RowNumbers(RowCells(CELLS[0], CELLS[1]), TASKS, foreign_lean=False)


def counted(noise: dict[str, float] | None = None) -> RowNumbers:
    """Return a row whose value interval is stretched by 2 and whose association's by 1.5."""
    corrections = correction(0.8, 0.4), correction(0.9, 0.6)
    cells = RowCells(CELLS[0], CELLS[1], (CELLS[2], CELLS[3]), corrections, noise or {})
    return RowNumbers(cells, TASKS, foreign_lean=False)


def alone(cells: np.ndarray, confidence: float = 0.95, **options: Any) -> Interval:
    return probe_interval(
        cells, confidence=confidence, rng=np.random.default_rng(0), families=FAMILIES, **options
    )[0]


def ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def test_the_parts_of_an_exact_base_have_plain_intervals() -> None:
    (found,) = estimates([exact()], FAMILIES, ProbeSettings())
    assert tuple(found) == PARTS
    for part, cells in zip(PARTS, (CELLS[0], CELLS[1], CELLS[0] - CELLS[1]), strict=True):
        assert found[part].value == pytest.approx(cells.mean())
        assert ends(found[part].interval) == ends(alone(cells))
        assert (found[part].corrected, found[part].base_bias) == (None, None)
    assert found["value"].verdict is Verdict.AMPLIFIES
    assert exact().reliability is None


def test_a_foreign_lean_is_followed() -> None:
    (found,) = estimates([replace(exact(), foreign_lean=True)], FAMILIES, ProbeSettings())
    assert found["value"].verdict is Verdict.FOLLOWS


def test_a_counted_base_is_corrected_and_its_interval_covers_an_even_exaggeration() -> None:
    (found,) = estimates([counted()], FAMILIES, ProbeSettings())
    claimed = CELLS[2], CELLS[3], CELLS[2] - CELLS[3]
    for part, cells, old, stretch in zip(
        PARTS, claimed, (CELLS[0], CELLS[1], CELLS[0] - CELLS[1]), (2.0, 1.5, 3.0), strict=True
    ):
        one = found[part]
        assert one.value == pytest.approx(old.mean())
        assert one.corrected == pytest.approx(cells.mean())
        assert one.base_bias == pytest.approx(old.mean() - cells.mean())
        # All of these intervals are above zero: stretching moves their upper end alone.
        low, high = ends(alone(cells))
        assert low > 0
        assert ends(one.interval) == pytest.approx((low, stretch * high))
    assert counted().reliability == 0.8


@pytest.mark.parametrize(("least", "verdict"), [(0.5, "amplifies"), (0.49, "undecided")])
def test_the_less_reliable_of_the_two_corrections_decides(least: float, verdict: str) -> None:
    for pair in ((least, 0.9), (0.9, least)):
        corrections = tuple(correction(one, one) for one in pair)
        cells = RowCells(CELLS[0], CELLS[1], (CELLS[2], CELLS[3]), corrections)  # type: ignore[arg-type]
        row = RowNumbers(cells, TASKS, foreign_lean=False)
        assert row.reliability == least
        (found,) = estimates([row], FAMILIES, ProbeSettings())
        assert [one.verdict for one in found.values()] == [Verdict(verdict)] * 3


def plain(row: RowNumbers) -> RowNumbers:
    """Return the row with corrections that stretch nothing."""
    return replace(row, cells=replace(row.cells, corrections=(correction(1, 1), correction(1, 1))))


@pytest.mark.parametrize(
    ("options", "widened"),
    [
        ({"interval": "t"}, True),
        ({"interval": "bootstrap", "resample": "templates"}, True),
        ({"interval": "bootstrap", "resample": "both"}, False),
        ({"interval": "bootstrap", "resample": "tasks"}, False),
        ({"interval": "t-crossed"}, False),
    ],
)
def test_the_noise_of_the_base_widens_intervals_that_take_the_tasks_as_given(
    options: dict[str, Any], widened: bool
) -> None:
    (found,) = estimates([plain(counted(NOISE))], FAMILIES, ProbeSettings(**options))
    own = {"method": options["interval"], "resample": options.get("resample", "both")}
    claimed = CELLS[2], CELLS[3], CELLS[2] - CELLS[3]
    for part, cells in zip(PARTS, claimed, strict=True):
        expected = alone(cells, **own)
        if widened:
            expected = with_noise(expected, float(cells.mean()), NOISE[part])
            assert expected.width > 1.05 * alone(cells, **own).width
        assert ends(found[part].interval) == pytest.approx(ends(expected))


def test_without_resamples_simultaneous_intervals_are_those_of_bonferroni() -> None:
    """Two rows of three parts: each of six intervals may miss a sixth as often."""
    settings = ProbeSettings(interval="t", simultaneous=True, confidence=0.9)
    found = estimates([exact(), exact()], FAMILIES, settings)
    expected = alone(CELLS[0], confidence=1 - 0.1 / 6, method="t")
    for row in found:
        assert ends(row["value"].interval) == pytest.approx(ends(expected))
        assert row["value"].interval.confidence == 0.9
        (note,) = [one for one in row["value"].notes if one.kind is NoteKind.MULTIPLICITY]
        assert note.text == (
            "the 6 intervals of all rows and their parts cover together (Bonferroni)"
        )


def test_with_resamples_they_are_those_of_the_joint_resamples() -> None:
    found = estimates([exact(), exact()], FAMILIES, ProbeSettings(simultaneous=True))
    (note,) = [one for one in found[1]["value"].notes if one.kind is NoteKind.MULTIPLICITY]
    assert "the 6 intervals" in note.text
    assert "maximum-t" in note.text
    kinds = [one.kind for one in found[0]["association"].notes]
    assert kinds == [NoteKind.ASSUMPTION, NoteKind.FEW_UNITS, NoteKind.FEW_UNITS, note.kind]


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_one_interval_at_a_time_says_nothing_of_others(method: str) -> None:
    (found,) = estimates([exact()], FAMILIES, ProbeSettings(interval=method))
    assert NoteKind.MULTIPLICITY not in [one.kind for one in found["value"].notes]
