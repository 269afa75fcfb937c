"""Makes true labels wrong at random until their F1 is a given value: lambda_D(a) in the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError
from lmprobe.leakage.f1 import f1_score
from lmprobe.leakage.inputs import TrueLabels
from lmprobe.leakage.settings import Average

# Halvings of the rate: 2^-30 of it is less than one label in any data that fits memory.
_HALVINGS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Perturbed:
    """Labels of which a share `rate` was changed by chance, and the F1 that they reach."""

    labels: TrueLabels
    rate: float
    f1: float


def perturb(
    labels: TrueLabels,
    target: float,
    *,
    rng: np.random.Generator,
    average: Average = "macro",
    rows: NDArray[np.int64] | None = None,
) -> Perturbed:
    """Return labels whose errors are chance alone and whose F1 on `rows` is `target`.

    Yes-or-no labels are flipped; one label per example is replaced by any label, drawn
    evenly. The same draws serve every rate that is tried (an error at some rate is an
    error at every higher one), so the rate can be found by halving and the F1 is met to
    within about one label.
    """
    if not 0 <= target <= 1:
        raise InputError(f"the F1 to reach must lie between 0 and 1, found {target}")
    if target == 1:
        return Perturbed(labels, 0.0, 1.0)
    make = _Replace(labels, rng) if labels.single else _Flip(labels, rng)
    # At half, a flipped label says nothing; beyond, it says the opposite, which is not noise.
    highest = 1.0 if labels.single else 0.5
    on = slice(None) if rows is None else rows

    def reached(rate: float) -> float:
        return f1_score(labels.values[on], make(rate)[on], average)

    low, high = (0.0, 1.0), (highest, reached(highest))
    if target < high[1]:
        raise InputError(
            f"the F1 to reach, {target:.4f}, is below what labels drawn at random reach "
            f"({high[1]:.4f} {average}); a model that is worse than chance has no equally good "
            "labels"
        )
    for _ in range(_HALVINGS):
        middle = (low[0] + high[0]) / 2
        f1 = reached(middle)
        low, high = ((middle, f1), high) if f1 >= target else (low, (middle, f1))
        # At most one draw between the two rates: no rate in between makes other labels.
        if np.count_nonzero((make.draw >= low[0]) & (make.draw < high[0])) <= 1:
            break
    rate, f1 = min((low, high), key=lambda tried: abs(tried[1] - target))
    return Perturbed(TrueLabels(make(rate), labels.names), rate, f1)


class _Flip:
    """Flips each yes-or-no label with a probability."""

    def __init__(self, labels: TrueLabels, rng: np.random.Generator) -> None:
        self._values = labels.values
        self.draw = rng.random(labels.values.shape, dtype=np.float32)

    def __call__(self, rate: float) -> NDArray[np.uint8]:
        return self._values ^ (self.draw < rate).astype(np.uint8)


class _Replace:
    """Replaces the one label of an example with a probability."""

    def __init__(self, labels: TrueLabels, rng: np.random.Generator) -> None:
        rows, size = labels.values.shape
        self._codes = labels.values.argmax(axis=1)
        self.draw = rng.random(rows)
        self._other = rng.integers(size, size=rows)
        self._columns = np.eye(size, dtype=np.uint8)

    def __call__(self, rate: float) -> NDArray[np.uint8]:
        chosen = np.where(self.draw < rate, self._other, self._codes)
        return np.asarray(self._columns[chosen])
