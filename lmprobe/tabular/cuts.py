"""Where the scores of a table are cut, and its amplification at every cut, by queries."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from lmprobe.core.association import Association
from lmprobe.core.direction import Direction
from lmprobe.core.tally import Floats
from lmprobe.errors import DataFileError
from lmprobe.io.table_source import Relation, TableSource, quoted
from lmprobe.metrics.directional import lean_of_seen
from lmprobe.metrics.thresholds import Curve, Threshold, curve_of_sums
from lmprobe.tabular.columns import Columns
from lmprobe.tabular.counting import crossed
from lmprobe.tabular.mistakes import is_infinite, refuse, refuse_missing_cell, refuse_words


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
    (found,) = source.query(columns, build).to_pylist()
    if found["bad"] or found["score"] is None:
        _refuse_scores(source, score, weight)
    row = float(found["heaviest"] / found["total"])
    # "Nobody" is a cut as well. Infinity would do, but it cannot be written into JSON.
    if share <= abs(found["share"] - share):
        return Threshold(math.nextafter(found["highest"], math.inf), share, 0.0, row)
    return Threshold(float(found["score"]), share, float(found["share"]), row)


def _refuse_scores(source: TableSource, score: str, weight: str | None) -> NoReturn:
    refuse_missing_cell(source, score)
    refuse_words(source, score)
    message = 'the scores "{column}" must be finite; found {value} in row {row}'
    refuse(source, score, is_infinite, message)
    missing = "below the column names" if weight is None else "with a positive weight"
    raise DataFileError(f"{source.name}: there is no row {missing}")


def curves(
    source: TableSource,
    columns: Columns,
    world: Association,
    leaning: Association,
    *,
    keep_unseen: bool = False,
) -> tuple[Curve, ...]:
    """Return the amplification of each task at every cut of its score."""
    direction = Direction.ATTRIBUTE_TO_TASK
    base = world.conditional(direction)
    signs = lean_of_seen(leaning, direction, keep_unseen=keep_unseen)
    found = []
    for number, (task, score) in enumerate(zip(columns.task, columns.score, strict=True)):
        cuts, positive = _positive(source, columns, score, world.attributes)
        found.append(
            curve_of_sums(
                direction, task, world.attributes, cuts, positive, base[:, number], signs[:, number]
            )
        )
    return tuple(found)


def _positive(
    source: TableSource, columns: Columns, score: str, attributes: tuple[str, ...]
) -> tuple[Floats, Floats]:
    """Return the distinct scores, falling, and how much of everybody and each group they have."""
    groups = [f"{quoted(name)} AS a{number}" for number, name in enumerate(columns.attribute)]

    def build(table: Relation) -> str:
        weight = columns.weight
        amount = "count(*)" if weight is None else f"fsum(({table.number(weight)})::DOUBLE)"
        value = f"({table.number(score)})::DOUBLE"
        keys = ", ".join([f"{value} AS score", *groups])
        return (
            f"SELECT {keys}, {amount}::DOUBLE AS amount FROM {table.sql} GROUP BY ALL ORDER BY ALL"
        )

    names = [score, *columns.attribute, *([columns.weight] if columns.weight else [])]
    frame = source.query(names, build, text=columns.attribute).to_pandas()
    labels = crossed(frame, "a", columns.attribute)
    position = {name: number for number, name in enumerate(attributes)}
    scores, line = np.unique(-frame["score"].to_numpy(), return_inverse=True)
    sums = np.zeros((len(scores), len(attributes)))
    group = np.array([position[label] for label in labels], dtype=np.intp)
    np.add.at(sums, (line, group), frame["amount"].to_numpy())
    return -scores, np.hstack([sums.sum(axis=1, keepdims=True), sums])
