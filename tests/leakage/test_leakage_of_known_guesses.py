"""Measurements whose attackers guess what they are told, so that every number is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from lmprobe.leakage.inputs import read_groups
from lmprobe.leakage.leakage_interval import leakage_interval
from lmprobe.leakage.measure import dataset_leakage, leakage_amplification, model_leakage
from lmprobe.leakage.result import ASSUMPTIONS
from lmprobe.leakage.rounds import Trial
from lmprobe.results import Verdict

ROWS = 240
GROUP = np.arange(ROWS) % 2
LABELS = np.array(list("abc"))[np.arange(ROWS) // 2 % 3]
# Numbers, where the labels are codes: the attacker tells them apart by that.
SCORES = np.random.default_rng(0).normal(size=(ROWS, 3)) + 4 * np.eye(3)[np.arange(ROWS) // 2 % 3]


class Told:
    """Guesses right in a share of the test rows, one share for labels and one for scores."""

    def __init__(self, of_labels: float, of_scores: float = 0.5, groups: int = 2) -> None:
        self.shares, self.groups, self.given = (of_labels, of_scores), groups, 0

    def __repr__(self) -> str:
        return "told"

    def attack(self, trials: Sequence[Trial], *, device: str, progress: Any) -> list[Any]:
        self.given = len(trials)
        found = []
        for trial in trials:
            share = self.shares[not trial.inputs.coded]
            wrong = np.arange(len(trial.truth)) >= share * len(trial.truth)
            found.append(np.where(wrong, (trial.truth + 1) % self.groups, trial.truth))
            progress(len(found), len(trials))
        return found


def expected(found: Any, by_row: Any, bounds: tuple[float, float], confidence: float = 0.95) -> Any:
    return leakage_interval(
        found.rounds, by_row, read_groups(GROUP), bounds=bounds, confidence=confidence
    )


@pytest.mark.parametrize(
    ("labels", "scores", "value", "verdict"),
    [
        (0.0, 1.0, 1.0, Verdict.LEAKS_MORE),
        (1.0, 0.0, -1.0, Verdict.LEAKS_LESS),
        (0.75, 0.75, 0.0, Verdict.UNDECIDED),
        (0.25, 0.75, 0.5, Verdict.LEAKS_MORE),
    ],
)
def test_an_amplification_lies_between_minus_one_and_one_and_so_does_its_interval(
    labels: float, scores: float, value: float, verdict: Verdict
) -> None:
    found = leakage_amplification(LABELS, SCORES, GROUP, attacker=Told(labels, scores), rounds=3)
    assert found.value == pytest.approx(value)
    assert found.rounds == pytest.approx([value] * 3)
    assert (found.dataset.value, found.model.value) == pytest.approx((labels, scores))
    assert found.verdict is verdict
    by_row = found.model.by_row - found.dataset.by_row
    assert found.interval == expected(found, by_row, (-1.0, 1.0))
    if abs(value) == 1:
        # The end is cut off exactly where no difference can be.
        assert value in (found.interval.low, found.interval.high)
        assert 0 < found.interval.width < 0.5


@pytest.mark.parametrize(
    ("share", "ends"), [(1.0, (None, 1.0)), (0.0, (0.0, None)), (0.5, (None, None))]
)
def test_a_leakage_lies_between_zero_and_one_and_so_does_its_interval(
    share: float, ends: tuple[float | None, float | None]
) -> None:
    for found in (
        dataset_leakage(LABELS, GROUP, attacker=Told(share), confidence=0.9),
        model_leakage(SCORES, GROUP, attacker=Told(0.25, share), confidence=0.9),
    ):
        assert found.value == pytest.approx(share)
        assert len(found.rounds) == 5
        assert found.interval == expected(found, found.by_row, (0.0, 1.0), 0.9)
        for end, cut in zip((found.interval.low, found.interval.high), ends, strict=True):
            assert (end == cut) if cut is not None else (0 < end < 1)
        assert found.verdict is (Verdict.LEAKS if share == 1 else Verdict.UNDECIDED)


def test_with_three_groups_more_than_a_third_is_a_leak() -> None:
    group, labels = np.arange(600) % 3, np.array(["x", "y"] * 300)
    found = dataset_leakage(labels, group, attacker=Told(0.45, groups=3), rounds=4)
    assert found.chance == pytest.approx(1 / 3)
    assert 1 / 3 < found.interval.low < found.interval.high < 0.6
    assert found.verdict is Verdict.LEAKS


def test_every_round_has_its_attacker() -> None:
    for rounds in (2, 7):
        attacker = Told(0.5)
        for found in (
            dataset_leakage(LABELS, GROUP, attacker=attacker, rounds=rounds),
            dataset_leakage(LABELS, GROUP, attacker=attacker, rounds=rounds, at=0.8),
            model_leakage(SCORES, GROUP, attacker=attacker, rounds=rounds),
            leakage_amplification(LABELS, SCORES, GROUP, attacker=attacker, rounds=rounds),
        ):
            assert attacker.given == len(found.rounds) == rounds


def test_the_f1_is_the_one_that_was_asked_for_or_none() -> None:
    assert dataset_leakage(LABELS, GROUP, attacker=Told(0.5)).f1 is None
    asked = dataset_leakage(LABELS, GROUP, attacker=Told(0.5), at=0.8)
    assert asked.f1 == pytest.approx(0.8, abs=0.01)
    found = leakage_amplification(LABELS, SCORES, GROUP, attacker=Told(0.5), at=0.8)
    assert found.f1 == found.model.f1 == 0.8
    assert found.dataset.f1 == pytest.approx(0.8, abs=0.01)


MEASURES: list[tuple[Callable[..., Any], set[str]]] = [
    (lambda **more: dataset_leakage(LABELS, GROUP, **more), {"at", "average"}),
    (lambda **more: model_leakage(SCORES, GROUP, **more), set()),
    (
        lambda **more: leakage_amplification(LABELS, SCORES, GROUP, **more),
        {"at", "average", "threshold"},
    ),
]


@pytest.mark.parametrize(("measure", "own"), MEASURES)
def test_the_provenance_holds_the_choices_of_the_measurement_alone(
    measure: Callable[..., Any], own: set[str]
) -> None:
    found = measure(attacker=Told(0.5), rounds=3, seed=7)
    settings = found.provenance["settings"]
    assert set(settings) == own | {"attacker", "rounds", "share", "confidence", "seed"}
    chosen = {name: settings[name] for name in ("attacker", "rounds", "seed")}
    assert chosen == {"attacker": "told", "rounds": 3, "seed": 7}
    assert settings["share"] == 1.0
    assert settings["confidence"] == 0.95
    assert found.notes == ASSUMPTIONS


def test_both_halves_of_an_amplification_are_reported() -> None:
    seen: list[tuple[int, int]] = []
    leakage_amplification(
        LABELS, SCORES, GROUP, attacker=Told(0.5), rounds=3, progress=lambda *at: seen.append(at)
    )
    assert seen == [(number, 6) for number in range(1, 7)]
