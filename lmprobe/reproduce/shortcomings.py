"""Where the older metric misleads: the worked examples of section 3.2."""

from __future__ import annotations

from typing import Any

import pandas as pd

import lmprobe
from lmprobe.io.work import Progress, silent
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, reproduction
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.shipped import published
from lmprobe.results import DotPlot, Dots

METRICS = ("MALS", "attribute->task", "task->attribute")


def measures(people: list[list[Any]]) -> tuple[float, float, float]:
    """Return the METRICS of people whose group is predicted perfectly."""
    table = pd.DataFrame(people, columns=["group", "truth", "guess", "count"])
    labels = (table["group"], table["truth"])
    predicted: dict[str, Any] = {
        "attribute_predictions": table["group"],
        "task_predictions": table["guess"],
        "sample_weight": table["count"],
    }
    older = lmprobe.mals_amplification(*labels, **predicted)
    ours = lmprobe.directional_amplification(*labels, **predicted)
    assert ours.attribute_to_task is not None
    assert ours.task_to_attribute is not None
    return older.value, ours.attribute_to_task.value, ours.task_to_attribute.value


@experiment("shortcomings")
def shortcomings(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Run the examples in which MALS misleads and directional amplification does not."""
    scenarios = published("shortcomings")["scenario"]
    values = [measures(scenario["people"]) for scenario in scenarios]
    rows = [
        ReproducedRow(
            f"{scenario['name']}: {metric}",
            value,
            scenario["printed"].get(metric),
            details={"scenario": scenario["name"], "metric": metric},
        )
        for scenario, row in zip(scenarios, values, strict=True)
        for metric, value in zip(METRICS, row, strict=True)
    ]
    mals, amplification, _ = zip(*values, strict=True)
    figure = DotPlot(
        name="scenarios",
        title="Four models that exaggerate, by the older metric and by the directional one",
        categories=("three groups", "never for A2", "always for A1", "unequal groups"),
        dots=(Dots("MALS", mals), Dots(METRICS[1], amplification)),
        x_label="amplification",
        reference=0.0,
        alternative="MALS is 0, 0.2, 0.03 and -0.6 in the four scenarios; attribute->task "
        "amplification is positive in all of them.",
    )
    return reproduction("shortcomings", rows, drawn=(figure,))
