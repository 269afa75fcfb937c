"""Sets of tasks: a loop from the paper, which sets count, by hand; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.multi_attribute import multi_attribute_amplification


def made(seed: int, n: int = 300, tasks: int = 4) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    group = draw.integers(0, 2, n)
    truth = (draw.random((n, tasks)) < 0.3 + 0.2 * group[:, None]).astype(int)
    guess = (draw.random((n, tasks)) < 0.2 + 0.4 * group[:, None]).astype(int)
    return {
        "attribute_labels": group,
        "task_labels": truth,
        "attribute_predictions": np.where(draw.random(n) < 0.8, group, 1 - group),
        "task_predictions": guess,
    }


@pytest.mark.parametrize("size", [1, 2])
def test_a_loop_over_groups_and_sets(size: int) -> None:
    rows = made(1)
    group, truth = rows["attribute_labels"], rows["task_labels"]
    sets = {tuple(np.flatnonzero(row)) for row in truth}
    sets = {members for members in sets if len(members) >= size}
    forward, backward, undirected = [], [], []
    for members in sets:
        has = truth[:, members].all(axis=1)
        says = rows["task_predictions"][:, members].all(axis=1)
        for g in (0, 1):
            mine = group == g
            forward.append(says[mine].mean() - has[mine].mean())
            guess = rows["attribute_predictions"] == g
            backward.append(guess[has].mean() - mine[has].mean())
            if mine[has].mean() > 0.5:
                undirected.append(abs(guess[says].mean() - mine[has].mean()))
    result = multi_attribute_amplification(**rows, min_size=size)
    for direction, changes in (("attribute->task", forward), ("task->attribute", backward)):
        assert result.values[direction] == pytest.approx(np.abs(changes).mean(), abs=1e-12)
        assert result.variances[direction] == pytest.approx(np.var(changes), abs=1e-12)
    expected = np.sum(undirected) / len(sets)
    assert result.values["undirected"] == pytest.approx(expected, abs=1e-12)
    assert len(result.sets) == len(sets)


def test_single_tasks_are_the_directional_metric() -> None:
    rows = made(2)
    # One task per row at most, so that every set is a single task.
    for name in ("task_labels", "task_predictions"):
        rows[name] = rows[name] * (np.cumsum(rows[name], axis=1) == 1)
    single = directional_amplification(**rows)
    values = multi_attribute_amplification(**rows).values
    for measured in single.directions:
        assert values[str(measured.direction)] == pytest.approx(measured.absolute)


def test_a_link_of_two_tasks_that_neither_shows() -> None:
    """The imSitu example: unloading and indoors lean to men, both together to women."""
    kinds = [("man", 1, 0, 30), ("man", 0, 1, 30), ("man", 1, 1, 4), ("man", 0, 0, 10)]
    kinds += [("woman", 1, 0, 10), ("woman", 0, 1, 10), ("woman", 1, 1, 10), ("woman", 0, 0, 40)]
    times = [kind[3] for kind in kinds]
    group = np.repeat([kind[0] for kind in kinds], times)
    truth = np.repeat([kind[1:3] for kind in kinds], times, axis=0)
    result = multi_attribute_amplification(
        group, truth, attribute_predictions=group, task_predictions=truth
    )
    assert result.directed.attribute_to_task is not None
    assert result.sets == (("0",), ("1",), ("0", "1"))
    assert result.directed.attribute_to_task.lean[0].tolist() == [1.0, 1.0, -1.0]  # of men
    assert set(result.values.values()) == {0.0}


GROUP = ["f", "f", "f", "f", "m", "m", "m", "m"]
TRUTH = np.array([[1, 1], [1, 0], [1, 0], [0, 0], [1, 1], [1, 1], [0, 1], [0, 0]])
GUESS = np.array([[1, 1], [1, 1], [1, 0], [0, 0], [1, 1], [0, 1], [0, 1], [0, 1]])
SAID = ["f", "f", "m", "f", "m", "m", "m", "f"]


def measured(**more: Any) -> Any:
    rows: dict[str, Any] = {"attribute_labels": GROUP, "task_labels": TRUTH}
    rows |= {"attribute_predictions": SAID, "task_predictions": GUESS}
    return multi_attribute_amplification(**rows | more)


def test_the_undirected_value_by_hand() -> None:
    # The larger group of {0} is f with 3/5, said of 2 in 4 predicted {0}; of {1} m with 3/4,
    # said of 3 in 6 predicted {1}; of {0, 1} m with 2/3, said of 1 in 3.
    expected = (abs(2 / 4 - 3 / 5) + abs(3 / 6 - 3 / 4) + abs(1 / 3 - 2 / 3)) / 3
    assert measured().values["undirected"] == pytest.approx(expected)


def test_without_one_prediction_there_is_no_undirected_value() -> None:
    assert list(measured(attribute_predictions=None).values) == ["attribute->task"]
    assert list(measured(task_predictions=None).values) == ["task->attribute"]
    with pytest.raises(InputError, match="give `attribute_predictions`, `task_predictions` or"):
        measured(attribute_predictions=None, task_predictions=None)


def test_a_set_counts_from_its_size_and_rows_on() -> None:
    assert measured(min_size=0).sets == (("0",), ("1",), ("0", "1"))
    assert measured(min_size=2).sets == (("0", "1"),)
    with pytest.raises(InputError, match="no set of at least 3 tasks occurs in 1 rows or more"):
        measured(min_size=3)
    # {0} is exactly what 2 rows have, {1} 1, {0, 1} 3.
    assert measured(min_rows=2).sets == (("0",), ("0", "1"))
    assert measured(min_rows=3).sets == (("0", "1"),)
    with pytest.raises(InputError, match="no set of at least 1 tasks occurs in 4 rows or more"):
        measured(min_rows=4)


def test_rows_are_counted_by_their_weight() -> None:
    weight = np.array([1, 1, 1, 1, 1, 1, 0.5, 1])
    assert measured(sample_weight=weight).sets == (("0",), ("0", "1"))
    assert measured(sample_weight=weight, min_rows=0.5).sets == (("0",), ("1",), ("0", "1"))
    twice = measured(sample_weight=np.full(8, 2.0))
    assert twice.values == pytest.approx(measured().values)


TRAIN: dict[str, Any] = {
    "train_attribute_labels": ["f", "m", "m", "f"],
    "train_task_labels": [[1, 1], [1, 1], [0, 1], [0, 0]],
}


def test_train_rows_say_which_sets_and_which_group_is_larger() -> None:
    result = measured(**TRAIN)
    assert result.sets == (("1",), ("0", "1"))
    # Of the train rows with {1} 2/3 are m, said of 3 in 6; {0, 1} is even: no larger group.
    assert result.values["undirected"] == pytest.approx(abs(3 / 6 - 2 / 3) / 2)
    # Train rows have {1} exactly once, {0, 1} twice; test rows have all of {0, 1} three times.
    assert measured(**TRAIN, min_rows=2).sets == (("0", "1"),)
    weighted = measured(**TRAIN, train_sample_weight=[1, 1, 2, 1], min_rows=2)
    assert weighted.sets == (("1",), ("0", "1"))
    # Four rows have all of {1}, three all of {0, 1}: the test rows limit the sets as well.
    heavy = measured(**TRAIN, train_sample_weight=[9, 9, 9, 9], min_rows=4)
    assert heavy.sets == (("1",),)
    assert measured(**TRAIN, train_sample_weight=[9, 9, 9, 9], min_rows=3).sets == result.sets


def test_a_set_that_is_never_predicted_is_left_out_of_the_undirected_value() -> None:
    group, truth = ["f", "m", "m", "m"], np.array([[1, 0], [1, 0], [1, 0], [0, 1]])
    guess = np.array([[1, 0], [1, 0], [0, 0], [0, 0]])
    rows: dict[str, Any] = {"attribute_labels": group, "task_labels": truth}
    result = multi_attribute_amplification(
        **rows, attribute_predictions=group, task_predictions=guess
    )
    # {0}: m has 2/3, and 1/2 of the two predictions; {1} is predicted of nobody.
    assert result.undirected == pytest.approx(2 / 3 - 1 / 2)
    result = multi_attribute_amplification(
        [*group, "f"],
        np.vstack([truth, [0, 1]]),
        attribute_predictions=[*group, "f"],
        task_predictions=np.vstack([guess, [0, 0]]),
    )
    # So it is where no group is larger: nothing predicted is undefined, not a change of 0.
    assert result.undirected == pytest.approx(2 / 3 - 1 / 2)


def test_groups_that_no_train_row_has_stay_in_the_directed_changes() -> None:
    train = {"train_attribute_labels": ["f", "f"], "train_task_labels": [[1, 1], [1, 0]]}
    result = measured(**train)
    assert [measured.undefined_pairs for measured in result.directed.directions] == [0, 0]
    assert result.directed.attribute_to_task.lean[1].tolist() == [0, 0]  # nobody is an m


@pytest.mark.parametrize("where", ["task_labels", "task_predictions", "train_task_labels"])
@pytest.mark.parametrize("place", [0, 1])
def test_fractions_are_refused_wherever_they_are(where: str, place: int) -> None:
    rows = {"task_labels": TRUTH, "task_predictions": GUESS, **TRAIN}
    table = np.array(rows[where], dtype=float)
    table[place, place] = 0.5
    with pytest.raises(InputError, match="sets of tasks need labels and predictions of 0 and 1"):
        measured(**rows | {where: table})
