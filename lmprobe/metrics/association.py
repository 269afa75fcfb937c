"""How attributes and tasks go together: the axes of a table and its probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.labels import (
    Indicators,
    Labels,
    as_array,
    indicators,
    is_fraction,
    is_frame,
    is_unit_column,
)
from lmprobe.metrics.tally import Floats, Tally, checked_weight, tally


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


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; 0/0 is NaN, because undefined is not zero."""
    found = np.full(np.broadcast_shapes(np.shape(part), np.shape(whole)), np.nan)
    np.divide(part, whole, out=found, where=np.asarray(whole) > 0)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Association:
    """The joint table P(attribute, task) with its margins P(attribute) and P(task).

    The margins are stored, not derived from the joint table: if an image may show two
    attributes, or none, the rows do not add up to P(attribute).

    >>> table = Association.from_counts([[30, 10], [10, 30]], ["woman", "man"], ["paint", "not"])
    >>> table.attribute_given_task[:, 0].tolist()
    [0.75, 0.25]
    """

    joint: Floats
    p_attribute: Floats
    p_task: Floats
    attributes: tuple[str, ...]
    tasks: tuple[str, ...]
    counts: Floats | None = None
    """The counts that the table was made from, where it was made from counts."""

    def __post_init__(self) -> None:
        """Check the shapes, the labels and that every number is a probability."""
        shape = (len(self.attributes), len(self.tasks))
        for name, axis in (("attributes", self.attributes), ("tasks", self.tasks)):
            if not axis:
                raise InputError(f"an association needs at least one of its {name}")
            if len(set(axis)) != len(axis):
                twice = sorted({label for label in axis if axis.count(label) > 1})[0]
                raise InputError(f"the {name} must differ from each other; {twice!r} appears twice")
        expected = {"joint": shape, "p_attribute": shape[:1], "p_task": shape[1:]}
        for name, wanted in expected.items():
            table = getattr(self, name)
            if table.shape != wanted:
                raise InputError(f"`{name}` must have shape {wanted}, found {table.shape}")
            # A sum of a million rounded shares may pass 1 by a hair.
            if not (np.isfinite(table).all() and table.min() >= 0 and table.max() <= 1 + 1e-9):
                raise InputError(f"`{name}` must hold probabilities between 0 and 1")

    @classmethod
    def from_tally(
        cls, sums: Tally, attributes: Sequence[str], tasks: Sequence[str]
    ) -> Association:
        """Return the association of counts that were tallied."""
        if not sums.total > 0:
            raise InputError("an association needs at least one row with a positive weight")
        return cls(
            sums.joint / sums.total,
            sums.attribute / sums.total,
            sums.task / sums.total,
            tuple(attributes),
            tuple(tasks),
            counts=sums.joint,
        )

    @classmethod
    def from_labels(
        cls, attribute_labels: Labels, task_labels: Labels, *, sample_weight: Any = None
    ) -> Association:
        """Return the association of labelled rows: (n, A) and (n, T), or a category column each."""
        groups = read_axis("attribute", attribute_labels)
        tasks = read_axis("task", task_labels)
        weight = checked_weight(sample_weight, len(groups.truth.values))
        sums = tally(groups.truth.values, tasks.truth.values, weight)
        return cls.from_tally(sums, groups.names, tasks.names)

    @classmethod
    def from_counts(
        cls, counts: Any, attributes: Sequence[str], tasks: Sequence[str]
    ) -> Association:
        """Return the association of the counts (A, T) of each pair."""
        table = np.asarray(counts, dtype=np.float64)
        if table.ndim != 2:
            raise InputError(f"`counts` must have the axes (attribute, task), found {table.shape}")
        if not np.isfinite(table).all() or (table < 0).any():
            raise InputError("`counts` must be finite and not negative")
        sums = Tally(table, table.sum(axis=1), table.sum(axis=0), float(table.sum()))
        return cls.from_tally(sums, attributes, tasks)

    @classmethod
    def from_conditional(
        cls,
        attribute_given_task: Any,
        attributes: Sequence[str],
        tasks: Sequence[str],
        *,
        p_task: Any = None,
    ) -> Association:
        """Return the association with these P(a|t), (A, T); by default tasks are equally likely."""
        table = np.asarray(attribute_given_task, dtype=np.float64)
        if table.ndim != 2 or not np.allclose(table.sum(axis=0), 1.0, atol=1e-6):
            raise InputError("`attribute_given_task` must be (A, T) with columns that add up to 1")
        size = table.shape[1]
        share = np.ones(size) if p_task is None else np.asarray(p_task, dtype=np.float64)
        if share.shape != (size,) or (share < 0).any() or not share.sum() > 0:
            raise InputError(f"`p_task` must hold {size} numbers that are not negative")
        share = share / share.sum()
        joint = table * share
        return cls(joint, joint.sum(axis=1), share, tuple(attributes), tuple(tasks))

    def merged(self, owner: Mapping[str, str]) -> Association:
        """Return the association in which the attributes of one owner are combined.

        The attributes must exclude each other.

        >>> table = Association.from_counts([[1], [2], [3]], ["a", "b", "c"], ["t"])
        >>> table.merged({"a": "x", "b": "y", "c": "x"}).joint.tolist() == [[4 / 6], [2 / 6]]
        True
        """
        owners = [owner[attribute] for attribute in self.attributes]
        names = tuple(dict.fromkeys(owners))
        member = np.array([[name == owner for owner in owners] for name in names], dtype=np.float64)
        return Association(
            member @ self.joint,
            member @ self.p_attribute,
            self.p_task,
            names,
            self.tasks,
            None if self.counts is None else member @ self.counts,
        )

    @property
    def attribute_given_task(self) -> Floats:
        """P(a|t), (A, T); NaN where the task never occurs."""
        return ratio(self.joint, self.p_task[None, :])

    @property
    def task_given_attribute(self) -> Floats:
        """P(t|a), (A, T); NaN where the attribute never occurs."""
        return ratio(self.joint, self.p_attribute[:, None])

    def conditional(self, direction: Direction) -> Floats:
        """Return what `direction` predicts: P(a|t) or P(t|a), (A, T)."""
        if direction == Direction.TASK_TO_ATTRIBUTE:
            return self.attribute_given_task
        return self.task_given_attribute
