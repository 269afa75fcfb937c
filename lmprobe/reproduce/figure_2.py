"""How measures respond when a model predicts painting for too few or too many women."""

from __future__ import annotations

import numpy as np

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
)
from lmprobe.reproduce.settings import ExperimentSettings
from lmprobe.results import Series, SeriesPlot

# The majority pairs have 30 images each, the minority pairs 10 (section 2).
MAJORITY, MINORITY = 30, 10
WOMEN = MAJORITY + MINORITY
MEASURES = {
    "FPR difference": "FPR diff.",
    "TPR difference": "TPR diff.",
    "accuracy difference": "accuracy diff.",
    "mean subgroup accuracy": "subgroup accuracy",
    "MALS": "MALS",
    "attribute->task": "A->T",
}
"""The name of each measure and how it is written above a narrow column."""
# Every tenth of the women, and the ground truth: 30 of 40.
SHOWN = (0, 4, 8, 12, 16, 20, 24, 28, 30, 32, 36, 40)


def measures(painting_women: int) -> tuple[float, ...]:
    """Return the MEASURES of a model that is right about men and calls so many women painting.

    It is right about women as long as it can be: it misses painters while it predicts too
    few, and adds others only when every painter is found.
    """
    group = np.repeat(["woman", "man"], [WOMEN, WOMEN])
    truth = np.repeat([1, 0, 1, 0], [MAJORITY, MINORITY, MINORITY, MAJORITY])
    guess = truth.copy()
    guess[:WOMEN] = np.arange(WOMEN) < painting_women
    rates = group_rates(group, truth, guess)
    (ours,) = lmprobe.directional_amplification(group, truth, task_predictions=guess).directions
    # Painting and not painting are two tasks in the published figure; A->T is the same either way.
    older = lmprobe.mals_amplification(
        group,
        np.where(truth == 1, "painting", "not painting"),
        attribute_predictions=group,
        task_predictions=np.where(guess == 1, "painting", "not painting"),
    )
    return (
        float(rates.difference("false_positive", "woman", "man")[0]),
        float(rates.difference("true_positive", "woman", "man")[0]),
        float(rates.difference("accuracy", "woman", "man")[0]),
        float(rates.subgroup_accuracy[0]),
        older.value,
        ours.value,
    )


@experiment("figure-2")
def figure_2(settings: ExperimentSettings, progress: Progress = silent) -> Reproduction:
    """Set amplification beside four fairness measures as a model leans too little or too far."""
    table = {count: measures(count) for count in range(WOMEN + 1)}
    rows = []
    for count in SHOWN:
        share = f"{count / WOMEN:.0%}"
        for (measure, column), value in zip(MEASURES.items(), table[count], strict=True):
            details = {"women painting": share, "share": count / WOMEN, "measure": measure}
            name = f"{share} of women predicted painting: {measure}"
            rows.append(ReproducedRow(name, value, details={**details, "column": column}))
    shares = tuple(count / WOMEN for count in table)
    curves = zip(MEASURES, zip(*table.values(), strict=True), strict=True)
    figure = SeriesPlot(
        series=tuple(Series(name, shares, values) for name, values in curves),
        **figure_texts("figure-2", "measures"),
    )
    grid = grid_table(rows, "women painting", "column")
    return reproduction("figure-2", rows, grid, drawn=(figure,))
