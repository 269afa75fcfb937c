"""Reads what is known about the attributes, or the tasks, into the same indicator columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lmprobe.core.labels import (
    Indicators,
    Labels,
    as_array,
    indicators,
    is_fraction,
    is_frame,
    is_unit_column,
)
from lmprobe.errors import InputError


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
        raise InputError(
            f"`{roles[1]}` has {len(read[roles[1]].values)} rows, "
            f"`{roles[0]}` has {len(truth.values)}"
        )
    names = tuple(dict.fromkeys(name for column in read.values() for name in column.names))
    aligned = {role: column.aligned(names) for role, column in read.items()}
    return Axis(aligned[roles[0]], aligned.get(roles[1]), aligned.get(roles[2]))


def _matching(form: Labels, role: str, truth: Indicators, binary: bool) -> Indicators:
    """Read a form whose columns mean what those of `truth` mean."""
    if binary:
        values = indicators(form, role=role, binary=True).values
        if values.shape[1] != 1:
            raise InputError(
                f"`{role}` must be one column of 0/1 or probabilities, as the labels are"
            )
        return Indicators(values, truth.names)
    if np.ndim(form) == 1:
        two = set(truth.names) == {"0", "1"} and is_fraction(as_array(form))
        read = indicators(form, role=role, names=truth.names if two else None)
        if min(len(read.names), len(truth.names)) > 1 and not set(read.names) & set(truth.names):
            raise InputError(
                f"`{role}` holds {', '.join(read.names[:5])}, none of which is among the labels "
                f"{', '.join(truth.names[:5])}"
            )
        return read
    found = indicators(form, role=role)
    if len(found.names) != len(truth.names):
        raise InputError(
            f"`{role}` has {len(found.names)} columns, the labels have {len(truth.names)}: "
            f"{', '.join(truth.names)}"
        )
    if not is_frame(form) or set(found.names) == set(truth.names):
        named = found.names if is_frame(form) else truth.names
        return Indicators(found.values, named)
    if truth.names == tuple(str(number) for number in range(len(truth.names))):
        return Indicators(found.values, truth.names)
    # By position would be a guess, and a wrong one is not seen in the result.
    raise InputError(
        f"the columns of `{role}` are called {', '.join(found.names)} and those of the labels "
        f"{', '.join(truth.names)}; give them the same names"
    )
