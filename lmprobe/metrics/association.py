"""How attributes and tasks go together: weighted sums of rows, a table of probabilities, its lean.

The lean is +1 where a pair occurs more often than by chance, -1 where less. Two weightings are
known by name. `joint` is Eq. 2 of Wang & Russakovsky 2021: it compares P(a,t) with P(a)P(t).
`paper` is what their published code does for language models: it compares a conditional with
its plain average, so that every task (or attribute) weighs the same however common it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import InputError, did_you_mean
from lmprobe.metrics.direction import LEAN_WEIGHTINGS, Direction, LeanWeighting
from lmprobe.metrics.labels import Labels, read_axis

Floats = NDArray[np.float64]

# Rows turned into floats at a time: the product then works in cache and memory stays
# in proportion to the input, whatever its length.
_ROWS = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Weighted sums over rows: `joint` (A, T), `attribute` (A,), `task` (T,), `total`."""

    joint: Floats
    attribute: Floats
    task: Floats
    total: float

    def conditional(self, direction: Direction) -> Floats:
        """Return P(a|t) or P(t|a), (A, T), of labels or of predictions given true labels."""
        return ratio(self.joint, (self.attribute[:, None], self.task)[direction.given_axis])


def tally(attributes: NDArray[Any], tasks: NDArray[Any], weight: Floats | None = None) -> Tally:
    """Count the indicators `attributes` (n, A) and `tasks` (n, T), rows weighted."""
    rows = len(attributes)
    if len(tasks) != rows:
        raise InputError(f"the attributes have {rows} rows and the tasks have {len(tasks)}")
    joint = np.zeros((attributes.shape[1], tasks.shape[1]))
    attribute, task = np.zeros(attributes.shape[1]), np.zeros(tasks.shape[1])
    # Sums of 0/1 over a chunk are exact in single precision, which is twice as fast.
    whole = weight is None and attributes.dtype.kind in "biu" and tasks.dtype.kind in "biu"
    kind: type[Any] = np.float32 if whole else np.float64
    for start in range(0, rows, _ROWS):
        part = slice(start, start + _ROWS)
        left: NDArray[Any] = attributes[part].astype(kind)
        right: NDArray[Any] = tasks[part].astype(kind)
        if weight is None:
            task += right.sum(axis=0)
            attribute += left.sum(axis=0)
        else:
            task += weight[part] @ right
            left = left * weight[part, None]
            attribute += left.sum(axis=0)
        joint += left.T @ right
    return Tally(joint, attribute, task, float(rows if weight is None else weight.sum()))


def checked_weight(weight: Any, rows: int, role: str = "sample_weight") -> Floats | None:
    """Return the row weights as floats, or None when every row weighs the same."""
    if weight is None:
        return None
    try:
        values = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{role}` must be one number per row") from None
    if values.shape != (rows,):
        raise InputError(f"`{role}` must have shape ({rows},), found {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
        raise InputError(f"`{role}` must be finite, not negative and not all zero")
    return values


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; 0/0 is NaN, because undefined is not zero."""
    quotient = np.full(np.broadcast_shapes(np.shape(part), np.shape(whole)), np.nan)
    np.divide(part, whole, out=quotient, where=np.asarray(whole) > 0)
    return quotient


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
        try:
            table = np.asarray(counts, dtype=np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(f"`counts` must be a table of numbers: {problem}") from None
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
        return self.conditional(Direction.TASK_TO_ATTRIBUTE)

    @property
    def task_given_attribute(self) -> Floats:
        """P(t|a), (A, T); NaN where the attribute never occurs."""
        return self.conditional(Direction.ATTRIBUTE_TO_TASK)

    def conditional(self, direction: Direction | str) -> Floats:
        """Return what `direction` (such as T->A) predicts: P(a|t) or P(t|a), (A, T)."""
        axis = Direction.parse(direction).given_axis
        return ratio(self.joint, (self.p_attribute[:, None], self.p_task)[axis])


# Rounding alone makes independent tables lean: 2 attributes x 7 tasks already do.
_TIE = 1e-9


def lean_of(joint: Floats, p_attribute: Floats, p_task: Floats) -> Floats:
    """Return the lean (..., A, T) of a world: the sign of P(a,t) - P(a)P(t), 0 on a tie.

    Deviation: Eq. 2 counts a tie as negative; a pair that occurs exactly as often as
    chance has no direction that a model could amplify, so here it counts nothing.

    >>> lean_of(np.array([[3 / 15]]), np.array([5 / 15]), np.array([9 / 15])).tolist()
    [[0.0]]
    """
    return sign(joint, p_attribute[..., :, None] * p_task[..., None, :])


def lean(
    world: Association, direction: Direction | str, weighting: LeanWeighting = "joint"
) -> Floats:
    """Return the lean (A, T) of `world` under a weighting; the two agree on most pairs."""
    if weighting == "joint":
        return lean_of(world.joint, world.p_attribute, world.p_task)
    if weighting != "paper":
        raise InputError(f'no lean "{weighting}"; {did_you_mean(weighting, LEAN_WEIGHTINGS)}')
    return against_average(world.conditional(direction), Direction.parse(direction))


def lean_of_counts(
    counts: Floats,
    direction: Direction,
    weighting: LeanWeighting = "joint",
    task_weight: Floats | None = None,
) -> Floats:
    """Return the lean (..., A, T) of tables of counts; a label never counted leans nowhere.

    `task_weight` (..., T) says how often each task counts in the margins and averages.
    """
    weighted = counts if task_weight is None else counts * task_weight[..., None, :]
    if weighting == "joint":
        attribute, task = weighted.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
        return sign(counts * attribute.sum(axis=-2, keepdims=True), attribute * task)
    given = (weighted if direction.axis == -1 else counts).sum(axis=direction.axis, keepdims=True)
    return np.nan_to_num(against_average(ratio(counts, given), direction, task_weight))


def against_average(
    conditional: Floats, direction: Direction, task_weight: Floats | None = None
) -> Floats:
    """Return the sign of a conditional (..., A, T) against its plain average over the given."""
    axis = direction.given_axis
    # A label that never occurs has no conditional and so no say in the average.
    counted = (~np.isnan(conditional)).astype(np.float64)
    if task_weight is not None and axis == -1:
        counted = counted * task_weight[..., None, :]
    total = (counted * np.nan_to_num(conditional)).sum(axis=axis, keepdims=True)
    average = ratio(total, counted.sum(axis=axis, keepdims=True))
    return sign(conditional, average)


def sign(observed: Floats, expected: Floats) -> Floats:
    """Return the sign of observed - expected, 0 where they differ by rounding at most."""
    difference = observed - expected
    tie = np.abs(difference) <= _TIE * np.maximum(np.abs(observed), np.abs(expected))
    return np.where(tie, 0.0, np.sign(difference))
