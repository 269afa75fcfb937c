"""Labels and amounts of the counted rows of a table, the sums they make, and score thresholds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import DataFileError, InputError, invalid
from lmprobe.io.tables import INFINITE, NOT_A_NUMBER, Relation, TableSource, arrays, quoted
from lmprobe.metrics.association import Association, Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import lean_of_seen
from lmprobe.metrics.labels import cross
from lmprobe.metrics.thresholds import AmplificationCurve, Threshold, curve_of_sums
from lmprobe.stats.row_sums import RowSums, added_by, features
from lmprobe.tabular.engine import Lines, numbers
from lmprobe.tabular.settings import Columns, Layout

# More kinds than that are names or numbers of rows, not groups or tasks.
_KINDS = 10_000
# A few fractions may be classes, such as doses.
_FRACTIONS, _FRACTION = 20, re.compile(r"^-?\d*\.\d*[1-9]")
# As a column of floats writes whole numbers.
_WHOLE = re.compile(r"^(-?\d+)\.0+$")

Names = NDArray[Any]
"""One label per line, as text."""


@dataclass(frozen=True, slots=True, eq=False)
class RowCounts:
    """The lines of a table: a kind of row with its number, or a sum of rows of a unit.

    Tasks are a label per line where the one column holds categories, else amounts (n, T):
    how much of each task there is, times the weight.
    """

    groups: Names
    group_guesses: Names | None
    tasks: Names | Floats
    task_guesses: Names | Floats | None
    weight: Floats
    times: NDArray[np.int64]
    unit: NDArray[np.intp] | None
    """The unit of each line; None where a line is a kind of row, or all are one unit."""
    added: bool
    runs: Names | None = None

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.times.sum())

    def by_run(self) -> list[tuple[str, RowCounts]]:
        """Return the lines of each run under its name."""
        assert self.runs is not None
        return [(run, self._selected(self.runs == run)) for run in sorted(set(self.runs))]

    def _selected(self, lines: NDArray[np.bool_]) -> RowCounts:
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        part = {name: array[lines] for name, array in values.items() if np.ndim(array)}
        if "unit" in part:
            part["unit"] = np.unique(part["unit"], return_inverse=True)[1]
        return replace(self, **part)

    def row_sums(self, attributes: tuple[str, ...], tasks: tuple[str, ...]) -> RowSums:
        """Return the sums of the metric by unit, with the labels in this order."""
        once = np.ones(len(self.weight))
        predicted: list[tuple[Direction, Any]] = []
        if self.group_guesses is not None:
            guess = _amounts(self.group_guesses, attributes, once)
            predicted.append((Direction.TASK_TO_ATTRIBUTE, guess))
        if self.task_guesses is not None:
            guess = _amounts(self.task_guesses, tasks, self.weight)
            predicted.append((Direction.ATTRIBUTE_TO_TASK, guess))
        group = _amounts(self.groups, attributes, once)
        task = _amounts(self.tasks, tasks, self.weight)
        lines, times = features(group, task, self.weight, predicted), self.times
        if self.added:
            unit = np.zeros(len(times), dtype=np.intp) if self.unit is None else self.unit
            lines = added_by(unit, int(unit.max()) + 1, lines)
            times = np.ones(lines.shape[0], dtype=np.int64)
        directions = tuple(direction for direction, _ in predicted)
        return RowSums(lines, times, attributes, tasks, directions, self.rows)

    def task_shares(self) -> Floats:
        """Return the share of all weight that each task has, where tasks are amounts."""
        # A line of sums has all its rows already; a kind of row stands for as many as there are.
        times = np.ones_like(self.times) if self.added else self.times
        whole = times @ self.weight
        if not whole:
            raise InputError("a threshold needs at least one labelled row with a positive weight")
        return np.asarray(times @ np.asarray(self.tasks, dtype=np.float64) / whole)


def count_rows(lines: Lines, layout: Layout, name: str) -> RowCounts:
    """Read the labels and amounts of the lines that a query gave."""
    counted, columns = lines.columns, layout.columns
    weight = counted["weight"].astype(np.float64)

    def labels(letter: str, group: tuple[str, ...]) -> Names:
        names = crossed(counted, letter, group)
        kinds = set(names)
        if len(kinds) > _KINDS:
            raise DataFileError(
                f'{name}: "{" & ".join(group)}" has more than {_KINDS:,} different values; '
                "name a column of groups or of tasks"
            )
        if len(group) == 1 and len(kinds) > _FRACTIONS and all(map(_FRACTION.match, kinds)):
            raise DataFileError(
                f'{name}: "{group[0]}" holds fractions such as {min(kinds)}; name a column of '
                "groups or of tasks, or put the numbers into classes"
            )
        return names

    def tasks(letter: str, group: tuple[str, ...]) -> Names | Floats:
        if not layout.binary:
            return labels(letter, group)
        cells = [f"{letter}{number}" for number in range(len(group))]
        amounts = numbers(counted, cells)
        return amounts if lines.added else amounts * weight[:, None]

    guessed, groups = columns.task_prediction or columns.score, columns.attribute_prediction
    unit = None
    if "unit" in counted:
        unit = np.unique(counted["unit"].astype(str), return_inverse=True)[1]
    return RowCounts(
        groups=labels("a", columns.attribute),
        group_guesses=labels("b", groups) if groups else None,
        tasks=tasks("t", columns.task),
        task_guesses=tasks("p", guessed) if guessed else None,
        weight=weight,
        times=counted["n"].astype(np.int64),
        unit=unit,
        added=lines.added,
        runs=None if columns.run is None else _plain_labels(counted["run"]).astype(object),
    )


def crossed(counted: Mapping[str, Any], letter: str, columns: Sequence[str]) -> Names:
    """Return one label per line: of the one column, or of all of them crossed."""
    cells = {name: _plain_labels(counted[f"{letter}{place}"]) for place, name in enumerate(columns)}
    labels: Names = cross(cells).astype(object)
    return labels


def _plain_labels(column: Any) -> NDArray[np.str_]:
    """Return the labels as text; 1.0, as a float column writes it, is the label 1."""
    labels, line = np.unique(column.astype(str), return_inverse=True)
    return np.array([_WHOLE.sub(r"\1", label) for label in labels])[line]


def _amounts(values: Names | Floats, names: tuple[str, ...], amount: Floats) -> Any:
    """Return (n, names): amounts as they are, or the amount of each line at its label."""
    from scipy import sparse

    if values.ndim == 2:
        return sparse.csr_array(np.asarray(values, dtype=np.float64))
    position = {name: number for number, name in enumerate(names)}
    code = np.array([position[label] for label in values], dtype=np.int64)
    shape = (len(code), len(names))
    return sparse.csr_array((amount, (np.arange(len(code)), code)), shape=shape)


def holds_unit_numbers(source: TableSource, columns: Columns, *, head: bool) -> bool:
    """Tell whether the one task column is 0/1, true/false or probabilities, or else categories."""
    (task,) = columns.task

    def build(table: Relation) -> str:
        rows = f"(SELECT * FROM {table.sql} LIMIT 20480)" if head else table.sql
        value, name = table.number(task), quoted(task)
        # "01" and "1" are two codes, not one number.
        fits = f"{value} BETWEEN 0 AND 1 AND NOT regexp_matches({name}::VARCHAR, '^0[0-9]')"
        return (
            f"SELECT count_if({name} IS NOT NULL AND NOT coalesce({fits}, false)) AS other "
            f"FROM {rows}"
        )

    (answer,) = source.query([task], build, text=[task])
    return not answer["other"]


def common_labels(
    columns: Columns,
    tables: Sequence[RowCounts],
    train: RowCounts | None,
    *,
    binary: bool,
    train_name: str | None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all attributes and tasks; predictions of which none is a label are refused."""
    groups = _kinds(table.groups for table in tables)
    guesses = _kinds(table.group_guesses for table in tables)
    trained = _kinds([train and train.groups])
    # A single stranger may be a model that knows but one answer.
    if min(len(groups), len(guesses)) > 1:
        _refuse_strangers("predicted group", guesses, groups)
    _refuse_strangers(f"group of {train_name}", trained, groups)
    attributes = tuple(sorted(groups | guesses | trained))
    if binary:
        return attributes, columns.task
    labelled = _kinds(table.tasks for table in tables)
    guesses = _kinds(table.task_guesses for table in tables)
    trained = _kinds([train and train.tasks])
    if columns.score:
        raise invalid(
            "score",
            f' needs tasks of 0 and 1; the column "{columns.task[0]}" holds '
            f"{', '.join(sorted(labelled | trained)[:5])}",
        )
    if len(guesses) > 1:
        what = f'value of "{columns.task_prediction[0]}"'
        _refuse_strangers(what, guesses, labelled | trained)
    _refuse_strangers(f"task of {train_name}", trained, labelled)
    return attributes, tuple(sorted(labelled | trained | guesses))


def _kinds(columns: Iterable[Any]) -> set[str]:
    return {str(label) for column in columns if column is not None for label in set(column)}


def _refuse_strangers(what: str, names: set[str], labels: set[str]) -> None:
    """Refuse names of which none is a label: spelled otherwise, or of another column."""
    if names and not names & labels:
        raise InputError(
            f"no {what} ({', '.join(sorted(names)[:5])}) is one of those labelled "
            f"({', '.join(sorted(labels)[:5])})"
        )


def calibrated(source: TableSource, columns: Columns, shares: Floats) -> tuple[Threshold, ...]:
    """Choose the threshold of each score column that predicts the share of its task positive.

    The engine sorts the scores; a sort that does not fit into memory goes to the disk.
    """
    return tuple(
        _calibrated(source, score, columns.weight, float(share))
        for score, share in zip(columns.score, shares, strict=True)
    )


def _calibrated(source: TableSource, score: str, weight: str | None, share: float) -> Threshold:
    def build(table: Relation) -> str:
        value = f"({table.number(score)})::DOUBLE"
        amount = "1" if weight is None else f"({table.number(weight)})::DOUBLE"
        # The sums of weights are compensated, so that they do not depend on the order.
        total = "sum(amount)" if weight is None else "fsum(amount)"
        return f"""
            WITH cells AS (SELECT {value} AS score, {amount} AS amount FROM {table.sql}),
            tied AS (SELECT score, {total}::DOUBLE AS amount FROM cells GROUP BY score),
            whole AS (SELECT sum(amount) AS total, max(score) AS highest,
                      count_if(score IS NULL OR isinf(score)) AS bad FROM tied),
            reached AS (SELECT score, sum(amount) OVER (ORDER BY score DESC) / total AS share
                        FROM tied, whole WHERE total > 0)
            SELECT (SELECT max(amount) FROM cells) AS heaviest, whole.*, best.*
            FROM whole LEFT JOIN (SELECT * FROM reached
                ORDER BY abs(share - {share!r}), score DESC LIMIT 1) AS best ON true
        """

    columns = [score] if weight is None else [score, weight]
    (best,) = source.query(columns, build)
    if best["bad"] or best["score"] is None:
        source.refuse_missing([], [score])
        source.refuse(score, NOT_A_NUMBER, INFINITE)
        missing = "below the column names" if weight is None else "with a positive weight"
        raise DataFileError(f"{source.name}: there is no row {missing}")
    row = float(best["heaviest"] / best["total"])
    # "Nobody" is a cut as well. Infinity would do, but it cannot be written into JSON.
    if share <= abs(best["share"] - share):
        return Threshold(math.nextafter(best["highest"], math.inf), share, 0.0, row)
    return Threshold(float(best["score"]), share, float(best["share"]), row)


def curves(
    source: TableSource,
    columns: Columns,
    labels: Association,
    leaning: Association,
    *,
    keep_unseen: bool = False,
) -> tuple[AmplificationCurve, ...]:
    """Return the amplification of each task at every cut of its score."""
    direction = Direction.ATTRIBUTE_TO_TASK
    base = labels.conditional(direction).T
    signs = lean_of_seen(leaning, direction, keep_unseen=keep_unseen).T
    scored = zip(columns.task, columns.score, base, signs, strict=True)
    return tuple(
        curve_of_sums(
            direction,
            task,
            labels.attributes,
            *_positive(source, columns, score, labels.attributes),
            rates,
            lean,
        )
        for task, score, rates, lean in scored
    )


def _positive(
    source: TableSource, columns: Columns, score: str, attributes: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """Return the distinct scores, falling, and how much of everybody and each group they have."""

    def build(table: Relation) -> str:
        groups = [f"{table.label(name)} AS a{k}" for k, name in enumerate(columns.attribute)]
        weight = columns.weight
        amount = "count(*)" if weight is None else f"fsum(({table.number(weight)})::DOUBLE)"
        value = f"({table.number(score)})::DOUBLE"
        keys = ", ".join([f"{value} AS score", *groups])
        return (
            f"SELECT {keys}, {amount}::DOUBLE AS amount FROM {table.sql} GROUP BY ALL ORDER BY ALL"
        )

    names = [score, *columns.attribute, *([columns.weight] if columns.weight else [])]
    counted = source.query(names, build, text=columns.attribute, fetch=arrays)
    labels = crossed(counted, "a", columns.attribute)
    position = {name: number for number, name in enumerate(attributes)}
    scores, line = np.unique(-counted["score"], return_inverse=True)
    sums = np.zeros((len(scores), len(attributes)))
    group = np.array([position[label] for label in labels], dtype=np.intp)
    np.add.at(sums, (line, group), counted["amount"])
    return -scores, np.hstack([sums.sum(axis=1, keepdims=True), sums])
