"""What a curve over steps is compared with: no association, and what was planted."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.models.checkpoint import TRUTH_SCHEMA
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.row import ProbeRow
from lmprobe.sweeping.levels import levels_of, no_association

T_TO_A, A_TO_T = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK

# P(a, t) of three groups and three tasks, so that the leans of a task do not cancel: P(a) is 0.4,
# 0.3 and 0.3, P(t) 0.3, 0.2 and 0.5.
JOINT = np.array([[0.05, 0.1, 0.25], [0.2, 0.05, 0.05], [0.05, 0.05, 0.2]])
GROUPS, OFTEN = (0.4, 0.3, 0.3), (0.3, 0.2, 0.5)
LEAN = np.sign(JOINT - np.outer(GROUPS, OFTEN))


@pytest.fixture
def result(made: Any) -> ProbeResult:
    """A probe whose base is the table above."""
    words = {"attributes": ("he", "she", "they"), "tasks": ("x", "y", "z")}
    return with_joint(made(**words, bases=("labor", "uniform")), JOINT)


def with_joint(probe: ProbeResult, joint: Any) -> ProbeResult:
    rows = []
    for row in probe.rows:
        axis = 0 if row.direction is T_TO_A else 1
        with np.errstate(invalid="ignore"):
            rates = joint / joint.sum(axis=axis, keepdims=True)
        rows.append(replace(row, base_rate=rates, lean=LEAN) if row.base == "labor" else row)
    return replace(probe, rows=tuple(rows))


def row(result: ProbeResult, direction: Direction) -> ProbeRow:
    return result.row("labor", direction)


@pytest.mark.parametrize("direction", [T_TO_A, A_TO_T])
def test_a_model_without_a_link_has_the_margins_of_the_base(
    result: ProbeResult, direction: Direction
) -> None:
    assert no_association(result, row(result, direction)) == pytest.approx(
        by_hand(JOINT, GROUPS, OFTEN, direction)
    )


def by_hand(joint: Any, groups: Any, often: Any, direction: Direction) -> float:
    """The mean of lean times (margin - conditional), pair by pair."""
    total = 0.0
    for a, t in itertools.product(range(3), range(3)):
        given = often[t] if direction is T_TO_A else groups[a]
        margin = groups[a] if direction is T_TO_A else often[t]
        total += LEAN[a, t] * (margin - joint[a, t] / given)
    return total / 9


@pytest.mark.parametrize("direction", [T_TO_A, A_TO_T])
def test_what_one_group_never_does_says_nothing_of_the_margins(
    result: ProbeResult, direction: Direction
) -> None:
    """Only the last task is done by all groups; of the groups, only the first does all tasks."""
    table = np.array([[0.3, 0.1, 0.1], [0.0, 0.1, 0.1], [0.0, 0.0, 0.3]])
    changed = with_joint(result, table)
    found = no_association(changed, row(changed, direction))
    assert found == pytest.approx(by_hand(table, (0.5, 0.2, 0.3), (0.3, 0.2, 0.5), direction))


def test_without_both_directions_or_a_whole_column_there_is_no_level(result: ProbeResult) -> None:
    one = row(result, T_TO_A)
    alone = replace(result, rows=(one,))
    assert no_association(alone, one) is None
    other = row(result, A_TO_T)
    assert no_association(replace(result, rows=(other,)), other) is None
    cut = replace(other, base_rate=other.base_rate[:, :2])
    assert no_association(replace(result, rows=(one, cut)), one) is None
    nobody = with_joint(result, np.array([[0.5, 0.3, 0.2], [0.0] * 3, [0.0] * 3]))
    assert no_association(nobody, row(nobody, T_TO_A)) is None


def truth(folder: Path, value: float, **changes: Any) -> str:
    planted = {
        "base": "labor",
        "attributes": ["he", "she", "they"],
        "values": {"task->attribute": value, "attribute->task": -value},
    }
    document = {"schema": TRUTH_SCHEMA, "planted_amplification": {**planted, **changes}}
    document |= {name: changes[name] for name in ("schema",) if name in changes}
    folder.mkdir(exist_ok=True)
    (folder / "truth.json").write_text(json.dumps(document))
    return str(folder)


def test_what_was_planted_is_a_level(result: ProbeResult, tmp_path: Path) -> None:
    model, same = truth(tmp_path / "a", 0.25), truth(tmp_path / "b", 0.25)
    for direction, value in ((T_TO_A, 0.25), (A_TO_T, -0.25)):
        levels = levels_of(result, row(result, direction), [model])
        assert list(levels) == ["no association", "planted"]
        assert levels["planted"] == value
        assert levels_of(result, row(result, direction), [model, same]) == levels


def test_models_that_differ_have_no_planted_level(result: ProbeResult, tmp_path: Path) -> None:
    one = row(result, T_TO_A)
    models = [truth(tmp_path / "a", 0.25), truth(tmp_path / "b", 0.5)]
    assert "planted" not in levels_of(result, one, models)
    assert "planted" not in levels_of(result, one, [models[0], str(tmp_path)])
    assert "planted" not in levels_of(result, one, ["acme/bert"])
    alone = replace(result, rows=(one,))
    assert levels_of(alone, one, models[:1]) == {"planted": 0.25}


@pytest.mark.parametrize(
    "changes",
    [
        {"base": "wikipedia"},
        {"attributes": ["he", "they"]},
        {"schema": "lmprobe.reference/0"},
        {"schema": "other", "base": "wikipedia"},
        {"values": {}},
        {"values": {"task->attribute": "much"}},
        {"attributes": 3},
    ],
)
def test_a_file_of_another_kind_plants_nothing(
    result: ProbeResult, tmp_path: Path, changes: dict[str, Any]
) -> None:
    model = truth(tmp_path, 0.25, **changes)
    assert "planted" not in levels_of(result, row(result, T_TO_A), [model])
    (tmp_path / "truth.json").write_text("no JSON")
    assert "planted" not in levels_of(result, row(result, T_TO_A), [model])
