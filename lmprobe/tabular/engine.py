"""Counts a table in one pass: how often each kind of row occurs, or sums of rows by unit.

The metric and its bootstrap need nothing else. Where the distinct rows of labels, predictions
and weight are few, they are counted, so that an interval costs the same for 10^4 and 10^8
rows. Else rows are added up in bins, or by cluster. Counts are exact, and sums are made in
whole numbers, so that they do not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.tables import (
    FILE,
    INFINITE,
    NOT_A_NUMBER,
    NOT_A_SHARE,
    ROW,
    Mistake,
    Relation,
    TableSource,
    arrays,
    quoted,
)
from lmprobe.io.work import map_on_ray
from lmprobe.metrics.association import Floats
from lmprobe.tabular.settings import Layout

Arrays = dict[str, NDArray[Any]]
"""The columns of a counted table by name."""

# Kinds of row at most; with more, rows are put into bins. The width of an interval is then
# right within about 2 percent.
_PATTERNS, _BINS = 100_000, 1024
# With more kinds among the first _PATTERNS rows, a long table has too many in all.
_MANY = _PATTERNS // 10
# Bits of a fraction that are kept in a sum of fractions, and of weights below the largest seen.
_BITS, _WEIGHT_BITS = 52, 48


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """The answer of the query, one line per kind of row or per unit and group.

    Columns are the keys and numbers of the layout, `weight`, `n` (rows) and, where rows were
    added up, `unit`; then numbers are sums, multiplied by the weight already.
    """

    columns: Arrays
    added: bool
    """Whether a line is a sum of rows; else it is a kind of row, `n` of which occur."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one pass does; the same for every file of a table, wherever it is counted."""

    unit: str | None = None
    """What rows are added up by, in SQL; None counts kinds of rows, or adds up everything."""
    added: bool = True
    bits: int = 0
    """Bits behind the point that a sum of weights or fractions keeps."""

    def run(self, source: TableSource, layout: Layout) -> Arrays:
        """Count the table in one pass, with every core of this machine."""
        return _added(source, layout, self) if self.added else _kinds(source, layout)

    def run_on_ray(self, source: TableSource, layout: Layout) -> Arrays:
        """Count each file in a Ray task and add up; every node must see the same paths.

        An address in RAY_ADDRESS, or a connection that the caller has made, is used; else as many
        processes start here as there are cores.
        """
        if source.files is None:
            raise InputError('the engine "ray" counts files; use "local" for a table in memory')
        tasks = [
            (number, str(path), source.complete, layout, self)
            for number, path in enumerate(source.files.paths)
        ]
        parts = dict(map_on_ray(_count_file, tasks, os.cpu_count() or 1))
        # In the order of the files, so that sums are the same however the tasks finish.
        return _added_up([parts[number] for number in sorted(parts)], layout, self)


Pass = Callable[[Plan, TableSource, Layout], Arrays]
"""Runs a plan over a whole table: `Plan.run` or `Plan.run_on_ray`."""


def _added_up(parts: Sequence[Arrays], layout: Layout, plan: Plan) -> Arrays:
    """Return the lines of the whole table from those of its files."""
    import pandas as pd

    lines = pd.concat(map(pd.DataFrame, parts))
    keys = [*layout.keys, *(["unit"] if "unit" in lines else [])]
    lines[keys] = lines[keys].astype(str)
    if not plan.added:
        keys = [name for name in lines.columns if name != "n"]
    lines = lines.groupby(keys, sort=True, as_index=False).sum()
    return {name: lines[name].to_numpy() for name in parts[0]}


def _count_file(task: tuple[int, str, Mapping[str, bool], Layout, Plan]) -> tuple[int, Arrays]:
    number, path, complete, layout, plan = task
    # The rows of a file are in the same bins as in the whole table.
    unit = plan.unit and plan.unit.replace(FILE, str(number))
    with TableSource(path) as source:
        source.complete = complete
        return number, replace(plan, unit=unit).run(source, layout)


def count_lines(
    source: TableSource,
    layout: Layout,
    *,
    units: bool = True,
    binned: bool | None = None,
    run: Pass = Plan.run,
) -> Lines:
    """Count the table; without `units`, only what the value needs and no interval.

    `binned` forces bins of rows, or forbids them; by default the first rows decide.
    """
    import duckdb

    if units and layout.columns.cluster is None:
        if not (_many_kinds(source, layout) if binned is None else binned):
            columns = run(Plan(added=False), source, layout)
            if len(columns["n"]) <= _PATTERNS:
                return Lines(columns, added=False)
        unit: str | None = f"hash({FILE} * 1099511627776 + {ROW}) % {_BINS}"
    elif units:
        assert layout.columns.cluster is not None
        unit = _cluster_unit(source, layout.columns.cluster)
    else:
        unit = None
    weight = layout.columns.weight
    # A weight much larger than the first ones does not fit: then take the largest of all.
    for head in (True, False):
        plan = Plan(unit, bits=_bits(source, weight, head=head))
        with suppress(duckdb.ConversionException):
            return Lines(run(plan, source, layout), added=True)
    return _refuse_mistakes(source, layout)


def _cells(table: Relation, layout: Layout) -> dict[str, str]:
    """Return what a query selects for each key, number and cut score."""
    cells = {name: table.label(column) for name, column in layout.keys.items()}
    cells |= {name: table.amount(column) for name, column in layout.numbers.items()}
    scores = zip(layout.scores.items(), layout.thresholds, strict=True)
    for (name, column), cut in scores:
        cells[name] = f"({table.number(column)} >= {cut!r}::DOUBLE)::TINYINT"
    if layout.columns.weight is not None:
        cells["weight"] = table.amount(layout.columns.weight)
    return cells


def _many_kinds(source: TableSource, layout: Layout) -> bool:
    """Tell whether the first rows differ so much that their kinds cannot be counted."""

    def build(table: Relation) -> str:
        cells = ", ".join(_cells(table, layout).values())
        head = f"SELECT hash({cells}) AS kind FROM {table.sql} LIMIT {_PATTERNS + 1}"
        return f"SELECT count(*) AS rows, count(DISTINCT kind) AS kinds FROM ({head})"

    (head,) = source.query(layout.names, build, text=layout.keys.values())
    return bool(head["rows"] > _PATTERNS and head["kinds"] > _MANY)


def _kinds(source: TableSource, layout: Layout) -> Arrays:
    """Return the distinct rows and how often each occurs."""

    def build(table: Relation) -> str:
        cells = ", ".join(f"{sql} AS {name}" for name, sql in _cells(table, layout).items())
        return (
            f"SELECT {cells}, count(*) AS n FROM {table.sql} GROUP BY ALL "
            f"ORDER BY ALL LIMIT {_PATTERNS + 1}"
        )

    columns: Arrays = source.query(layout.names, build, text=layout.keys.values(), fetch=arrays)
    weight = columns.setdefault("weight", np.ones(len(columns["n"])))
    if not len(weight) or _has_gaps(columns):
        _refuse_mistakes(source, layout)
    shares = numbers(columns, [*layout.numbers, *layout.scores])
    if ((shares < 0) | (shares > 1)).any() or (weight < 0).any() or np.isinf(weight).any():
        _refuse_mistakes(source, layout)
    return columns


def _added(source: TableSource, layout: Layout, plan: Plan) -> Arrays:
    """Return sums over the rows of each unit and group; of one unit if None."""
    unit, bits = plan.unit, plan.bits

    def build(table: Relation) -> str:
        cells = _cells(table, layout)
        weight = cells.get("weight")
        keys = [f"{cells[name]} AS {name}" for name in layout.keys]
        keys += [] if unit is None else [f"{unit} AS unit"]
        numbers = (*layout.numbers, *layout.scores)
        valid = [f"{cells[name]} BETWEEN 0 AND 1" for name in numbers]
        if weight is not None:
            valid.append(f"{weight} >= 0 AND {weight} < 'inf'::DOUBLE")
        bad = f"count_if(NOT coalesce({' AND '.join(valid)}, false))" if valid else "0"
        total = "count(*)::DOUBLE" if weight is None else _sum(weight, bits)
        sums = [f"count(*) AS n, {bad} AS bad, {total} AS weight"]
        for name in numbers:
            column = layout.numbers.get(name)
            amount = f"({cells[name]})::DOUBLE"
            if weight is not None:
                total = _sum(f"{weight} * {amount}", bits)
            elif column is None or table.is_whole(column):
                total = f"coalesce(sum({cells[name]}), 0)::DOUBLE"
            else:
                total = _sum(amount, bits)
            sums.append(f"{total} AS {name}")
        return f"SELECT {', '.join([*keys, *sums])} FROM {table.sql} GROUP BY ALL ORDER BY ALL"

    text = [*layout.keys.values(), *filter(None, [layout.columns.cluster])]
    positioned = unit is not None and ROW in unit
    columns: Arrays = source.query(
        layout.names, build, text=text, position=positioned, fetch=arrays
    )
    bad = columns.pop("bad")
    if not len(bad) or bad.any() or _has_gaps(columns):
        _refuse_mistakes(source, layout)
    return columns


def numbers(columns: Arrays, names: Sequence[str]) -> Floats:
    """Return some of the columns as numbers, (n, names)."""
    table = np.empty((len(columns["n"]), len(names)))
    for place, name in enumerate(names):
        table[:, place] = columns[name]
    return table


def _has_gaps(columns: Arrays) -> bool:
    """Tell whether a value is missing."""
    return any(
        np.ma.is_masked(column) or (column.dtype.kind == "f" and np.isnan(column).any())
        for column in columns.values()
    )


def _sum(amount: str, bits: int) -> str:
    """Return the sum of an amount in whole numbers, and so in any order the same."""
    scale = f"{2.0**bits!r}::DOUBLE"
    # Dividing by a power of two is exact.
    return f"coalesce(sum((({amount})::DOUBLE * {scale})::BIGINT), 0)::DOUBLE / {scale}"


def _bits(source: TableSource, weight: str | None, *, head: bool) -> int:
    """Return the bits that a sum keeps, below the largest weight of the first rows or of all."""
    if weight is None:
        return _BITS

    def build(table: Relation) -> str:
        rows = f"(SELECT * FROM {table.sql} LIMIT {_PATTERNS})" if head else table.sql
        return f"SELECT coalesce(max(abs({table.number(weight)})), 0)::DOUBLE AS top FROM {rows}"

    (largest,) = source.query([weight], build)
    # The power of two just above it, 0 of zero and of infinity; one that is too large for a float
    # cannot be written into a query.
    return _WEIGHT_BITS - max(math.frexp(largest["top"])[1], -975)


def _cluster_unit(source: TableSource, cluster: str) -> str:
    """Return the unit of a row: its cluster, or a bin of clusters where they are very many."""

    def build(table: Relation) -> str:
        return f"SELECT approx_count_distinct({quoted(cluster)}) AS n FROM {table.sql}"

    (clusters,) = source.query([cluster], build, text=[cluster])
    name = quoted(cluster)
    # The count is within a few percent.
    if clusters["n"] <= _PATTERNS:
        return name
    return f"CASE WHEN {name} IS NULL THEN NULL ELSE hash({name}) % {_BINS} END"


_WORDS: Mistake = (
    NOT_A_NUMBER[0],
    'the column "{column}" is one with words in it ({row}: {value!r}); several tasks need '
    "columns of 0/1 or probabilities",
)
_NOT_A_WEIGHT: Mistake = (
    lambda table, name: f"{table.number(name)} < 0 OR {INFINITE[0](table, name)}",
    'the weights "{column}" must be finite numbers that are not negative; found {value} in {row}',
)


def _refuse_mistakes(source: TableSource, layout: Layout) -> NoReturn:
    """Raise the first mistake, column by column; rows may be read once more."""
    columns = layout.columns
    source.refuse_missing(layout.labels, layout.measured)
    for column in dict.fromkeys(layout.numbers.values()):
        source.refuse(column, _WORDS if len(columns.task) > 1 else NOT_A_NUMBER, NOT_A_SHARE)
    for column in columns.score:
        source.refuse(column, NOT_A_NUMBER)
    if columns.weight is not None:
        source.refuse(columns.weight, NOT_A_NUMBER, _NOT_A_WEIGHT)
    raise DataFileError(f"{source.name}: there is no row below the column names")
