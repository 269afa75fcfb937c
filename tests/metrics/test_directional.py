"""Directional amplification: a slow loop from the formula, properties, hand-worked cases."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from lmprobe.errors import InputError
from lmprobe.metrics.association import Association
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.metrics.directional import (
    Amplification,
    amplification,
    defined_mean,
    directional_amplification,
    lean_of_seen,
)
from lmprobe.metrics.labels import cross

Rows = dict[str, np.ndarray]

# Other people's machines are slow and shared: no deadline, few examples.
few = settings(max_examples=25, deadline=None)


@st.composite
def multi_label(draw: st.DrawFn, probabilities: bool = False) -> Rows:
    """Rows with any number of attributes and tasks, none included; perhaps tasks never seen."""
    n = draw(st.integers(1, 12))
    shapes = {"group": draw(st.integers(1, 3)), "task": draw(st.integers(1, 3))}
    bits = st.integers(0, 1)
    # Eighths are exact, so that the loop and the arrays may be compared closely.
    guess = st.integers(0, 8).map(lambda k: k / 8) if probabilities else bits
    rows: Rows = {}
    for name, width in shapes.items():
        rows[name] = draw(hnp.arrays(np.int64, (n, width), elements=bits))
        kind = np.float64 if probabilities else np.int64
        rows[f"{name}_guess"] = draw(hnp.arrays(kind, (n, width), elements=guess))
        rows[f"train_{name}"] = draw(hnp.arrays(np.int64, (5, width), elements=bits))
    rows["weight"] = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 4).map(float)))
    rows["weight"][0] = 1.0
    return rows


def slow(
    rows: Rows, direction: str, *, weighted: bool, train: bool, keep_unseen: bool = False
) -> dict[tuple[int, int], float]:
    """Eq. 2, one pair and one row at a time."""
    group, task = rows["group"], rows["task"]
    weight = rows["weight"] if weighted else np.ones(len(group))
    actual = {}
    for a, t in product(range(group.shape[1]), range(task.shape[1])):
        if train:
            seen = [
                (g[a], d[t], 1.0)
                for g, d in zip(rows["train_group"], rows["train_task"], strict=True)
            ]
        else:
            seen = [(g[a], d[t], w) for g, d, w in zip(group, task, weight, strict=True)]
        n = sum(w for _, _, w in seen)
        joint = sum(g * d * w for g, d, w in seen) / n
        chance = sum(g * w for g, _, w in seen) / n * (sum(d * w for _, d, w in seen) / n)
        tie = math.isclose(joint, chance, rel_tol=1e-9)
        lean = 0 if tie else (1 if joint > chance else -1)
        if direction == "attribute->task":
            given_, truth, guess = group[:, a], task[:, t], rows["task_guess"][:, t]
        else:
            given_, truth, guess = task[:, t], group[:, a], rows["group_guess"][:, a]
        size = sum(g * w for g, w in zip(given_, weight, strict=True))
        new = not (sum(g * w for g, _, w in seen) > 0 and sum(d * w for _, d, w in seen) > 0)
        if size == 0 or (new and not keep_unseen):
            actual[a, t] = math.nan
            continue
        p_true = sum(g * y * w for g, y, w in zip(given_, truth, weight, strict=True)) / size
        p_guess = sum(g * y * w for g, y, w in zip(given_, guess, weight, strict=True)) / size
        actual[a, t] = lean * (p_guess - p_true)
    return actual


def measured(rows: Rows, *, weighted: bool, train: bool, keep_unseen: bool = False) -> Any:
    return directional_amplification(
        rows["group"],
        rows["task"],
        attribute_predictions=rows["group_guess"],
        task_predictions=rows["task_guess"],
        train_attribute_labels=rows["train_group"] if train else None,
        train_task_labels=rows["train_task"] if train else None,
        sample_weight=rows["weight"] if weighted else None,
        keep_unseen=keep_unseen,
    )


@settings(max_examples=80, deadline=None)
@given(st.booleans().flatmap(multi_label), st.booleans(), st.booleans(), st.booleans())
def test_agrees_with_a_loop_from_the_formula(
    rows: Rows, weighted: bool, train: bool, keep_unseen: bool
) -> None:
    choices = {"weighted": weighted, "train": train, "keep_unseen": keep_unseen}
    expected = {direction: slow(rows, direction, **choices) for direction in DIRECTIONS}
    if any(all(math.isnan(value) for value in pairs.values()) for pairs in expected.values()):
        with pytest.raises(InputError, match="no pair of an attribute and a task is defined"):
            measured(rows, **choices)
        return
    for item in measured(rows, **choices).directions:
        pairs = expected[item.direction]
        table = np.array(list(pairs.values())).reshape(item.by_pair.shape)
        np.testing.assert_allclose(item.by_pair, table, atol=1e-12)
        reference = [value for value in pairs.values() if not math.isnan(value)]
        assert item.value == pytest.approx(sum(reference) / len(reference), abs=1e-12)
        assert item.absolute == pytest.approx(sum(map(abs, reference)) / len(reference), abs=1e-12)
        assert item.undefined_pairs == len(pairs) - len(reference)
        assert abs(item.value) <= item.absolute + 1e-12
        assert item.absolute <= 1


@st.composite
def people(draw: st.DrawFn) -> pd.DataFrame:
    """One group, one task and one guess of each per row."""
    n = draw(st.integers(2, 20))
    names = {"group": "ab", "task": "xyz", "group_guess": "ab", "task_guess": "xyz"}
    columns = {
        name: draw(st.lists(st.sampled_from(letters), min_size=n, max_size=n))
        for name, letters in names.items()
    }
    return pd.DataFrame(columns)


def of_frame(frame: pd.DataFrame, weight: Any = None) -> Any:
    return directional_amplification(
        frame["group"],
        frame["task"],
        attribute_predictions=frame["group_guess"],
        task_predictions=frame["task_guess"],
        sample_weight=weight,
    )


@few
@given(people())
def test_a_perfect_predictor_amplifies_exactly_nothing(frame: pd.DataFrame) -> None:
    frame["group_guess"], frame["task_guess"] = frame["group"], frame["task"]
    for direction in of_frame(frame).directions:
        assert direction.value == 0
        assert direction.absolute == 0


@few
@given(people(), st.randoms(use_true_random=False))
def test_reordering_rows_and_renaming_labels_changes_only_the_order(
    frame: pd.DataFrame, random: Any
) -> None:
    order = list(range(len(frame)))
    random.shuffle(order)
    # The new names sort the other way round.
    names = {"a": "2", "b": "1", "x": "9", "y": "8", "z": "7"}
    other = frame.iloc[order].apply(lambda column: column.map(names))
    for direction, two in zip(of_frame(frame).directions, of_frame(other).directions, strict=True):
        assert direction.value == pytest.approx(two.value, abs=1e-12)
        rows = [two.attributes.index(names[name]) for name in direction.attributes]
        columns = [two.tasks.index(names[name]) for name in direction.tasks]
        np.testing.assert_allclose(
            two.by_pair[np.ix_(rows, columns)], direction.by_pair, atol=1e-12
        )


@few
@given(people())
def test_a_weight_of_two_is_the_row_twice(frame: pd.DataFrame) -> None:
    weight = np.arange(len(frame)) % 2 + 1
    twice = frame.loc[frame.index.repeat(weight)]
    pairs = zip(of_frame(frame, weight).directions, of_frame(twice).directions, strict=True)
    for first, two in pairs:
        np.testing.assert_allclose(first.by_pair, two.by_pair, atol=1e-12)


@few
@given(people())
def test_every_form_of_the_same_labels_gives_the_same(frame: pd.DataFrame) -> None:
    expected = of_frame(frame)
    as_lists = directional_amplification(
        frame["group"].tolist(),
        frame["task"].to_numpy(),
        attribute_predictions=frame["group_guess"].astype("category"),
        task_predictions=frame["task_guess"].tolist(),
    )
    one_hot = {
        name: pd.get_dummies(frame[name]).reindex(columns=list(letters), fill_value=False)
        for name, letters in {
            "group": expected.directions[0].attributes,
            "task": expected.directions[0].tasks,
            "group_guess": expected.directions[0].attributes,
            "task_guess": expected.directions[0].tasks,
        }.items()
    }
    as_tables = directional_amplification(
        one_hot["group"],
        one_hot["task"].to_numpy(),
        attribute_predictions=one_hot["group_guess"].iloc[:, ::-1],
        task_predictions=one_hot["task_guess"].astype(float),
    )
    for other in (as_lists, as_tables):
        for direction, two in zip(expected.directions, other.directions, strict=True):
            np.testing.assert_allclose(direction.by_pair, two.by_pair, atol=1e-12)


def test_an_exactly_independent_table_leans_nowhere() -> None:
    # 15 rows, 5 in the group, 9 with the task, 3 with both: 3/15 is 5/15 x 9/15.
    group = np.repeat([1, 1, 0, 0], [3, 2, 6, 4])
    task = np.repeat([1, 0, 1, 0], [3, 2, 6, 4])
    result = directional_amplification(group, task, task_predictions=1 - task)
    assert result.attribute_to_task is not None
    assert result.attribute_to_task.lean.tolist() == [[0.0], [0.0]]
    assert result.attribute_to_task.value == 0


def test_classes_0_and_1_out_of_three_stay_classes() -> None:
    truth = [0, 1, 2, 0, 1, 2]
    guess = [0, 1, 0, 0, 1, 1]
    group = ["a", "a", "a", "b", "b", "b"]
    result = directional_amplification(group, truth, task_predictions=guess).attribute_to_task
    assert result is not None
    assert result.tasks == ("0", "1", "2")
    assert result.predicted[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0])


def test_probabilities_of_a_two_valued_attribute() -> None:
    group, task = [0, 0, 1, 1], [1, 0, 1, 1]
    result = directional_amplification(group, task, attribute_predictions=[0.25, 0.5, 1.0, 0.5])
    assert result.attribute_to_task is None
    actual = result.task_to_attribute
    assert actual is not None
    assert actual.predicted[:, 0].tolist() == pytest.approx([1.25 / 3, 1.75 / 3])


@pytest.mark.parametrize(
    "column", [[1, 0, 1], np.array([[1], [0], [1]]), pd.DataFrame({"p": [1, 0, 1]})]
)
@pytest.mark.parametrize("truth", [[1, 1, 0], pd.DataFrame({"hired": [1, 1, 0]})])
def test_one_task_has_one_column_whatever_its_form(truth: Any, column: Any) -> None:
    result = directional_amplification(["a", "b", "b"], truth, task_predictions=column)
    assert result.attribute_to_task is not None
    assert result.attribute_to_task.predicted.tolist() == [[1.0], [0.5]]


def test_intersections_are_one_attribute_set() -> None:
    groups = cross({"race": ["b", "b", "w", "w"], "sex": ["f", "m", "f", "m"]})
    result = directional_amplification(groups, [1, 0, 0, 1], task_predictions=[1, 1, 0, 1])
    assert result.attribute_to_task is not None
    assert result.attribute_to_task.attributes == ("b & f", "b & m", "w & f", "w & m")


def test_the_train_set_decides_the_lean_alone() -> None:
    inputs = {"task_predictions": [1, 1, 0, 0]}
    group, task = ["a", "a", "b", "b"], [1, 0, 1, 0]
    assert directional_amplification(group, task, **inputs).attribute_to_task.value == 0
    train = {"train_attribute_labels": ["a", "b", "c"], "train_task_labels": [1, 0, 0]}
    result = directional_amplification(group, task, **inputs, **train).attribute_to_task
    assert result.lean[:2, 0].tolist() == [1, -1]
    assert result.value == 0.5
    assert result.undefined_pairs == 1  # nobody in the test set is a "c"
    heavy = directional_amplification(
        group, task, **inputs, **train, train_sample_weight=[1, 1, 0]
    ).attribute_to_task
    assert np.isnan(heavy.lean[2, 0])  # a "c" of no weight does not occur


def test_classes_that_only_occur_among_predictions_do_not_dilute_the_mean() -> None:
    group = np.repeat(["f", "m"], [60, 60])
    task = np.repeat(["cook", "drive", "cook", "drive"], [40, 20, 20, 40])
    guess = np.repeat(["cook", "drive", "cook", "drive"], [48, 12, 12, 48])
    stray = guess.copy()
    stray[[0, 60, 100]] = ["new", "newer", "newest"]

    def value(predictions: np.ndarray, **more: Any) -> Any:
        return directional_amplification(
            group, task, task_predictions=predictions, **more
        ).attribute_to_task

    assert value(guess).value == pytest.approx(0.1333, abs=1e-4)
    actual, published = value(stray), value(stray, keep_unseen=True)
    # Three rows of 120 are no longer predicted right: a small change, not a factor of 2.5.
    assert actual.value == pytest.approx((7 + 8 + 9 + 7) / 240)
    assert published.value == pytest.approx(actual.value * 4 / 10)
    assert (actual.undefined_pairs, published.undefined_pairs) == (6, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give `attribute_predictions`, `task_predictions` or both"),
        ({"task_predictions": [1, 0, 1]}, "`task_predictions` has 3 rows, `task_labels` has 4"),
        (
            {"attribute_labels": ["a", "b"], "attribute_predictions": ["a", "b"]},
            "the attributes have 2 rows and the tasks have 4",
        ),
        ({"task_predictions": [1, 0, 1, 1.5]}, r"`task_predictions` must lie in \[0, 1\]"),
        ({"task_predictions": [1, 0, np.nan, 1]}, "missing or infinite values, first in row 2"),
        ({"task_predictions": np.zeros((4, 3))}, "has 3 columns, the labels have 2: 0, 1"),
        ({"task_predictions": np.zeros((4, 1, 1))}, "one or two dimensions, found 3"),
        ({"task_predictions": ["x", "y", "x", "y"]}, "none of which is among the labels 0, 1"),
        ({"task_predictions": [1] * 4, "sample_weight": [1, 2]}, r"must have shape \(4,\)"),
        ({"task_predictions": [1] * 4, "sample_weight": [-1] * 4}, "not negative and not all zero"),
        ({"task_predictions": [1] * 4, "train_task_labels": [1]}, "go together"),
    ],
)
def test_every_mistake_is_one_clear_error(arguments: dict[str, Any], message: str) -> None:
    rows = {"attribute_labels": ["a", "a", "b", "b"], "task_labels": [1, 0, 1, 0]}
    with pytest.raises(InputError, match=message):
        directional_amplification(**rows | arguments)


def test_the_mean_of_what_is_defined() -> None:
    table = np.array([[1.0, np.nan], [3.0, np.nan]])
    np.testing.assert_array_equal(defined_mean(table, axis=0), [2, np.nan])
    np.testing.assert_array_equal(defined_mean(table, axis=1), [1, 3])
    assert defined_mean(table) == defined_mean(table, axis=(0, 1)) == 2
    assert math.isnan(defined_mean(np.array([np.nan])))


# Two attributes, three tasks; by pair [[1/4, 1/4, 0], [-1/4, undefined, -1/2]].
FOUND = Amplification(
    Direction.ATTRIBUTE_TO_TASK,
    ("f", "m"),
    ("x", "y", "z"),
    predicted=np.array([[0.5, 0.25, 0.25], [0.25, np.nan, 0.0]]),
    base_rate=np.array([[0.25, 0.5, 0.25], [0.5, 0.5, 0.5]]),
    lean=np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]),
)


def test_the_summaries_are_means_of_what_is_defined() -> None:
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


def test_only_one_prediction_gives_only_its_direction() -> None:
    rows: dict[str, Any] = {"attribute_labels": ["f", "m", "m"], "task_labels": ["x", "y", "x"]}
    guesses = {"task_predictions": ["x", "x", "y"], "attribute_predictions": ["f", "f", "m"]}
    both = directional_amplification(**rows, **guesses).values
    assert list(both) == ["attribute->task", "task->attribute"]
    for (name, guess), direction in zip(guesses.items(), both, strict=True):
        alone = directional_amplification(**rows, **{name: guess}).values
        assert alone == {direction: both[direction]}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_label_that_never_occurs_leans_nowhere_or_is_left_out(direction: Direction) -> None:
    # "m" and "z" never occur.
    world = Association.from_counts([[3, 1, 0], [1, 3, 0], [0, 0, 0]], list("fgm"), list("xyz"))
    unseen = [[1, -1, np.nan], [-1, 1, np.nan], [np.nan] * 3]
    np.testing.assert_array_equal(lean_of_seen(world, direction), unseen)
    published = lean_of_seen(world, direction, keep_unseen=True)
    assert published.tolist() == [[1, -1, 0], [-1, 1, 0], [0, 0, 0]]


def test_an_unchanged_pair_that_leans_down_is_plain_zero() -> None:
    table = np.full((2, 2), 0.25)
    result = amplification(table, table, np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert not np.signbit(result).any()
