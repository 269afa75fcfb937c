"""Where the older metric misleads: the worked examples of section 3.2."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from lmprobe.core.direction import Direction
from lmprobe.io.progress import Progress, silent
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.mals import mals_amplification
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, texts_as_notes
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.tables import comparison_table
from lmprobe.results.figure import DotPlot, Dots, Figure


@dataclass(frozen=True, slots=True)
class Scenario:
    """People as (group, truth, guess, how many), and what the paper says of them."""

    name: str
    label: str
    """The name where there is little room."""
    people: tuple[tuple[str, int, int, int], ...]
    mals: float
    attribute_to_task: float | None
    task_to_attribute: float | None


SCENARIOS = (
    Scenario(
        "1: three groups",
        "three groups",
        (
            ("A1", 0, 0, 10),
            ("A1", 1, 1, 40),
            ("A2", 0, 0, 40),
            ("A2", 1, 0, 10),
            ("A3", 0, 1, 10),
            ("A3", 1, 1, 20),
        ),
        mals=0.0,
        attribute_to_task=0.1778,
        task_to_attribute=0.0,
    ),
    Scenario(
        "1: two groups, never for A2",
        "never for A2",
        (("A1", 0, 0, 10), ("A1", 1, 1, 40), ("A2", 0, 0, 40), ("A2", 1, 0, 10)),
        mals=0.2,
        attribute_to_task=None,
        task_to_attribute=None,
    ),
    Scenario(
        "1: two groups, always for A1",
        "always for A1",
        (("A1", 0, 1, 10), ("A1", 1, 1, 40), ("A2", 0, 0, 40), ("A2", 1, 1, 10)),
        mals=0.033,
        attribute_to_task=None,
        task_to_attribute=None,
    ),
    Scenario(
        "2: unequal groups",
        "unequal groups",
        (("A1", 0, 0, 60), ("A1", 1, 0, 30), ("A2", 0, 1, 10), ("A2", 1, 1, 20)),
        mals=-0.6,
        attribute_to_task=0.3333,
        task_to_attribute=0.0,
    ),
)


@experiment("shortcomings")
def shortcomings(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Run the examples in which MALS misleads and directional amplification does not."""
    rows = [row for scenario in SCENARIOS for row in _rows(scenario)]
    return Reproduction(
        name="shortcomings",
        title="Shortcomings of the older metric (MALS), and what the directional one says",
        paper="Wang & Russakovsky 2021 (ICML), sections 3.2 and 4.1",
        rows=tuple(rows),
        printed=(comparison_table(rows),),
        notes=texts_as_notes(
            "In every scenario the predictions exaggerate the link: MALS gives 0, two different "
            "values for the same error, and a negative value.",
            "The attribute is predicted perfectly throughout, so task->attribute is 0.",
        ),
        drawn=(_figure(rows),),
    )


def _rows(scenario: Scenario) -> list[ReproducedRow]:
    people = pd.DataFrame(scenario.people, columns=["group", "truth", "guess", "count"])
    group, truth, weight = people["group"], people["truth"], people["count"]
    older = mals_amplification(
        group,
        truth,
        attribute_predictions=group,
        task_predictions=people["guess"],
        sample_weight=weight,
    )
    ours = directional_amplification(
        group,
        truth,
        attribute_predictions=group,
        task_predictions=people["guess"],
        sample_weight=weight,
    )
    assert ours.attribute_to_task is not None
    assert ours.task_to_attribute is not None
    measured = (
        ("MALS", older.value, scenario.mals),
        (Direction.ATTRIBUTE_TO_TASK, ours.attribute_to_task.value, scenario.attribute_to_task),
        (Direction.TASK_TO_ATTRIBUTE, ours.task_to_attribute.value, scenario.task_to_attribute),
    )
    return [
        ReproducedRow(
            f"{scenario.name}: {metric}",
            value,
            printed,
            details={"scenario": scenario.name, "metric": str(metric)},
        )
        for metric, value, printed in measured
    ]


def _figure(rows: list[ReproducedRow]) -> Figure:
    def dots(metric: str) -> Dots:
        return Dots(metric, tuple(row.value for row in rows if row.details["metric"] == metric))

    return DotPlot(
        name="scenarios",
        title="Four models that exaggerate, by the older metric and by the directional one",
        categories=tuple(scenario.label for scenario in SCENARIOS),
        dots=(dots("MALS"), dots(Direction.ATTRIBUTE_TO_TASK.value)),
        x_label="amplification",
        reference=0.0,
        alternative="MALS is 0, 0.2, 0.03 and -0.6 in the four scenarios; attribute->task "
        "amplification is positive in all of them.",
    )
