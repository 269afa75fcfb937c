"""The pieces of the directional metric: sums of chunks, means by task, the lean of what is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.core.association import Association
from lmprobe.core.axis import read_axis
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Tally
from lmprobe.errors import InputError
from lmprobe.metrics.directional import (
    Amplification,
    Tallies,
    defined_mean,
    directional_amplification,
    from_tallies,
    lean_of_seen,
    tallies,
    train_world,
)

# Two attributes, three tasks; the amplification of each pair is lean * (predicted - base).
FOUND = Amplification(
    Direction.ATTRIBUTE_TO_TASK,
    ("f", "m"),
    ("x", "y", "z"),
    predicted=np.array([[0.5, 0.25, 0.25], [0.25, np.nan, 0.0]]),
    base_rate=np.array([[0.25, 0.5, 0.25], [0.5, 0.5, 0.5]]),
    lean=np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]),
)


def test_the_summaries_are_means_of_what_is_defined() -> None:
    # by pair: [[1/4, 1/4, 0], [-1/4, undefined, -1/2]]
    assert FOUND.by_task.tolist() == [0.0, 0.25, -0.25]
    assert FOUND.by_attribute.tolist() == pytest.approx([1 / 6, -3 / 8])
    assert FOUND.value == pytest.approx(-1 / 20)
    assert FOUND.absolute == pytest.approx(1 / 4)
    assert FOUND.undefined_pairs == 1


def test_a_frame_has_a_row_for_each_pair_tasks_fastest() -> None:
    frame = FOUND.to_frame()
    assert frame["attribute"].tolist() == ["f"] * 3 + ["m"] * 3
    assert frame["task"].tolist() == ["x", "y", "z"] * 2
    assert frame["predicted"].tolist()[:4] == [0.5, 0.25, 0.25, 0.25]
    assert frame["base_rate"].tolist() == [0.25, 0.5, 0.25, 0.5, 0.5, 0.5]
    assert frame["lean"].tolist() == [1, -1, 1, 1, 1, 1]
    assert frame["amplification"].tolist()[:4] == [0.25, 0.25, 0.0, -0.25]
    assert set(frame["direction"]) == {"attribute->task"}


def test_the_mean_of_one_value_is_that_value() -> None:
    assert defined_mean(np.array([[np.nan, 4.0], [np.nan, np.nan]]), axis=1).tolist()[0] == 4.0
    assert np.isnan(defined_mean(np.array([[np.nan, 4.0], [np.nan, np.nan]]), axis=1)[1])
    assert defined_mean(np.array([[1.0, 2.0], [3.0, np.nan]]), axis=(0, 1)) == 2.0


ROWS: dict[str, Any] = {
    "attribute_labels": ["f", "f", "f", "m", "m", "m", "m"],
    "task_labels": ["x", "x", "y", "x", "y", "y", "y"],
    "task_predictions": ["x", "x", "x", "y", "y", "y", "x"],
    "attribute_predictions": ["f", "m", "f", "m", "m", "f", "m"],
}


def sums(part: slice = slice(None), *, task: bool = True, attribute: bool = True) -> Tallies:
    """Tallies of a slice of the rows, with all labels as columns."""
    groups = read_axis(
        "attribute", ROWS["attribute_labels"], ROWS["attribute_predictions"] if attribute else None
    )
    tasks = read_axis("task", ROWS["task_labels"], ROWS["task_predictions"] if task else None)
    weight = np.zeros(7)
    weight[part] = 1.0
    return tallies(groups, tasks, weight)


def entries(one: Tally) -> list[Any]:
    return [one.joint.tolist(), one.attribute.tolist(), one.task.tolist(), one.total]


def test_the_tallies_of_two_chunks_add_up_to_those_of_all_rows() -> None:
    added, expected = sums(slice(0, 3)) + sums(slice(3, 7)), sums()
    for name in ("labels", "predicted_task", "predicted_attribute"):
        assert entries(getattr(added, name)) == entries(getattr(expected, name))
    assert entries(expected.labels) == [[[2, 1], [1, 3]], [3, 4], [3, 4], 7]
    assert expected.predicted_task is not None
    assert expected.predicted_task.joint.tolist() == [[3, 0], [1, 3]]
    assert expected.predicted_attribute is not None
    assert expected.predicted_attribute.joint.tolist() == [[1, 2], [2, 2]]


@pytest.mark.parametrize("missing", ["task", "attribute"])
def test_chunks_without_a_prediction_have_no_sum_of_it(missing: str) -> None:
    with_both, without = sums(slice(0, 3)), sums(slice(3, 7), **{missing: False})
    for added in (with_both + without, without + with_both, without + without):
        assert (added.predicted_task is None) == (missing == "task")
        assert (added.predicted_attribute is None) == (missing == "attribute")
    found = from_tallies(without, ("f", "m"), ("x", "y"))
    assert len(found.directions) == 1
    assert (found.attribute_to_task is None) == (missing == "task")


def test_only_one_prediction_gives_only_its_direction() -> None:
    labels = {name: ROWS[name] for name in ("attribute_labels", "task_labels")}
    for given, direction in (
        ("task_predictions", "attribute->task"),
        ("attribute_predictions", "task->attribute"),
    ):
        found = directional_amplification(**labels, **{given: ROWS[given]})
        assert list(found.values) == [direction]
    assert list(directional_amplification(**ROWS).values) == ["attribute->task", "task->attribute"]


# "m" and "z" never occur.
WORLD = Association.from_counts([[3, 1, 0], [1, 3, 0], [0, 0, 0]], list("fgm"), list("xyz"))


def test_a_label_that_never_occurs_leans_nowhere_or_is_left_out() -> None:
    for direction in Direction:
        left_out = lean_of_seen(WORLD, direction)
        assert left_out[:2, :2].tolist() == [[1, -1], [-1, 1]]
        assert np.isnan(left_out[2]).all()
        assert np.isnan(left_out[:, 2]).all()
        kept = lean_of_seen(WORLD, direction, keep_unseen=True)
        assert kept.tolist() == [[1, -1, 0], [-1, 1, 0], [0, 0, 0]]


def test_by_default_pairs_of_unseen_labels_are_left_out_of_sums_and_rows() -> None:
    found = from_tallies(sums(), ("f", "m"), ("x", "y"))
    assert [one.undefined_pairs for one in found.directions] == [0, 0]
    # No train row is an "m": with the train set's lean half of the pairs have none.
    train = Association.from_counts([[3, 1], [0, 0]], ["f", "m"], ["x", "y"])
    found = from_tallies(sums(), ("f", "m"), ("x", "y"), train=train)
    assert [one.undefined_pairs for one in found.directions] == [2, 2]
    kept = from_tallies(sums(), ("f", "m"), ("x", "y"), train=train, keep_unseen=True)
    assert [one.undefined_pairs for one in kept.directions] == [0, 0]
    of_rows = directional_amplification(
        **ROWS, train_attribute_labels=["f"] * 4, train_task_labels=["x", "x", "x", "y"]
    )
    assert [one.undefined_pairs for one in of_rows.directions] == [2, 2]


@pytest.mark.parametrize("given", ["attribute", "task"])
def test_train_labels_of_one_axis_alone_are_refused(given: str) -> None:
    train = {f"train_{given}_labels": ROWS[f"{given}_labels"]}
    with pytest.raises(InputError, match="`train_attribute_labels` and `train_task_labels` go"):
        directional_amplification(**ROWS, **train)


def test_a_world_of_train_labels_or_none() -> None:
    groups = read_axis("attribute", ["f", "m"], None, ["f", "f", "m"])
    tasks = read_axis("task", ["x", "y"], None, ["x", "y", "y"])
    world = train_world(groups, tasks)
    assert world is not None
    assert world.counts is not None
    assert world.counts.tolist() == [[1, 1], [0, 1]]
    weighted = train_world(groups, tasks, [1, 2, 3])
    assert weighted is not None
    assert weighted.counts is not None
    assert weighted.counts.tolist() == [[1, 2], [0, 3]]
    with pytest.raises(InputError, match=r"`train_sample_weight` must have shape \(3,\)"):
        train_world(groups, tasks, [1, 2])
    assert train_world(read_axis("attribute", ["f"]), read_axis("task", ["x"])) is None


def test_an_unweighted_row_counts_like_a_weight_of_one() -> None:
    groups, tasks = read_axis("attribute", ["f", "m"]), read_axis("task", ["x", "x"])
    counted, weighted = tallies(groups, tasks), tallies(groups, tasks, np.ones(2))
    assert entries(counted.labels) == entries(weighted.labels) == [[[1], [1]], [1, 1], [2], 2]
    assert (counted.predicted_task, counted.predicted_attribute) == (None, None)
