"""Settings of `amplify` and `disparity`, and which columns of a table hold what.

Nothing heavy is imported here: the command line reads this module for its help.
"""

from __future__ import annotations

import fnmatch
import math
from dataclasses import dataclass
from typing import Any, Literal

from lmprobe.errors import Argument, InputError, check_confidence, invalid, plural
from lmprobe.metrics.direction import DisparityMeasure, MissingCells
from lmprobe.results.settings import (
    COMPARED,
    EXPERT,
    STATISTICS,
    Settings,
    confidence_setting,
    missing_cells_setting,
    setting,
)

TableEngine = Literal["local", "ray"]
"""Where a table is counted: on this machine, or file by file on a Ray cluster."""

RowInterval = Literal["bootstrap", "none"]
"""The intervals of a table; `none` asks for the value alone."""


def _columns(help: str, *flags: str) -> Any:
    """Return the field of one or several columns."""
    return setting((), help, COMPARED, flags=flags, repeated=True, metavar="COLUMN")


# Without slots, so that `AmplifySettings.seed` is the default: signatures are written with it.
@dataclass(frozen=True)
class AmplifySettings(Settings):
    """Which columns hold what, and how amplification is measured on them."""

    attribute: tuple[str, ...] = _columns(
        "Column of the groups; several columns are crossed.", "--attribute", "-a"
    )
    task: tuple[str, ...] = _columns(
        "Column of the task labels; each of several 0/1 columns is one task.", "--task", "-t"
    )
    task_prediction: tuple[str, ...] = _columns(
        "Column of the predicted task, one per --task.", "--task-prediction", "-p"
    )
    attribute_prediction: tuple[str, ...] = _columns(
        "Column of the predicted group, one per --attribute."
    )
    score: tuple[str, ...] = _columns(
        "Column of scores, turned into predictions by --threshold, one per --task."
    )
    threshold: str | None = setting(
        None,
        "The threshold of the scores: a number, `all`, or `calibrated` (default), at which as many "
        "rows are predicted positive as are labelled positive.",
        EXPERT,
        metavar="NUMBER",
    )
    validation: str | None = setting(
        None, "Table of whose scores the threshold is calibrated.", EXPERT, metavar="FILE"
    )
    train: str | None = setting(
        None,
        "Table whose labels determine the lean; by default the table itself.",
        COMPARED,
        metavar="FILE",
    )
    weight: str | None = setting(None, "Column of row weights.", COMPARED, metavar="COLUMN")
    train_weight: str | None = setting(
        None, "Column of row weights in the train table.", EXPERT, metavar="COLUMN"
    )
    run_column: str | None = setting(
        None, "Column that names the training run of a row.", COMPARED, metavar="COLUMN"
    )
    cluster: str | None = setting(
        None,
        "Column that names the cluster of a row, such as the person on a photo; clusters are "
        "resampled as a whole.",
        STATISTICS,
        metavar="COLUMN",
    )
    keep_unseen: bool = setting(
        False, "Count pairs whose label never occurs as 0, as the published code does.", EXPERT
    )
    metrics: tuple[str, ...] = setting(
        (),
        "Another metric to compute too: see `lmprobe ls metrics`.",
        EXPERT,
        flags=("--metric",),
        repeated=True,
    )
    missing_cells: MissingCells = missing_cells_setting()
    interval: RowInterval = setting("bootstrap", "The interval method.", STATISTICS)
    confidence: float = confidence_setting()
    seed: int = setting(0, "Random seed.", STATISTICS, minimum=0)
    engine: TableEngine = setting("local", "Where the table is counted.", EXPERT)

    def __post_init__(self) -> None:
        """Check that the choices go together."""
        from lmprobe.stats.method import intervals

        intervals.refuse_removed(self.interval)
        Settings.__post_init__(self)
        check_confidence(self.confidence)
        if not self.score and (self.threshold or self.validation):
            both = Argument("threshold"), " and ", Argument("validation")
            raise InputError(*both, " need ", Argument("score"))
        if self.validation and self.fixed_threshold is not None:
            given = Argument("threshold"), " gives one already"
            raise invalid("validation", " chooses a threshold; ", *given)
        if self.train_weight and not self.train:
            raise invalid("train_weight", " needs ", Argument("train"))

    @property
    def fixed_threshold(self) -> float | None:
        """The value of the threshold, where it is given as a value."""
        if self.threshold in (None, "calibrated", "all"):
            return None
        try:
            value = float(str(self.threshold))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise invalid(
                "threshold", f" must be calibrated, all or a number, found {self.threshold!r}"
            )
        return value


@dataclass(frozen=True)
class DisparitySettings(Settings):
    """What decides the numbers of a disparity, apart from the table and its columns."""

    measure: DisparityMeasure = setting(
        "demographic_parity",
        "The measure that is compared between the groups.",
        COMPARED,
        flags=("--measure", "-m"),
    )
    method: str = setting(
        "auto",
        "The interval method: see `lmprobe ls intervals`; auto is exact for 0/1 costs, "
        "betting for others.",
        STATISTICS,
        flags=("--interval", "--method"),
    )
    group_share: float | None = setting(
        None, "Known lower bound on the smaller group's share of the population.", EXPERT
    )
    confidence: float = confidence_setting()
    seed: int = setting(0, "Random seed.", STATISTICS, minimum=0)
    missing_cells: MissingCells = missing_cells_setting()

    def __post_init__(self) -> None:
        """Check every value."""
        Settings.__post_init__(self)
        check_confidence(self.confidence)


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
        for argument, columns in (("attribute", self.attribute), ("task", self.task)):
            if not columns:
                raise InputError("give ", Argument(argument), ", the name of a column")
            for place, column in enumerate(columns):
                if column in columns[:place]:
                    raise invalid(argument, f' names the column "{column}" twice')
        score, task_prediction = Argument("score"), Argument("task_prediction")
        if self.score and self.task_prediction:
            raise InputError("give ", score, " or ", task_prediction, ", not both")
        if not (self.attribute_prediction or self.task_prediction or self.score):
            others = task_prediction, ", ", score, " or ", Argument("attribute_prediction")
            raise InputError("give ", *others)
        pairs = (
            ("attribute_prediction", self.attribute_prediction, "attribute", self.attribute),
            ("task_prediction", self.task_prediction, "task", self.task),
            ("score", self.score, "task", self.task),
        )
        for argument, columns, label, labels in pairs:
            if columns and len(columns) != len(labels):
                raise invalid(
                    argument,
                    f" names {plural(len(columns), 'column')} and ",
                    Argument(label),
                    f" {len(labels)}: each label needs its own, in the same order",
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
        return tuple(dict.fromkeys((*self.labels, *self.measured)))

    @property
    def labels(self) -> tuple[str, ...]:
        """Every column whose cells are names."""
        return (*self.keys.values(), *filter(None, [self.columns.cluster]))

    @property
    def measured(self) -> tuple[str, ...]:
        """Every column whose cells are numbers."""
        weight = filter(None, [self.columns.weight])
        return (*self.numbers.values(), *self.scores.values(), *weight)


def _numbered(letter: str, columns: tuple[str, ...]) -> dict[str, str]:
    return {f"{letter}{number}": name for number, name in enumerate(columns)}


def expanded(names: tuple[str, ...], existing: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that the names mean: `object.*` is every column that starts so.

    >>> expanded(("sex", "object.*"), ("sex", "object.tie", "object.oven"))
    ('sex', 'object.tie', 'object.oven')
    """
    columns: list[str] = []
    for name in names:
        exact = name in existing or "*" not in name
        columns += ([] if exact else fnmatch.filter(existing, name)) or [name]
    return tuple(columns)


def expanded_like(
    names: tuple[str, ...], labels: tuple[str, ...], existing: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns of predictions in the order of the columns that the labels mean.

    With `object.*` for the labels, `predicted.*` is the prediction of each by its name,
    whatever the order of the columns in the table.

    >>> table = ("object.tie", "object.oven", "predicted.oven", "predicted.tie")
    >>> expanded_like(("predicted.*",), ("object.*",), table)
    ('predicted.tie', 'predicted.oven')
    """
    predictions: list[str] = []
    for number, name in enumerate(names):
        label = labels[number] if len(labels) == len(names) else ""
        start, star, end = label.partition("*")
        if star and label not in existing and name not in existing and name.count("*") == 1:
            columns = expanded((label,), existing)
            middles = (column[len(start) : len(column) - len(end)] for column in columns)
            predictions += [name.replace("*", middle) for middle in middles]
        else:
            predictions += expanded((name,), existing)
    return tuple(predictions)


def listed(names: list[str]) -> str:
    """Return the first five names, and how many more there are."""
    most = 5
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
