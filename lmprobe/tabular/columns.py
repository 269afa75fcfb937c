"""Which columns of a table hold what."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

from lmprobe.errors import InputError


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns by their role; several attributes are crossed."""

    attribute: tuple[str, ...]
    task: tuple[str, ...]
    attribute_prediction: tuple[str, ...] = ()
    task_prediction: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    weight: str | None = None
    cluster: str | None = None
    run: str | None = None

    def __post_init__(self) -> None:
        """Check that every label has its prediction, column by column."""
        for option, columns in (("--attribute", self.attribute), ("--task", self.task)):
            if not columns:
                raise InputError(f"give {option}, the name of a column")
            for place, column in enumerate(columns):
                if column in columns[:place]:
                    raise InputError(f'{option} names the column "{column}" twice')
        if self.score and self.task_prediction:
            raise InputError("give --score or --task-prediction, not both")
        if not (self.attribute_prediction or self.task_prediction or self.score):
            raise InputError("give --task-prediction, --score or --attribute-prediction")
        pairs = (
            ("--attribute-prediction", self.attribute_prediction, "--attribute", self.attribute),
            ("--task-prediction", self.task_prediction, "--task", self.task),
            ("--score", self.score, "--task", self.task),
        )
        for option, columns, other, labels in pairs:
            if columns and len(columns) != len(labels):
                raise InputError(
                    f"{option} names {len(columns)} columns and {other} {len(labels)}: "
                    "each label needs its own, in the same order"
                )

    def labels(self, weight: str | None) -> Columns:
        """Return the columns that a train table has; its tasks stand in for predictions."""
        return Columns(self.attribute, self.task, task_prediction=self.task, weight=weight)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the columns are read: the same for a table and its train table."""

    columns: Columns
    binary: bool
    """Whether task columns hold 0/1 or probabilities; else the one column holds categories."""
    thresholds: tuple[float, ...] = ()
    """Where each score is cut into a prediction."""

    @property
    def keys(self) -> dict[str, str]:
        """The columns of categories by the name that a query gives them."""
        columns = self.columns
        keys = {} if columns.run is None else {"run": columns.run}
        keys |= _numbered("a", columns.attribute) | _numbered("b", columns.attribute_prediction)
        if not self.binary:
            keys |= {"t0": columns.task[0]} | _numbered("p", columns.task_prediction)
        return keys

    @property
    def numbers(self) -> dict[str, str]:
        """The columns of numbers in [0, 1] by the name that a query gives them."""
        if not self.binary:
            return {}
        columns = self.columns
        return _numbered("t", columns.task) | _numbered("p", columns.task_prediction)

    @property
    def scores(self) -> dict[str, str]:
        """The columns of scores by the name that their cut has in a query."""
        return _numbered("p", self.columns.score)

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that is read."""
        more = (self.columns.weight, self.columns.cluster)
        named = (*self.keys.values(), *self.numbers.values(), *self.scores.values(), *more)
        return tuple(dict.fromkeys(name for name in named if name is not None))


def _numbered(letter: str, columns: tuple[str, ...]) -> dict[str, str]:
    return {f"{letter}{number}": name for number, name in enumerate(columns)}


def expanded(names: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that the names mean: `object.*` is every column that starts so.

    >>> expanded(("sex", "object.*"), ("sex", "object.tie", "object.oven"))
    ('sex', 'object.tie', 'object.oven')
    """
    columns: list[str] = []
    for name in names:
        exact = name in known or "*" not in name
        columns += ([] if exact else fnmatch.filter(known, name)) or [name]
    return tuple(columns)


def expanded_like(
    names: tuple[str, ...], labels: tuple[str, ...], known: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns of predictions in the order of the columns that the labels mean.

    With `object.*` for the labels, `predicted.*` is the prediction of each by its name,
    whatever the order of the columns in the table.

    >>> known = ("object.tie", "object.oven", "predicted.oven", "predicted.tie")
    >>> expanded_like(("predicted.*",), ("object.*",), known)
    ('predicted.tie', 'predicted.oven')
    """
    found: list[str] = []
    for number, name in enumerate(names):
        label = labels[number] if len(labels) == len(names) else ""
        start, star, end = label.partition("*")
        if star and label not in known and name not in known and name.count("*") == 1:
            columns = expanded((label,), known)
            middles = (column[len(start) : len(column) - len(end)] for column in columns)
            found += [name.replace("*", middle) for middle in middles]
        else:
            found += expanded((name,), known)
    return tuple(found)


def listed(names: list[str]) -> str:
    """Return the first five names, and how many more there are."""
    most = 5
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
