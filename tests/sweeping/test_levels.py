"""What a curve over steps is compared with: no association, and what was planted."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe.metrics.direction import Direction
from lmprobe.probing.result import ProbeResult
from lmprobe.sweeping.summary import levels_of, no_association

T_TO_A, A_TO_T = Direction.TASK_TO_ATTRIBUTE, Direction.ATTRIBUTE_TO_TASK

# P(a, t) of three groups and three tasks, so that the leans of a task do not cancel: P(a) is 0.4,
# 0.3 and 0.3, P(t) 0.3, 0.2 and 0.5. In the second table only the last task is done by all groups,
# and of the groups only the first does all tasks.
WHOLE = np.array([[0.05, 0.1, 0.25], [0.2, 0.05, 0.05], [0.05, 0.05, 0.2]])
HOLES = np.array([[0.3, 0.1, 0.1], [0.0, 0.1, 0.1], [0.0, 0.0, 0.3]])
LEAN = np.sign(WHOLE - np.outer(WHOLE.sum(axis=1), WHOLE.sum(axis=0)))


@pytest.fixture
def probed(made: Any) -> ProbeResult:
    words = {"attributes": ("he", "she", "they"), "tasks": ("x", "y", "z")}
    return with_joint(made(**words, bases=("labor", "uniform")), WHOLE)


def with_joint(probe: ProbeResult, joint: Any) -> ProbeResult:
    rows = []
    for row in probe.rows:
        axis = 0 if row.direction is T_TO_A else 1
        with np.errstate(invalid="ignore"):
            rates = joint / joint.sum(axis=axis, keepdims=True)
        rows.append(replace(row, base_rate=rates, lean=LEAN) if row.base == "labor" else row)
    return replace(probe, rows=tuple(rows))


@pytest.mark.parametrize("joint", [WHOLE, HOLES])
@pytest.mark.parametrize("direction", [T_TO_A, A_TO_T])
def test_a_model_without_a_link_has_the_margins_of_the_base(
    probed: ProbeResult, direction: Direction, joint: Any
) -> None:
    """The mean of lean times (margin - conditional), pair by pair."""
    groups, tasks = joint.sum(axis=1), joint.sum(axis=0)
    total = 0.0
    for a, t in itertools.product(range(3), range(3)):
        given, margin = (tasks[t], groups[a]) if direction is T_TO_A else (groups[a], tasks[t])
        total += LEAN[a, t] * (margin - joint[a, t] / given)
    result = with_joint(probed, joint)
    actual = no_association(result, result.row("labor", direction))
    assert actual == pytest.approx(total / 9)


def test_without_both_directions_or_a_whole_column_there_is_no_level(probed: ProbeResult) -> None:
    first, other = probed.row("labor", T_TO_A), probed.row("labor", A_TO_T)
    assert no_association(replace(probed, rows=(first,)), first) is None
    assert no_association(replace(probed, rows=(other,)), other) is None
    cut = replace(other, base_rate=other.base_rate[:, :2])
    assert no_association(replace(probed, rows=(first, cut)), first) is None
    nobody = with_joint(probed, np.array([[0.5, 0.3, 0.2], [0.0] * 3, [0.0] * 3]))
    assert no_association(nobody, nobody.row("labor", T_TO_A)) is None


def truth(folder: Path, value: float, schema: str = "lmprobe.reference/1", **changes: Any) -> str:
    """Write what was planted in a model and return its folder."""
    planted = {
        "base": "labor",
        "attributes": ["he", "she", "they"],
        "values": {"task->attribute": value, "attribute->task": -value},
    }
    folder.mkdir(exist_ok=True)
    document = {"schema": schema, "planted_amplification": {**planted, **changes}}
    (folder / "truth.json").write_text(json.dumps(document))
    return str(folder)


def test_what_was_planted_in_all_models_is_a_level(probed: ProbeResult, tmp_path: Path) -> None:
    model, same = truth(tmp_path / "a", 0.25), truth(tmp_path / "b", 0.25)
    for direction, value in ((T_TO_A, 0.25), (A_TO_T, -0.25)):
        row = probed.row("labor", direction)
        levels = levels_of(probed, row, [model, same])
        assert list(levels) == ["no association", "planted"]
        assert levels["planted"] == value
        for other in (truth(tmp_path / "c", 0.5), str(tmp_path), "acme/bert"):
            assert "planted" not in levels_of(probed, row, [model, other])


@pytest.mark.parametrize(
    "changes",
    [
        {"base": "wikipedia"},
        {"attributes": ["he", "they"]},
        {"schema": "lmprobe.reference/0"},
        {"values": {"task->attribute": "much"}},
        {"values": None},
        {"attributes": 3},
        "no JSON",
        "[]",
    ],
)
def test_the_truth_of_a_strange_model_says_nothing(
    probed: ProbeResult, tmp_path: Path, changes: Any
) -> None:
    model = truth(tmp_path, 0.25, **(changes if isinstance(changes, dict) else {}))
    if isinstance(changes, str):
        (tmp_path / "truth.json").write_text(changes)
    assert "planted" not in levels_of(probed, probed.row("labor", T_TO_A), [model])
