"""F1, the paper's measure of how good a model is, and labels made wrong until they have one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, did_you_mean
from lmprobe.leakage.inputs import AttackerInput, Codes, TrueLabels
from lmprobe.leakage.settings import AVERAGES, Average
from lmprobe.metrics.directional import defined_mean

# Halvings of the rate: 2^-30 of it is less than one label in any data that fits memory.
_HALVINGS = 30


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
    scores = predictions.values
    if predictions.coded and len(labels.names) == 1:
        return scores[:, None].astype(np.uint8)
    if predictions.coded or labels.single:
        winner = scores if predictions.coded else scores.argmax(axis=1)
        return np.asarray(np.eye(predictions.size, dtype=np.uint8)[winner])
    if threshold is None:
        threshold = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    return (scores > threshold).astype(np.uint8)


def model_f1(
    labels: TrueLabels,
    predictions: AttackerInput,
    *,
    rows: Codes,
    average: Average = "macro",
    threshold: float | None = None,
) -> float:
    """Return the F1 of a model's decisions on those rows."""
    decided = decisions(predictions, labels, threshold)[rows]
    truth = labels.values[rows]
    # A category that is only ever predicted has a column of its own, always wrong.
    truth = np.pad(truth, ((0, 0), (0, decided.shape[1] - truth.shape[1])))
    return f1_score(truth, decided, average)


def perturb(
    labels: TrueLabels,
    target: float,
    *,
    rng: np.random.Generator,
    average: Average = "macro",
    rows: Codes | None = None,
) -> tuple[TrueLabels, float]:
    """Return labels whose errors are chance alone, and their F1 on `rows`, close to `target`.

    This is lambda_D(a) in the paper. Yes-or-no labels are flipped; one label per example is
    replaced by any label, drawn evenly. The same draws serve every rate that is tried (an
    error at some rate is an error at every higher one), so the rate can be found by halving
    and the F1 is met to within about one label.
    """
    if not 0 <= target <= 1:
        raise InputError(f"the F1 to reach must lie between 0 and 1, found {target}")
    if target == 1:
        return labels, 1.0
    values, single = labels.values, labels.single
    number, size = values.shape
    on = slice(None) if rows is None else rows
    codes, columns = values.argmax(axis=1), np.eye(size, dtype=np.uint8)
    draw = rng.random(number) if single else rng.random(values.shape, dtype=np.float32)
    other = rng.integers(size, size=number) if single else codes

    def wrong(rate: float) -> NDArray[np.uint8]:
        if single:
            return np.asarray(columns[np.where(draw < rate, other, codes)])
        return values ^ np.asarray(draw < rate, dtype=np.uint8)

    def tried(rate: float) -> tuple[float, float]:
        return rate, f1_score(values[on], wrong(rate)[on], average)

    # At half, a flipped label says nothing; beyond, it says the opposite, which is not noise.
    low, high = (0.0, 1.0), tried(1.0 if single else 0.5)
    if target < high[1]:
        raise InputError(
            f"the F1 to reach, {target:.4f}, is below what labels drawn at random reach "
            f"({high[1]:.4f} {average}); a model that is worse than chance has no equally good "
            "labels"
        )
    for _ in range(_HALVINGS):
        middle = tried((low[0] + high[0]) / 2)
        low, high = (middle, high) if middle[1] >= target else (low, middle)
        # At most one draw between the two rates: no rate in between makes other labels.
        if np.count_nonzero((draw >= low[0]) & (draw < high[0])) <= 1:
            break
    rate, f1 = min((low, high), key=lambda point: abs(point[1] - target))
    return TrueLabels(wrong(rate), labels.names), f1
