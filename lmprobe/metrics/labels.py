"""Reads labels and predictions in any of their usual forms into indicator columns.

A form is an (n, K) array or DataFrame of 0/1 or probabilities, or one categorical column
(list, array or Series). One idea holds throughout: column k says how much row i has k.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import Argument, InputError, invalid

if TYPE_CHECKING:
    import pandas as pd


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


def cross(columns: Mapping[str, Labels] | pd.DataFrame) -> NDArray[Any]:
    """Return one categorical column for the cross product of several, such as race x sex.

    >>> cross({"race": ["b", "w"], "sex": ["f", "m"]}).tolist()
    ['b & f', 'w & m']
    """
    if not hasattr(columns, "items"):
        raise invalid("columns", f" must be a table or columns by name: found {columns!r}")
    parts = []
    for name, column in columns.items():
        array = as_array(column)
        _refuse_missing(array, str(name))
        parts.append(array.astype(str))
    if len({part.shape for part in parts}) != 1 or parts[0].ndim != 1:
        shapes = ", ".join(str(part.shape) for part in parts)
        raise InputError(f"columns to cross must be columns of the same length, found {shapes}")
    joined = [
        str(name)
        for name, part in zip(columns, parts, strict=True)
        if (np.strings.find(part, " & ") >= 0).any()
    ]
    if len(joined) > 1:
        # "x & y" with "z" and "x" with "y & z" would be one group.
        raise InputError(
            f'{" and ".join(joined)} hold " & ", which joins crossed columns; replace it in one'
        )
    crossed = parts[0]
    for part in parts[1:]:
        crossed = np.strings.add(np.strings.add(crossed, " & "), part)
    return crossed


def indicators(
    labels: Labels, *, role: str, names: tuple[str, ...] | None = None, binary: bool = False
) -> Indicators:
    """Read `labels` into indicator columns; `role` names the argument in error messages.

    With `binary`, one column of 0/1 (or probabilities) stays one indicator: the task is
    present or it is not. Without, its values are two groups. `names` fixes the categories,
    so that a test set and its train set get the same columns.
    """
    if is_frame(labels):
        columns = tuple(str(column) for column in labels.columns)
        twice = sorted({name for name in columns if columns.count(name) > 1})
        if twice:
            raise invalid(role, f' has the column "{twice[0]}" twice; rename one')
        return Indicators(_checked(labels.to_numpy(), role), columns)
    array = as_array(labels, role)
    if array.ndim == 2:
        width = array.shape[1]
        if names is not None and len(names) != width:
            raise invalid(role, f" has {width} columns where {len(names)} are expected")
        return Indicators(_checked(array, role), names or tuple(map(str, range(width))))
    if array.ndim != 1:
        raise invalid(role, f" must have one or two dimensions, found {array.ndim}")
    if array.size == 0:
        raise invalid(role, " is empty; it needs at least one row")
    _refuse_missing(array, role)
    if binary and _is_numeric(array):
        return Indicators(_checked(array[:, None], role), ("1",))
    if names is not None and set(names) == {"0", "1"} and is_fraction(array):
        yes = _checked(array[:, None], role)
        return Indicators(np.hstack([1 - yes, yes]), ("0", "1")).aligned(names)
    return _from_categories(labels, array, role, names)


def _from_categories(
    labels: Labels, array: NDArray[Any], role: str, names: tuple[str, ...] | None
) -> Indicators:
    import pandas as pd

    if is_fraction(array):
        raise invalid(
            role,
            " is one column of fractions; give categories, or probabilities of a 0/1 "
            "label, or an (n, K) array",
        )
    if array.dtype.kind in "fb":
        array = array.astype(np.int64)
    if array.dtype.kind == "O":
        array = array.astype(str)
    declared = getattr(getattr(labels, "dtype", None), "categories", None)
    if names is None and declared is not None:
        names = tuple(str(category) for category in declared)
    codes, uniques = pd.factorize(array, sort=True)
    categories = tuple(str(value) for value in uniques)
    unknown = sorted(set(categories) - set(names or categories))
    if unknown:
        raise invalid(
            role, f' has the unknown category "{unknown[0]}"; known: {", ".join(names or ())}'
        )
    columns = np.zeros((len(array), len(categories)), dtype=np.uint8)
    columns[np.arange(len(array)), codes] = 1
    return Indicators(columns, categories).aligned(names or categories)


def _checked(values: NDArray[Any], role: str) -> NDArray[Any]:
    """Return `values` as numbers in [0, 1], or say which row is not."""
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise invalid(role, f" is empty; its shape is {values.shape}")
    if values.dtype.kind == "O":
        import pandas as pd

        try:
            values = np.where(pd.isna(values), np.nan, values).astype(np.float64)
        except (TypeError, ValueError):
            values = values.astype(str)
    if not _is_numeric(values):
        raise invalid(
            role,
            f" is a table of shape {values.shape} with words in it; give one column of "
            "words (several are made one by `lmprobe.cross`), or columns of numbers",
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = _first((~np.isfinite(values)).any(axis=1))
        raise invalid(role, f" has NaN or infinity, first in row {row}; remove or impute it")
    if not _in_unit(values):
        row = _first(((values < 0) | (values > 1)).any(axis=1))
        raise invalid(
            role,
            f" must lie in [0, 1]: found {values[row].min()} to {values[row].max()} in "
            f"row {row}; turn scores into probabilities first",
        )
    return values


def number_column(column: Any, role: str) -> NDArray[np.float64]:
    """Return one column of finite numbers as floats."""
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(role, " must be one column of numbers") from None
    if values.ndim != 1 or not values.size:
        raise invalid(role, f" must be one column with at least one row: {values.shape}")
    if not np.isfinite(values).all():
        first = _first(~np.isfinite(values))
        raise invalid(role, f" has NaN or infinity, first in row {first}")
    return values


def _refuse_missing(array: NDArray[Any], role: str) -> None:
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    elif array.dtype.kind in "biuU":
        return
    else:
        import pandas as pd

        missing = np.asarray(pd.isna(array))
    if missing.any():
        raise invalid(
            role,
            f" has {missing.sum()} missing or infinite values, first in row "
            f"{_first(missing)}; remove or impute them",
        )


def is_frame(form: Labels) -> TypeGuard[pd.DataFrame]:
    """Tell a DataFrame; nobody has one before pandas is loaded, which takes half a second."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(form, pandas.DataFrame)


def as_array(form: Labels, role: str = "labels") -> NDArray[Any]:
    """Return the form as an array; words keep their missing values."""
    try:
        array = np.asarray(form)
    except ValueError:
        raise InputError("rows of ", Argument(role), " must all have the same length") from None
    if array.dtype.kind == "U" and isinstance(form, list | tuple):
        # Among words numpy would turn a missing value into the word "nan".
        return np.asarray(form, dtype=object)
    return array


def is_unit_column(form: Labels) -> bool:
    """Tell whether this is one column of numbers that can be 0/1 or probabilities."""
    array = as_array(form)
    single = array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)
    return single and array.size > 0 and _is_numeric(array) and _in_unit(array)


def is_fraction(array: NDArray[Any]) -> bool:
    """Tell whether these are numbers that are not all whole."""
    return array.dtype.kind == "f" and bool((array != np.round(array)).any())


def _is_numeric(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biuf"


def _in_unit(array: NDArray[Any]) -> bool:
    return bool(array.min() >= 0 and array.max() <= 1)


def _first(mask: Any) -> int:
    return int(np.flatnonzero(mask)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """What is known about the attributes, or the tasks: all with the same columns."""

    truth: Indicators
    predicted: Indicators | None
    train: Indicators | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the labels, then those only predicted or only in the train set."""
        return self.truth.names


def read_axis(
    axis: Literal["attribute", "task"],
    labels: Labels,
    predictions: Labels | None = None,
    train: Labels | None = None,
) -> Axis:
    """Read the labels, predictions and train labels of one axis into the same columns.

    One task column of 0/1 (predictions may be probabilities) is one task, present or not;
    one attribute column of 0/1 is two groups.
    """
    roles = (f"{axis}_labels", f"{axis}_predictions", f"train_{axis}_labels")
    given = {
        role: form
        for role, form in zip(roles, (labels, predictions, train), strict=True)
        if form is not None
    }
    # Decided on all of them: predictions of the classes 0 and 1 out of 0, 1, 2 are no task "1".
    binary = axis == "task" and all(is_unit_column(form) for form in given.values())
    truth = indicators(labels, role=roles[0], binary=binary)
    read = {roles[0]: truth}
    lone = as_array(labels).ndim == 2 and len(truth.names) == 1
    for role in list(given)[1:]:
        flat = lone and np.ndim(given[role]) == 1
        read[role] = _matching(given[role], role, truth, binary or flat)
    if predictions is not None and len(read[roles[1]].values) != len(truth.values):
        raise invalid(
            roles[1],
            f" has {len(read[roles[1]].values)} rows, ",
            Argument(roles[0]),
            f" has {len(truth.values)}",
        )
    names = tuple(dict.fromkeys(name for column in read.values() for name in column.names))
    aligned = {role: column.aligned(names) for role, column in read.items()}
    return Axis(aligned[roles[0]], aligned.get(roles[1]), aligned.get(roles[2]))


def _matching(form: Labels, role: str, truth: Indicators, binary: bool) -> Indicators:
    """Read a form whose columns mean what those of `truth` mean."""
    if binary:
        values = indicators(form, role=role, binary=True).values
        if values.shape[1] != 1:
            raise invalid(role, " must be one column of 0/1 or probabilities, as the labels are")
        return Indicators(values, truth.names)
    if np.ndim(form) == 1:
        two = set(truth.names) == {"0", "1"} and is_fraction(as_array(form))
        read = indicators(form, role=role, names=truth.names if two else None)
        if min(len(read.names), len(truth.names)) > 1 and not set(read.names) & set(truth.names):
            raise invalid(
                role,
                f" holds {some_names(read.names)}, none of which is among the labels "
                f"{some_names(truth.names)}",
            )
        return read
    read = indicators(form, role=role)
    if len(read.names) != len(truth.names):
        raise invalid(
            role,
            f" has {len(read.names)} columns, the labels have {len(truth.names)}: "
            f"{', '.join(truth.names)}",
        )
    if not is_frame(form):
        return Indicators(read.values, truth.names)
    return Indicators(read.values, matched_columns(read.names, truth.names, role))


def matched_columns(columns: tuple[str, ...], names: tuple[str, ...], role: str) -> tuple[str, ...]:
    """Return which of the labels each column of a frame is; labels without names go by position."""
    if set(columns) == set(names):
        return columns
    if names == tuple(map(str, range(len(names)))):
        return names
    # By position would be a guess, and a wrong one is not seen in the result.
    raise InputError(
        "the columns of ",
        Argument(role),
        f" are called {some_names(columns)} and those of the labels "
        f"{some_names(names)}; give them the same names, or an array in the order "
        "of the labels",
    )


def some_names(names: tuple[str, ...]) -> str:
    """Return the first five of many names."""
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
