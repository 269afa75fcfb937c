"""The cells of a row: value, association, preference, and how a sampled base corrects them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.intervals.base_uncertainty import BaseCorrection, Reliability
from lmprobe.intervals.cross_fit import CrossFittedLean
from lmprobe.metrics.directional import amplification
from lmprobe.metrics.raking import raked_conditional
from lmprobe.probing import cells as module
from lmprobe.probing.baseline import Baseline, baseline
from lmprobe.probing.cells import RowCells, association_scale, row_cells
from lmprobe.sources.table import Sampling, table_of

GROUPS, TASKS = ("he", "she"), ("nurse", "cook", "clerk")
COUNTS = np.array([[10.0, 40.0, 20.0], [60.0, 10.0, 40.0]])
FORWARD, BACKWARD = DIRECTIONS
LOGS = np.log(np.random.default_rng(3).dirichlet(np.ones(6), 5).reshape(5, 2, 3))


def against(sampling: Sampling | None = None) -> Baseline:
    base = table_of("counted", COUNTS, GROUPS, TASKS, sampling=sampling)
    return baseline(base, GROUPS, TASKS)


def predicted(direction: Direction) -> np.ndarray:
    axis = 1 if direction is FORWARD else 2
    return np.exp(LOGS) / np.exp(LOGS).sum(axis=axis, keepdims=True)


def found(base: Baseline, direction: Direction) -> RowCells:
    return row_cells(base, direction, predicted(direction), LOGS, weighting="joint", seed=0)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_exact_base_has_the_cells_of_the_formula(direction: Direction) -> None:
    base = against()
    row = found(base, direction)
    world = base.rates.association
    rate, lean = world.conditional(direction), base.lean(direction, "joint")
    np.testing.assert_allclose(row.value, lean * (predicted(direction) - rate))
    raked = raked_conditional(LOGS, world.joint, direction)
    np.testing.assert_allclose(row.association, amplification(raked, rate, lean))
    assert (row.corrected, row.corrections, dict(row.noise)) == (None, None, {})
    for parts in (row.claimed, row.uncorrected):
        assert list(parts) == ["value", "association", "preference"]
        np.testing.assert_array_equal(parts["value"], row.value)
        np.testing.assert_array_equal(parts["association"], row.association)
        np.testing.assert_allclose(parts["preference"], row.value - row.association)


def made_up(shift: float) -> BaseCorrection:
    """Return a correction whose cells are twice the predictions, less `shift`."""
    offsets = np.arange(24.0).reshape(4, 2, 3) * shift
    redrawn = CrossFittedLean(np.full((4, 2, 3), 2.0), offsets)
    lean = CrossFittedLean(np.full((2, 3), 2.0), np.full((2, 3), shift))
    return BaseCorrection(lean, Reliability(1.0, 1.0), 180, redrawn)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_counted_base_is_corrected_as_value_and_as_association(
    direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The association is corrected given the task, and counts in proportion to P(t) / P(a)."""
    asked: list[dict[str, Any]] = []
    corrections = [made_up(0.25), made_up(0.75)]

    def correction(counts: np.ndarray, towards: Direction, **options: Any) -> BaseCorrection:
        asked.append({"counts": counts, "direction": towards, **options})
        return corrections[len(asked) - 1]

    monkeypatch.setattr(module, "base_correction", correction)
    row = found(against(Sampling()), direction)
    assert row.corrections == tuple(corrections)
    assert [one["direction"] for one in asked] == [direction, direction]
    assert "given" not in asked[0]
    assert asked[1]["given"] is FORWARD
    scale = np.ones((2, 3))
    if direction is BACKWARD:
        for a in range(2):
            for t in range(3):
                scale[a, t] = COUNTS[:, t].sum() / COUNTS[a].sum()
    np.testing.assert_allclose(asked[1]["scale"], scale)
    np.testing.assert_array_equal(asked[0]["counts"], COUNTS)
    joint = COUNTS / COUNTS.sum()
    by_task = raked_conditional(LOGS, joint, FORWARD)
    assert row.corrected is not None
    np.testing.assert_allclose(row.corrected[0], 2 * predicted(direction) - 0.25)
    np.testing.assert_allclose(row.corrected[1], (2 * by_task - 0.75) * scale)
    value, association = row.corrected
    np.testing.assert_array_equal(row.claimed["value"], value)
    np.testing.assert_allclose(row.claimed["preference"], value - association)
    np.testing.assert_allclose(row.uncorrected["preference"], row.value - row.association)
    noise = [
        corrections[0].noise(predicted(direction)),
        corrections[1].noise(by_task, scale),
    ]
    assert row.noise["value"] == pytest.approx(noise[0])
    assert row.noise["association"] == pytest.approx(noise[1])
    assert row.noise["preference"] == pytest.approx(np.sqrt(noise[0] ** 2 + noise[1] ** 2))
    assert noise[1] > noise[0] > 0


def test_a_survey_is_corrected_within_both_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def correction(table: np.ndarray, errors: np.ndarray, towards: Direction, **options: Any):  # type: ignore[no-untyped-def]
        asked.append({"errors": errors, "direction": towards, **options})
        return made_up(float(len(asked)))

    monkeypatch.setattr(module, "survey_correction", correction)
    errors = np.full((2, 3), 2.0)
    row = found(against(Sampling(errors)), BACKWARD)
    assert [one["given"] for one in asked] == [BACKWARD, FORWARD]
    assert all(one["direction"] is BACKWARD for one in asked)
    np.testing.assert_array_equal(asked[0]["errors"], errors)
    assert row.corrections is not None
    assert len(row.corrections) == 2


def test_the_scale_of_an_association_by_hand() -> None:
    joint = np.array([[0.1, 0.3], [0.4, 0.2]])
    np.testing.assert_array_equal(association_scale(joint, FORWARD), np.ones((2, 2)))
    np.testing.assert_allclose(
        association_scale(joint, BACKWARD), [[0.5 / 0.4, 0.5 / 0.4], [0.5 / 0.6, 0.5 / 0.6]]
    )
    uneven = np.array([[0.1, 0.2, 0.1], [0.2, 0.3, 0.1]])
    np.testing.assert_allclose(
        association_scale(uneven, BACKWARD),
        [[0.3 / 0.4, 0.5 / 0.4, 0.2 / 0.4], [0.3 / 0.6, 0.5 / 0.6, 0.2 / 0.6]],
    )


def without_counts(base: Baseline) -> Baseline:
    """Return the same base rates of which only the shares are known."""
    world = base.rates.association
    bare = Association(world.joint, world.p_attribute, world.p_task, GROUPS, TASKS)
    rates = replace(base.rates, association=bare)
    return replace(base, rates=rates, lean_rates=rates)


def never_counted(base: Baseline, counts: list[list[float]]) -> Baseline:
    rates = replace(base.rates, association=Association.from_counts(counts, GROUPS, TASKS))
    return replace(base, rates=rates, lean_rates=rates)


COUNTED = against(Sampling())


@pytest.mark.parametrize(
    "base",
    [
        pytest.param(against(), id="nobody says how it was drawn"),
        pytest.param(without_counts(COUNTED), id="no counts"),
        pytest.param(replace(COUNTED, lean_name="elsewhere"), id="a lean from elsewhere"),
        pytest.param(never_counted(COUNTED, [[1, 2, 3], [0, 0, 0]]), id="a group without counts"),
        pytest.param(never_counted(COUNTED, [[1, 2, 0], [3, 1, 0]]), id="a task without counts"),
    ],
)
def test_other_bases_are_not_corrected(base: Baseline) -> None:
    assert module._corrections(base, FORWARD, "joint", np.random.default_rng(0)) is None
