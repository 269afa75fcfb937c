"""What all metrics promise: the same input, named values, errors that name the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.disparity import group_rates
from lmprobe.metrics.mals import mals_amplification
from lmprobe.metrics.metric import item_metric, metrics, row_metric
from lmprobe.metrics.multi_attribute import multi_attribute_amplification
from lmprobe.metrics.predictability import predictability_amplification
from lmprobe.metrics.thresholds import amplification_curves

GROUP, TASK = [0, 0, 1, 1], [1, 0, 1, 0]
ROWS = {"attribute_labels": GROUP, "task_labels": TASK, "sample_weight": [1, 1, 1, 1]}
PREDICTIONS = {"attribute_predictions": GROUP, "task_predictions": TASK}
TRAIN = {
    "train_attribute_labels": GROUP,
    "train_task_labels": TASK,
    "train_sample_weight": [1, 1, 1, 1],
}
ARGUMENTS: dict[Callable[..., Any], dict[str, Any]] = {
    directional_amplification: ROWS | PREDICTIONS | TRAIN,
    mals_amplification: ROWS | PREDICTIONS | TRAIN,
    multi_attribute_amplification: ROWS | PREDICTIONS | TRAIN,
    predictability_amplification: ROWS | PREDICTIONS,
    group_rates: ROWS | {"task_predictions": TASK},
    amplification_curves: ROWS | TRAIN | {"task_scores": [0.1, 0.2, 0.3, 0.4]},
}
WRONG_ROWS = ([1, 0, np.nan, 1], np.zeros((4, 1, 1)))
WRONG_WEIGHTS = ([1, 2], [0, 0, 0, 0], [1, 1, 1, -1], ["x"] * 4, [1, 0, np.nan, 1])


@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_the_argument_that_is_wrong_is_named(function: Callable[..., Any]) -> None:
    good = ARGUMENTS[function]
    function(**good)
    for name in good:
        if name == "task_scores":
            continue
        for wrong in WRONG_WEIGHTS if name.endswith("sample_weight") else WRONG_ROWS:
            with pytest.raises(InputError, match=f"^`{name}` "):
                function(**good | {name: wrong})


@pytest.mark.parametrize("function", list(ARGUMENTS)[:3], ids=lambda function: function.__name__)
@pytest.mark.parametrize("missing", ["train_attribute_labels", "train_task_labels"])
def test_train_labels_go_together(function: Callable[..., Any], missing: str) -> None:
    arguments = {name: value for name, value in ARGUMENTS[function].items() if name != missing}
    with pytest.raises(InputError, match="`train_attribute_labels` and `train_task_labels` go"):
        function(**arguments)


def test_every_metric_takes_the_same_input_and_names_its_values() -> None:
    both = {"attribute->task", "task->attribute"}
    # Those of item sets take items.
    of_rows = [name for name in metrics.names() if item_metric(name) is None]
    names = {name: set(row_metric(name)(**ROWS | PREDICTIONS).values) for name in of_rows}
    assert all(values and values <= both | {"undirected"} for values in names.values())
    assert names["directional"] == names["predictability"] == both
    assert names["mals"] == {"undirected"}
    assert names["multi-attribute"] == both | {"undirected"}
