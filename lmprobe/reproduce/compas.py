"""Risk scores with little bias amplification and a large gap in false positives."""

from __future__ import annotations

import pandas as pd

import lmprobe
from lmprobe.io.work import Progress, silent
from lmprobe.metrics.disparity import group_rates
from lmprobe.reproduce.experiment import (
    ReproducedRow,
    Reproduction,
    experiment,
    figure_texts,
    grid_table,
    reproduction,
    shipped_table,
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Figure, Series, SeriesPlot

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
        for row in _rows(people, by, threshold)
    ]
    _, largest, gap = _lines(rows, "race")
    return reproduction(
        "compas",
        rows,
        grid_table(rows, "threshold", "column"),
        drawn=(_figure(rows, "race"), _figure(rows, "sex")),
        people=people["count"].sum(),
        source=provenance["source"],
        largest=largest,
        gap=gap,
    )


def _rows(people: pd.DataFrame, by: str, threshold: int) -> list[ReproducedRow]:
    """Return the amplification by `by` and the false positive rate of each group."""
    high = (people["decile_score"] > threshold).astype(int)
    labels, weight = (people[by], people["two_year_recid"]), people["count"]
    (amplification,) = lmprobe.directional_amplification(
        *labels, task_predictions=high, sample_weight=weight
    ).directions
    rates = group_rates(*labels, high, sample_weight=weight)

    def row(measure: str, whom: str, group: str | None, column: str, value: float) -> ReproducedRow:
        details = {"threshold": threshold, "by": by, "measure": measure, "group": group}
        name = f"threshold {threshold}: {measure} {whom}"
        return ReproducedRow(name, value, details={**details, "column": column})

    return [
        row("attribute->task", f"by {by}", None, f"{by} A->T", amplification.value),
        *(
            row("false positive rate", group, group, f"FPR {SHORT.get(group, group)}", float(rate))
            for group, rate in zip(rates.attributes, rates.false_positive[:, 0], strict=True)
        ),
    ]


def _lines(rows: list[ReproducedRow], by: str) -> tuple[dict[str, list[float]], float, float]:
    """Return amplification by `by` and the rate of each group over the thresholds.

    With them the largest size of the amplification, and the largest gap between the rates.
    """
    lines: dict[str, list[float]] = {}
    for row in rows:
        if row.details["by"] == by:
            lines.setdefault(row.details["column"], []).append(row.value)
    amplification, *rates = lines.values()
    gap = max(abs(left - right) for left, right in zip(*rates, strict=True))
    return lines, max(map(abs, amplification)), gap


def _figure(rows: list[ReproducedRow], by: str) -> Figure:
    lines, largest, gap = _lines(rows, by)
    x = tuple(map(float, THRESHOLDS))
    series = tuple(
        Series(name, x, tuple(line), style="dashed" if number else "line")
        for number, (name, line) in enumerate(lines.items())
    )
    return SeriesPlot(series=series, **figure_texts("compas", by, largest=largest, gap=gap))
