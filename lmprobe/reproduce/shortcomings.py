"""Where the older metric misleads: the worked examples of section 3.2."""

from __future__ import annotations

from typing import Any

import pandas as pd

import lmprobe
from lmprobe.io.work import Progress, silent
from lmprobe.reproduce.experiment import (
    ReproducedRow,
    Reproduction,
    experiment,
    figure_texts,
    published,
    reproduction,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import HeatBlock, HeatMap

METRICS = ("MALS", "attribute->task", "task->attribute")


def measures(people: list[list[Any]]) -> dict[str, float]:
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
    return {"MALS": older.value, **ours.values}


@experiment("shortcomings")
def shortcomings(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Run the examples in which MALS misleads and directional amplification does not."""
    scenarios = published("shortcomings")["scenario"]
    values = {scenario["name"]: measures(scenario["people"]) for scenario in scenarios}
    rows = [
        ReproducedRow(
            f"{scenario['name']}: {metric}",
            value,
            scenario["printed"].get(metric),
            details={"scenario": scenario["name"], "metric": metric},
            decimals=scenario["decimals"],
        )
        for scenario in scenarios
        for metric, value in values[scenario["name"]].items()
    ]
    cells = tuple(tuple(row[metric] for metric in METRICS[:2]) for row in values.values())
    figure = HeatMap(
        rows=tuple(scenario["short"] for scenario in scenarios),
        blocks=(HeatBlock("", METRICS[:2], cells),),
        **figure_texts("shortcomings", "scenarios"),
    )
    return reproduction("shortcomings", rows, drawn=(figure,))
