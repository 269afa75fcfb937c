"""Labels, predictions and groups in any of their usual forms, as an attacker sees them.

F1 is the paper's measure of how good predictions are; `perturb` makes labels wrong until they
have a given one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lmprobe.errors import InputError, invalid
from lmprobe.leakage.settings import Average
from lmprobe.metrics.directional import defined_mean
from lmprobe.metrics.labels import (
    Labels,
    as_array,
    indicators,
    is_frame,
    matched_columns,
    some_names,
)

Codes = NDArray[np.int64]

# Halvings of the rate: 2^-30 of it is less than one label in any data that fits memory.
_HALVINGS = 30


# Without slots, so that the combinations are found once.
@dataclass(frozen=True, eq=False)
class AttackerInput:
    """What is known of each example: one of `size` codes (n,), or `size` numbers (n, size).

    Examples that are equal look the same to an attacker, so it can work with counts of the
    different ones, the `combinations`.
    """

    values: NDArray[Any]
    size: int

    @property
    def coded(self) -> bool:
        """Whether each example has exactly one label."""
        return self.values.ndim == 1

    @cached_property
    def combinations(self) -> Codes:
        """Which combination of numbers each example has (n,); a code is one by itself."""
        if self.coded:
            return self.values
        codes = np.zeros(len(self.values), dtype=np.int64)
        for column in self.values.T:
            numbers, different = pd.factorize(column)
            codes, combinations = pd.factorize(codes * len(different) + numbers)
            if len(combinations) == len(codes):
                break  # no two examples are alike, and further columns make none alike
        return codes

    def rows(self, index: Codes) -> NDArray[np.float32]:
        """Return the numbers of those examples, (m, size); a code becomes 0/1 columns."""
        if not self.coded:
            return np.asarray(self.values[index], dtype=np.float32)
        columns = np.zeros((len(index), self.size), dtype=np.float32)
        columns[np.arange(len(index)), self.values[index]] = 1.0
        return columns

    def distinct(self, index: Codes) -> tuple[NDArray[np.float32], Codes]:
        """Return the different examples among those (K, size), and which each one is (m,)."""
        _, first, which = np.unique(
            self.combinations[index], return_index=True, return_inverse=True
        )
        return self.rows(index[first]), which


@dataclass(frozen=True, slots=True, eq=False)
class TrueLabels:
    """0/1 labels (n, L) with their names; `single` when every example has exactly one."""

    values: NDArray[np.uint8]
    names: tuple[str, ...]

    @property
    def single(self) -> bool:
        """Whether these are one of L labels per example rather than L yes-or-no labels."""
        return len(self.names) > 1 and bool((self.values.sum(axis=1) == 1).all())

    def as_input(self) -> AttackerInput:
        """Return the labels as an attacker sees them."""
        if self.single:
            return AttackerInput(self.values.argmax(axis=1).astype(np.int64), len(self.names))
        if len(self.names) == 1:
            return AttackerInput(self.values[:, 0].astype(np.int64), 2)
        return AttackerInput(self.values, len(self.names))


@dataclass(frozen=True, slots=True, eq=False)
class GroupLabels:
    """The group of each example as a code (n,), and the names of the codes."""

    codes: Codes
    names: tuple[str, ...]


def read_labels(labels: Labels) -> TrueLabels:
    """Read true labels: an (n, L) array or DataFrame of 0/1, or one column of categories."""
    array = as_array(labels, "labels")
    # One column of 0/1 is a label that is present or not.
    yes_or_no = array.ndim == 1 and array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all()
    read = indicators(labels, role="labels", binary=bool(yes_or_no))
    values = np.asarray(read.values)
    broken = ~((values == 0) | (values == 1)).all(axis=1)
    if broken.any():
        row = int(broken.argmax())
        raise invalid("labels", f" must be 0 or 1, or one column of categories; see row {row}")
    if (values == values[0]).all():
        raise invalid("labels", " are the same in every row, so there is nothing to guess from")
    return TrueLabels(values.astype(np.uint8), read.names)


def read_groups(attribute: Labels, rows: int | None = None) -> GroupLabels:
    """Read the protected attribute: one column of categories, or (n, G) with one 1 per row."""
    read = indicators(attribute, role="attribute")
    values = np.asarray(read.values)
    if rows is not None and len(values) != rows:
        raise invalid("attribute", f" has {len(values)} rows where the other data have {rows}")
    if not ((values == 0) | (values == 1)).all() or not (values.sum(axis=1) == 1).all():
        raise invalid("attribute", " must put every row in exactly one group")
    sizes = values.sum(axis=0, dtype=np.int64)
    if np.count_nonzero(sizes) < 2:
        raise invalid(
            "attribute",
            f" has only the group {read.names[int(sizes.argmax())]!r}: leakage is about "
            "telling at least two groups apart",
        )
    if not sizes.all():
        empty = read.names[int(sizes.argmin())]
        raise invalid("attribute", f" has no row of the group {empty!r}; leave that group out")
    return GroupLabels(values.argmax(axis=1).astype(np.int64), read.names)


def read_predictions(predictions: Any, names: tuple[str, ...] | None = None) -> AttackerInput:
    """Read a model's predictions: (n, L) logits, probabilities or 0/1, or one column.

    One column of fractions is the score of one label; any other column is a category.
    `names` are the labels: they fix the order of the categories and of a DataFrame's columns.
    """
    if is_frame(predictions):
        predictions = _in_order(predictions, names)
    array = as_array(predictions, "predictions")
    if array.ndim == 1 and (array.dtype.kind != "f" or (array == np.round(array)).all()):
        result = _categories(predictions, names)
    else:
        result = _numbers(array[:, None] if array.ndim == 1 else array, names)
    if (result.values == result.values[0]).all():
        raise invalid("predictions", " are the same in every row: they leak nothing")
    return result


def _in_order(frame: pd.DataFrame, names: tuple[str, ...] | None) -> NDArray[Any]:
    """Return the columns of a frame in the order of the labels."""
    columns = tuple(map(str, frame.columns))
    if names is None or len(names) != len(columns) or len(names) == 1:
        return frame.to_numpy()
    order = matched_columns(columns, names, "predictions")
    return frame.iloc[:, [order.index(name) for name in names]].to_numpy()


def _numbers(array: NDArray[Any], names: tuple[str, ...] | None) -> AttackerInput:
    if array.ndim != 2 or array.size == 0:
        raise invalid("predictions", f" must be (n, L) or one column, found shape {array.shape}")
    width = array.shape[1]
    if names is not None and width != len(names):
        raise invalid(
            "predictions",
            f" must have one column for each of the {len(names)} labels "
            f"({some_names(names)}), found {width}",
        )
    try:
        with np.errstate(over="ignore"):  # too large for float32 is infinite, and refused
            values = array.astype(np.float32)
    except (TypeError, ValueError) as problem:
        raise invalid("predictions", " must hold numbers when it has several columns") from problem
    broken = ~np.isfinite(values).all(axis=1)
    if broken.any():
        row = int(broken.argmax())
        raise invalid("predictions", f" has NaN or infinity, first in row {row}")
    if ((values == 0) | (values == 1)).all():
        # Decisions are labels, and one label per row is a code.
        return TrueLabels(values.astype(np.uint8), tuple(map(str, range(width)))).as_input()
    return AttackerInput(values, width)


def _categories(predictions: Any, names: tuple[str, ...] | None) -> AttackerInput:
    binary = names is not None and len(names) == 1
    read = indicators(predictions, role="predictions", names=("0", "1") if binary else None)
    if names is not None and not binary:
        if not set(read.names) & set(names):
            raise invalid(
                "predictions",
                f" holds {some_names(read.names)}, none of which is among the labels "
                f"{some_names(names)}",
            )
        read = read.aligned((*names, *(name for name in read.names if name not in names)))
    codes = np.asarray(read.values).argmax(axis=1).astype(np.int64)
    return AttackerInput(codes, len(read.names))


def f1_score(truth: NDArray[Any], decided: NDArray[Any], average: Average = "macro") -> float:
    """Return the F1 of 0/1 decisions (n, L) against the truth.

    A label that neither occurs nor is decided has no F1 and no say in the macro mean.

    >>> f1_score(np.array([[1, 0], [1, 0], [0, 1]]), np.array([[1, 0], [0, 1], [0, 1]]))
    0.6666666666666666
    """
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
        raise invalid("at", f" is an F1 and must lie between 0 and 1, found {target}")
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
