"""The turns of a chat as a second grouping of the templates: hand formulas, planted truth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.stats.resampling import Replicates, joint_confidence
from lmprobe.stats.verdicts import IntervalSettings, unevenness
from tests.stats.tables import moved_tables

SENTENCES, TURNS, TASKS = 8, 6, 12
FAMILIES = tuple(f"sentence {n % SENTENCES}" for n in range(SENTENCES * TURNS))
SAID = tuple(f"turn {n // SENTENCES}" for n in range(SENTENCES * TURNS))


def moved(rng: np.random.Generator, *, sentence: float, turn: float, task: float) -> np.ndarray:
    """What each template and task moves by, (K, T): 0.05 and random effects of these sizes."""
    parts = (
        np.tile(rng.normal(0, sentence, SENTENCES), TURNS)[:, None],
        np.repeat(rng.normal(0, turn, TURNS), SENTENCES)[:, None],
        rng.normal(0, task, TASKS),
        rng.normal(0, 0.01, (SENTENCES * TURNS, TASKS)),
    )
    return np.clip(0.05 + sum(parts), -0.45, 0.45)


def number(values: Any, interval: str = "bootstrap", **options: Any) -> Replicates:
    tables = moved_tables(values, families=FAMILIES, **options)
    return IntervalSettings(interval=interval).numbers_of(tables, value_alone=True)["value"]


def test_their_share_is_that_of_their_means() -> None:
    """Of equal turns the jackknife is the variance of the mean of the turns' means."""
    values = moved(np.random.default_rng(0), sentence=0.02, turn=0.05, task=0.02)
    spread = number(values, turns=SAID).spread()
    means = values.reshape(TURNS, -1).mean(axis=1)
    assert spread.parts["turns"].variance == pytest.approx(means.var(ddof=1) / TURNS)
    assert spread.parts["turns"].degrees == TURNS - 1
    without = number(values).spread()
    assert {**spread.parts, "turns": None} == {**without.parts, "turns": None}
    assert "turns" not in number(values, turns=SAID).spread("tasks").parts
    assert "turns" not in number(values, turns=("the same",) * len(values)).spread().parts


@pytest.mark.parametrize("method", ["bootstrap", "t"])
def test_intervals_cover_the_choice_of_the_turns(method: str) -> None:
    """Planted effects of sentences, turns and tasks; without the grouping they are missed."""
    rng, settings = np.random.default_rng(1), IntervalSettings(interval=method)
    # A method without resamples takes the tasks as they are.
    task = 0.02 if method == "bootstrap" else 0.0
    inside = {"with": 0, "without": 0}
    samples = 300
    for _ in range(samples):
        values = moved(rng, sentence=0.02, turn=0.06, task=task)
        for name, turns in (("with", SAID), ("without", ())):
            covered = settings.interval_of(number(values, method, turns=turns), 0.95)
            inside[name] += 0.05 in covered
    # Three standard errors of a share of 0.95 are 0.038.
    assert inside["with"] / samples > 0.91
    assert inside["without"] / samples < 0.75


def test_a_turn_alone_can_carry_a_verdict_and_is_counted() -> None:
    values = moved(np.random.default_rng(2), sentence=0.01, turn=0.0, task=0.0)
    values[:SENTENCES] += 0.3
    changed = [
        (axis, other.value)
        for axis, other in number(values, turns=SAID).leave_one_out()
        if axis == "turns"
    ]
    expected = [np.delete(values.reshape(TURNS, -1), turn, axis=0).mean() for turn in range(TURNS)]
    assert [value for _, value in changed] == pytest.approx(expected)
    # Of two turns, the one that is left has no spread to judge.
    two = moved_tables(values[: 2 * SENTENCES], families=FAMILIES[: 2 * SENTENCES])
    two = replace(two, turns=SAID[: 2 * SENTENCES])
    one_out = IntervalSettings().numbers_of(two)["value"].leave_one_out()
    assert {axis for axis, _ in one_out} == {"families", "tasks"}


def test_intervals_that_cover_together_know_the_turns() -> None:
    rng = np.random.default_rng(3)
    numbers = [
        number(moved(rng, sentence=0.02, turn=size, task=0.02), turns=SAID) for size in (0.06, 0.03)
    ]
    joint = joint_confidence(numbers, "both", 0.95, np.random.default_rng(0))
    # Between that of a single interval and Bonferroni's share.
    assert 0.95 < joint <= 0.976


def test_unevenness_adds_the_errors_of_the_turns() -> None:
    values = moved(np.random.default_rng(4), sentence=0.02, turn=0.06, task=0.02)
    predicted = 0.5 + np.stack([values, -values], axis=1)
    base = np.full(predicted.shape[1:], 0.5)
    ends = [
        unevenness(
            predicted, base, families=FAMILIES, turns=turns, rng=np.random.default_rng(0)
        ).interval
        for turns in ((), SAID, ("the same",) * len(values))
    ]
    assert ends[1].high > ends[0].high
    assert (ends[2].low, ends[2].high) == (ends[0].low, ends[0].high)
