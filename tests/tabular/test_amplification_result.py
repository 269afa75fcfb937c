"""What `amplify` found: rows by direction, frames for CSV, and JSON that comes back whole."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.thresholds import Threshold
from lmprobe.tabular.other_metrics import MetricValue
from lmprobe.tabular.result import AmplificationResult
from lmprobe.tabular.threshold_curves import ThresholdCurve
from tests.made_up_amplification import (
    A_TO_T,
    T_TO_A,
    made_up_amplification,
    made_up_curve,
    made_up_row,
)


def test_rows_are_found_by_direction() -> None:
    first, second = made_up_row([[0.2]], direction=T_TO_A), made_up_row([[0.1]])
    result = made_up_amplification(first, second)
    assert result.row("T->A") is first
    assert result.row(A_TO_T) is second
    with pytest.raises(InputError, match="task->attribute was not measured"):
        made_up_amplification(second).row("T->A")


def test_the_means_of_each_label_are_in_the_document() -> None:
    """As many groups as tasks, so that one axis could be taken for the other."""
    row = made_up_row([[0.2, 0.4], [0.6, math.nan]])
    (document,) = made_up_amplification(row).to_dict()["rows"]
    assert document["by_attribute"] == pytest.approx({"g0": 0.3, "g1": 0.6})
    assert document["by_task"] == pytest.approx({"t0": 0.4, "t1": 0.4})
    assert document["over_runs"] is None
    assert document["runs"][0]["amplification"][1] == [pytest.approx(0.6), None]
    two = made_up_row([[0.2, 0.4]], [[0.2, math.nan]])
    (document,) = made_up_amplification(two).to_dict()["rows"]
    assert document["over_runs"]["value"] == pytest.approx(0.25)
    # A pair that one run leaves undefined has no mean over runs.
    assert document["by_task"] == {"t0": pytest.approx(0.2), "t1": None}


def test_pairs_of_several_runs_have_a_column_of_the_run() -> None:
    alone = made_up_amplification(made_up_row([[0.2, 0.4]])).pairs()
    assert list(alone.columns[:3]) == ["direction", "attribute", "task"]
    both = made_up_amplification(
        made_up_row([[0.2, 0.4]], [[0.1, 0.3]]),
        made_up_row([[0.2, 0.4]], [[0.1, 0.3]], direction=T_TO_A),
    ).pairs()
    assert list(both.columns[:4]) == ["direction", "run", "attribute", "task"]
    assert both["run"].tolist() == ["run 1", "run 1", "run 2", "run 2"] * 2
    assert both["direction"].tolist() == ["attribute->task"] * 4 + ["task->attribute"] * 4
    assert both["amplification"].tolist() == pytest.approx([0.2, 0.4, 0.1, 0.3] * 2)
    assert both.index.tolist() == list(range(8))


def test_curves_are_a_frame_where_there_are_any() -> None:
    row = made_up_row([[0.2]])
    assert set(made_up_amplification(row).frames()) == {"amplification", "pairs"}
    curves = (made_up_curve("t", [0.0, 1.0]), made_up_curve("u", [0.0, 1.0, 2.0]))
    frame = made_up_amplification(row, curves=curves).frames()["curves"]
    assert frame["task"].tolist() == ["t"] * 2 + ["u"] * 3


def test_json_comes_back_whole() -> None:
    row = made_up_row(
        [[0.25, 0.5], [math.nan, 0.125]], [[0.5, 0.5], [0.5, 0.5]], corrected=[0.5, 1]
    )
    result = made_up_amplification(
        row,
        made_up_row([[0.25]], direction=T_TO_A),
        thresholds=(("t", Threshold(0.5, 0.25, 0.5, 0.01)), ("u", Threshold.fixed(0.5))),
        curves=(made_up_curve("t", [0.0, 1.0, math.nan]),),
        metrics=(MetricValue("mals", "undirected", 0.5), MetricValue("x", "y", None)),
    )
    again = AmplificationResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert math.isnan(again.rows[0].runs[0].pairs.by_pair[1, 0])
    assert again.rows[0].over_runs is not None
    assert again.rows[1].over_runs is None
    assert again.metrics == result.metrics
    assert again.curves[0].cuts.tolist() == [math.inf, 0.5, 0.0]
    assert np.isnan(again.curves[0].value).tolist() == [False, False, True]
    assert math.isnan(again.thresholds[1][1].share)


def test_a_document_without_rows_is_refused() -> None:
    body = made_up_amplification(made_up_row([[0.2]])).body()
    assert len(AmplificationResult.from_body(dict(body)).rows) == 1
    with pytest.raises(ValueError, match="it has no rows"):
        AmplificationResult.from_body({**body, "rows": []})


def curve(points: int) -> ThresholdCurve:
    return made_up_curve("t", [float(number) for number in range(points)])


def test_a_long_curve_is_sampled_at_201_shares() -> None:
    """Every half percent: of 1,001 points each fifth; a short one is kept as it is."""
    assert curve(1001).sampled.tolist() == list(range(0, 1001, 5))
    assert curve(201).sampled.tolist() == list(range(201))
    assert curve(3).sampled.tolist() == [0, 1, 2]
    document = curve(1001).to_dict()
    assert document["value"] == [float(number) for number in range(0, 1001, 5)]
    assert document["points"] == 1001
    assert document["cuts"][0] is None


def test_shares_that_end_just_below_one_have_their_last_point() -> None:
    short = ThresholdCurve(
        *("t", 0.0, 0.0, 0.0, 0.0, 2),
        np.array([np.inf, 0.5]),
        np.array([0.0, 1 - 1e-12]),
        np.ones(2),
    )
    assert short.sampled.tolist() == [0, 1]
