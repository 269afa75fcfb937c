"""Other metrics of the same table: what each is given, by a metric that shows it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.metric import metrics
from lmprobe.tabular.counting import Counted
from lmprobe.tabular.other_metrics import MetricValue, other_values


class Values(NamedTuple):
    values: dict[str, float]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return what two metrics are called with: one that knows train tables, and one not."""
    seen: list[dict[str, Any]] = []
    # Filled first, so that what is built in stays when these are taken out again.
    assert metrics.names()
    monkeypatch.setattr(metrics, "_found", dict(metrics._found))

    @metrics.register("knows")
    def knows(
        groups: Any, tasks: Any, *, train_attribute_labels: Any = None, **more: Any
    ) -> Values:
        seen.append({"groups": groups, "tasks": tasks, "train": train_attribute_labels, **more})
        return Values({"undirected": 0.5, "attribute->task": float("nan")})

    @metrics.register("plain")
    def plain(
        groups: Any, tasks: Any, *, attribute_predictions: Any, task_predictions: Any,
        sample_weight: Any,
    ) -> Values:  # fmt: skip
        seen.append({"groups": groups, "tasks": tasks, "sample_weight": sample_weight})
        return Values({"undirected": 1.0})

    return seen


def table(**changes: Any) -> Counted:
    made: dict[str, Any] = {
        "groups": np.array(["f", "m"], dtype=object),
        "group_guesses": None,
        "tasks": np.array([[0.5, 0.0], [0.0, 3.0]]),
        "task_guesses": np.array([[0.0, 0.5], [3.0, 0.0]]),
        "weight": np.array([0.5, 3.0]),
        "times": np.array([4, 2]),
        "unit": None,
        "added": False,
    }
    return Counted(**{**made, **changes})


def test_kinds_of_rows_are_rows_of_their_number_and_weight(
    given: list[dict[str, Any]],
) -> None:
    found = other_values(["knows", "plain"], table(), None, ["t", "u"])
    assert found == (
        MetricValue("knows", "undirected", 0.5),
        MetricValue("knows", "attribute->task", None),
        MetricValue("plain", "undirected", 1.0),
    )
    first, second = given
    assert first["sample_weight"].tolist() == second["sample_weight"].tolist() == [2.0, 6.0]
    # Amounts are multiplied by the weight; a metric takes 0 and 1.
    assert first["tasks"].to_dict("list") == {"t": [1.0, 0.0], "u": [0.0, 1.0]}
    assert first["task_predictions"].to_dict("list") == {"t": [0.0, 1.0], "u": [1.0, 0.0]}
    assert first["attribute_predictions"] is None
    assert first["train"] is None
    assert "train_task_labels" not in first


def test_a_train_table_goes_to_the_metrics_that_know_one(
    given: list[dict[str, Any]],
) -> None:
    train = table(weight=np.array([0.5, 3.0]), times=np.array([8, 10]))
    other_values(["knows", "plain"], table(), train, ["t", "u"])
    assert given[0]["train"].tolist() == ["f", "m"]
    assert given[0]["train_sample_weight"].tolist() == [4.0, 30.0]
    assert given[0]["train_task_labels"]["t"].tolist() == [1.0, 0.0]
    assert len(given) == 2


def test_classes_are_given_as_they_are_and_rows_without_weight_as_0(
    given: list[dict[str, Any]],
) -> None:
    classes = np.array(["x", "y"], dtype=object)
    other_values(["knows"], table(tasks=classes, task_guesses=None), None, ["job"])
    assert given[0]["tasks"].tolist() == ["x", "y"]
    assert given[0]["task_predictions"] is None
    light = table(weight=np.array([0.5, 0.0]), tasks=np.array([[0.5, 0.0], [0.0, 0.0]]))
    other_values(["knows"], light, None, ["t", "u"])
    assert given[1]["tasks"].to_dict("list") == {"t": [1.0, 0.0], "u": [0.0, 0.0]}


@pytest.mark.parametrize(
    ("one", "train"), [(table(added=True), None), (table(), table(added=True))]
)
def test_sums_of_rows_are_not_enough(one: Counted, train: Counted | None) -> None:
    with pytest.raises(InputError, match="--metric needs a table with few kinds of rows"):
        other_values(["mals"], one, train, ["t", "u"])
    assert other_values([], one, train, ["t", "u"]) == ()


def test_json_of_a_value() -> None:
    for value in (MetricValue("mals", "undirected", 0.25), MetricValue("mals", "T", None)):
        assert MetricValue.from_dict(value.to_dict()) == value
