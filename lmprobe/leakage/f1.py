"""The F1 score of discrete labels: how good a model is, in the unit of the leakage paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, did_you_mean
from lmprobe.leakage.inputs import AttackerInput, TrueLabels
from lmprobe.leakage.settings import AVERAGES, Average
from lmprobe.metrics.directional import defined_mean


def f1_score(truth: NDArray[Any], decided: NDArray[Any], average: Average = "macro") -> float:
    """Return the F1 of 0/1 decisions (n, L) against the truth.

    A label that neither occurs nor is decided has no F1 and no say in the macro mean.

    >>> f1_score(np.array([[1, 0], [1, 0], [0, 1]]), np.array([[1, 0], [0, 1], [0, 1]]))
    0.6666666666666666
    """
    if average not in AVERAGES:
        raise InputError(f'no average "{average}"; {did_you_mean(average, AVERAGES)}')
    hits = np.count_nonzero((truth == 1) & (decided == 1), axis=0).astype(np.float64)
    either = np.count_nonzero(truth, axis=0) + np.count_nonzero(decided, axis=0).astype(np.float64)
    if average == "micro":
        return float(2 * hits.sum() / either.sum())
    with np.errstate(invalid="ignore"):
        return float(defined_mean(2 * hits / either))


def decisions(
    predictions: AttackerInput, labels: TrueLabels, threshold: float | None = None
) -> NDArray[np.uint8]:
    """Return the 0/1 labels (n, L') that the predictions decide on.

    With one label per example the highest score wins. Otherwise a label is decided where
    its score is above `threshold`: by default 0.5 when all scores lie in [0, 1], as
    probabilities do, and 0 when they do not, as for logits.
    """
    width = len(labels.names)
    if predictions.coded and width == 1:
        return predictions.values[:, None].astype(np.uint8)
    if predictions.coded:
        return predictions.rows(np.arange(len(predictions.values))).astype(np.uint8)
    scores = predictions.values
    if labels.single:
        decided = np.zeros(scores.shape, dtype=np.uint8)
        decided[np.arange(len(scores)), scores.argmax(axis=1)] = 1
        return decided
    if threshold is None:
        threshold = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    return (scores > threshold).astype(np.uint8)


def model_f1(
    labels: TrueLabels,
    predictions: AttackerInput,
    *,
    rows: NDArray[np.int64],
    average: Average = "macro",
    threshold: float | None = None,
) -> float:
    """Return the F1 of a model's decisions on those rows."""
    decided = decisions(predictions, labels, threshold)[rows]
    truth = labels.values[rows]
    # A category that is only ever predicted has a column of its own, always wrong.
    truth = np.pad(truth, ((0, 0), (0, decided.shape[1] - truth.shape[1])))
    return f1_score(truth, decided, average)
