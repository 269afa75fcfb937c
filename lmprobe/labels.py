"""Reads labels and predictions in any of their usual forms into indicator columns.

A form is an (n, K) array or DataFrame of 0/1 or probabilities, or one categorical column
(list, array or Series). One idea holds throughout: column k says how much row i has k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lmprobe.errors import InputError

Labels = Any
"""An (n, K) array or DataFrame, or one column of n categories."""


@dataclass(frozen=True, slots=True, eq=False)
class Indicators:
    """Indicator columns: `values` (n, K) in [0, 1], one name per column."""

    values: NDArray[Any]
    names: tuple[str, ...]

    def aligned(self, names: tuple[str, ...]) -> Indicators:
        """Return the same rows with the columns `names`; a column not here is all zero."""
        if names == self.names:
            return self
        position = {name: number for number, name in enumerate(self.names)}
        values = np.zeros((len(self.values), len(names)), dtype=self.values.dtype)
        for number, name in enumerate(names):
            if name in position:
                values[:, number] = self.values[:, position[name]]
        return Indicators(values, names)


def cross(columns: dict[str, Labels]) -> NDArray[Any]:
    """Return one categorical column for the cross product of several, such as race x sex.

    >>> cross({"race": ["b", "w"], "sex": ["f", "m"]}).tolist()
    ['b & f', 'w & m']
    """
    parts = [np.asarray(column).astype(str) for column in columns.values()]
    if len({len(part) for part in parts}) != 1:
        raise InputError(f"the columns {', '.join(columns)} differ in length")
    return np.array([" & ".join(row) for row in zip(*parts, strict=True)], dtype=object)


def indicators(
    labels: Labels, *, role: str, names: tuple[str, ...] | None = None, binary: bool = False
) -> Indicators:
    """Read `labels` into indicator columns; `role` names the argument in error messages.

    With `binary`, one column of 0/1 (or probabilities) stays one indicator: the task is
    present or it is not. Without, its values are two groups. `names` fixes the categories,
    so that a test set and its train set get the same columns.
    """
    if isinstance(labels, pd.DataFrame):
        found = tuple(str(column) for column in labels.columns)
        return Indicators(_checked(labels.to_numpy(), role), found)
    array = labels.to_numpy() if isinstance(labels, pd.Series) else np.asarray(labels)
    if array.ndim == 2:
        default = tuple(str(number) for number in range(array.shape[1]))
        return Indicators(_checked(array, role), _fitting(names, default, role))
    if array.ndim != 1:
        raise InputError(f"`{role}` must have one or two dimensions, found {array.ndim}")
    if array.size == 0:
        raise InputError(f"`{role}` is empty; it needs at least one row")
    if binary and names in (None, ("1",)) and _is_numeric(array) and _in_unit(array):
        return Indicators(_checked(array[:, None], role), ("1",))
    if names is not None and set(names) == {"0", "1"} and _is_probability(array):
        return Indicators(_checked(np.stack([1 - array, array], axis=1), role), ("0", "1"))
    return _from_categories(labels, array, role, names)


def _from_categories(
    labels: Labels, array: NDArray[Any], role: str, names: tuple[str, ...] | None
) -> Indicators:
    missing = pd.isna(array)
    if missing.any():
        raise InputError(
            f"`{role}` has {missing.sum()} missing values, first in row {_first(missing)}"
        )
    if array.dtype.kind == "f" and (array != np.round(array)).any():
        raise InputError(
            f"`{role}` is one column of fractions; give categories, "
            "or probabilities of a 0/1 label, or an (n, K) array"
        )
    if array.dtype.kind == "f" or array.dtype.kind == "b":
        array = array.astype(np.int64)
    if names is None and isinstance(getattr(labels, "dtype", None), pd.CategoricalDtype):
        names = tuple(str(category) for category in labels.cat.categories)
    codes, uniques = pd.factorize(array, sort=True)
    found = tuple(str(value) for value in uniques)
    columns = np.zeros((len(array), len(found)), dtype=np.uint8)
    columns[np.arange(len(array)), codes] = 1
    unknown = set(found) - set(names or found)
    if unknown:
        raise InputError(
            f"`{role}` has the unknown category {sorted(unknown)[0]!r}; known: {names}"
        )
    return Indicators(columns, found).aligned(names or found)


def _checked(values: NDArray[Any], role: str) -> NDArray[Any]:
    """Return `values` as numbers in [0, 1], or say which row is not."""
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(f"`{role}` must hold numbers when it has several columns") from problem
    if not _is_numeric(values):
        raise InputError(f"`{role}` must hold numbers when it has several columns")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise InputError(f"`{role}` is empty; its shape is {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = _first((~np.isfinite(values)).any(axis=1))
        raise InputError(f"`{role}` has NaN or infinity, first in row {row}; remove or impute it")
    if not _in_unit(values):
        row = _first(((values < 0) | (values > 1)).any(axis=1))
        raise InputError(
            f"`{role}` must lie in [0, 1]: found {values[row].min()} to {values[row].max()} "
            f"in row {row}; turn scores into probabilities first"
        )
    return values


def _fitting(names: tuple[str, ...] | None, default: tuple[str, ...], role: str) -> tuple[str, ...]:
    if names is None:
        return default
    if len(names) != len(default):
        raise InputError(f"`{role}` has {len(default)} columns where {len(names)} are expected")
    return names


def _is_numeric(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biuf"


def _in_unit(array: NDArray[Any]) -> bool:
    if array.dtype.kind == "b":
        return True
    return bool(array.min() >= 0 and array.max() <= 1)


def _is_probability(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "f" and _in_unit(array) and bool((array != np.round(array)).any())


def _first(mask: Any) -> int:
    return int(np.flatnonzero(mask)[0])
