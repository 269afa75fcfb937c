"""The table of P(a,t), P(a) and P(t) for attributes a and tasks t.

Axes are always (attribute, task): a table of A attributes and T tasks has shape (A, T),
and leading axes, such as one per template, come before them. This is the convention of every
module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmprobe.core.axis import read_axis
from lmprobe.core.direction import Direction
from lmprobe.core.labels import Labels
from lmprobe.core.tally import Floats, Tally, checked_weight, tally
from lmprobe.errors import InputError


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
