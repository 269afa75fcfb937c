"""Risk scores with little bias amplification and a large gap in false positives."""

from __future__ import annotations

import pandas as pd

from lmprobe.core.direction import Direction
from lmprobe.io.progress import Progress, silent
from lmprobe.metrics.directional import directional_amplification
from lmprobe.metrics.groups import group_rates
from lmprobe.reproduce.experiment import experiment
from lmprobe.reproduce.result import ReproducedRow, Reproduction, texts_as_notes
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.reproduce.shipped import shipped_table
from lmprobe.reproduce.tables import grid_table
from lmprobe.results.figure import Figure, Series, SeriesPlot

# High risk is a decile above the threshold: 0 makes everybody high risk, 10 nobody.
THRESHOLDS = range(11)
SHORT = {"African-American": "Black", "Caucasian": "White"}


@experiment("compas")
def compas(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Measure COMPAS risk scores at every threshold: amplification and false positive rates."""
    people, provenance = shipped_table("compas_counts")
    rows = [
        row
        for threshold in THRESHOLDS
        for by in ("race", "sex")
        for row in _measured(people, by, threshold)
    ]
    return Reproduction(
        name="compas",
        title="COMPAS: attribute->task amplification and false positive rates",
        paper="Wang & Russakovsky 2021 (ICML), Figure 6; ICLR submission, Figure 7 "
        "(curves; no numbers are printed)",
        rows=tuple(rows),
        printed=(grid_table(rows, "threshold", "column"),),
        notes=texts_as_notes(
            "High risk is a decile score above the threshold; the task is a new charge within "
            "two years. 0 and 10 are the trivial thresholds: everybody or nobody.",
            f"{people['count'].sum():,} people; {provenance['source']}.",
            "Little amplification is not evidence of fairness here: the labels themselves are "
            "skewed, and Black defendants are far more often wrongly classified as high risk.",
        ),
        drawn=(_figure(rows, "race"), _figure(rows, "sex")),
    )


def _measured(people: pd.DataFrame, by: str, threshold: int) -> list[ReproducedRow]:
    """Return the amplification by `by` and the false positive rate of each group."""
    high = (people["decile_score"] > threshold).astype(int)
    again, weight = people["two_year_recid"], people["count"]
    rates = group_rates(people[by], again, high, sample_weight=weight)
    found = directional_amplification(
        people[by], again, task_predictions=high, sample_weight=weight
    ).attribute_to_task
    assert found is not None

    def row(measure: str, group: str | None, value: float) -> ReproducedRow:
        of = f"{by} A->T" if group is None else f"FPR {SHORT.get(group, group)}"
        whom = f"by {by}" if group is None else group
        details = {"threshold": threshold, "by": by, "measure": str(measure), "group": group}
        name = f"threshold {threshold}: {measure} {whom}"
        return ReproducedRow(name, value, details={**details, "column": of})

    return [
        row(Direction.ATTRIBUTE_TO_TASK, None, found.value),
        *(
            row("false positive rate", group, float(rate))
            for group, rate in zip(rates.attributes, rates.false_positive[:, 0], strict=True)
        ),
    ]


def _figure(rows: list[ReproducedRow], by: str) -> Figure:
    wanted = [row for row in rows if row.details["by"] == by]
    thresholds = tuple(float(threshold) for threshold in THRESHOLDS)
    names = list(dict.fromkeys(row.details["column"] for row in wanted))
    lines = {
        name: tuple(row.value for row in wanted if row.details["column"] == name) for name in names
    }
    gap = max(abs(one - other) for one, other in zip(lines[names[1]], lines[names[2]], strict=True))
    largest = max(abs(value) for value in lines[names[0]])
    return SeriesPlot(
        name=by,
        title=f"COMPAS by {by}: amplification and false positive rates over the threshold",
        x_label="threshold: high risk is a decile above it",
        y_label="rate, or amplification",
        series=tuple(
            Series(name, thresholds, line, style="line" if name == names[0] else "dashed")
            for name, line in lines.items()
        ),
        alternative=f"Amplification by {by} stays within {largest:.2f} of zero; the false "
        f"positive rates of the two groups differ by up to {gap:.2f}.",
    )
