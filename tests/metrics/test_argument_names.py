"""An error of a metric names the argument that is wrong, whichever function was called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.groups import group_rates
from lmprobe.metrics.mals import mals_amplification
from lmprobe.metrics.multi_attribute import multi_attribute_amplification
from lmprobe.metrics.predictability import predictability_amplification
from lmprobe.metrics.thresholds import amplification_curves

GROUP, TASK = [0, 0, 1, 1], [1, 0, 1, 0]
TRAIN = {
    "train_attribute_labels": GROUP,
    "train_task_labels": TASK,
    "train_sample_weight": [1, 1, 1, 1],
}
ROWS = {"attribute_labels": GROUP, "task_labels": TASK, "sample_weight": [1, 1, 1, 1]}
PREDICTIONS = {"attribute_predictions": GROUP, "task_predictions": TASK}
ARGUMENTS: dict[Callable[..., Any], dict[str, Any]] = {
    directional_amplification: ROWS | PREDICTIONS | TRAIN,
    mals_amplification: ROWS | PREDICTIONS | TRAIN,
    multi_attribute_amplification: ROWS | PREDICTIONS | TRAIN,
    predictability_amplification: ROWS | PREDICTIONS,
    group_rates: ROWS | {"task_predictions": TASK},
    amplification_curves: ROWS | TRAIN | {"task_scores": [0.1, 0.2, 0.3, 0.4]},
}
CASES = [
    pytest.param(function, name, id=f"{function.__name__}-{name}")
    for function, arguments in ARGUMENTS.items()
    for name in arguments
    if name != "task_scores"
]


@pytest.mark.parametrize(("function", "name"), CASES)
@pytest.mark.parametrize("wrong", [[1, 0, np.nan, 1], np.zeros((4, 1, 1))], ids=["nan", "shape"])
def test_the_argument_that_is_wrong_is_named(
    function: Callable[..., Any], name: str, wrong: Any
) -> None:
    function(**ARGUMENTS[function])
    with pytest.raises(InputError, match=f"^`{name}` "):
        function(**ARGUMENTS[function] | {name: wrong})


WEIGHTS = [case for case in CASES if str(case.values[1]).endswith("sample_weight")]


@pytest.mark.parametrize(("function", "name"), WEIGHTS)
@pytest.mark.parametrize("wrong", [[1, 2], [0, 0, 0, 0], [1, 1, 1, -1], ["x"] * 4])
def test_a_weight_that_cannot_be_is_named(
    function: Callable[..., Any], name: str, wrong: Any
) -> None:
    with pytest.raises(InputError, match=f"^`{name}` must "):
        function(**ARGUMENTS[function] | {name: wrong})
