"""Where the scores of a table are cut, and its amplification at every cut, by queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from lmprobe.errors import DataFileError
from lmprobe.io.tables import Relation, TableSource, quoted
from lmprobe.metrics.association import Association, Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import lean_of_seen
from lmprobe.metrics.thresholds import Curve, Threshold, curve_of_sums
from lmprobe.results.estimate import from_nullable, nullable
from lmprobe.tabular.columns import Columns
from lmprobe.tabular.counting import crossed
from lmprobe.tabular.engine import is_infinite, refuse, refuse_missing_cell, refuse_words

# Points of a curve in JSON and in a figure; a CSV has them all.
_POINTS = 201


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """The curve of one task, its summaries and the calibrated threshold."""

    task: str
    integral: float
    lowest: float
    highest: float
    at_threshold: float
    """The value at the calibrated threshold."""
    points: int
    """How many thresholds there are in all."""
    cuts: Floats
    """(K,), falling; the first lies above every score and is infinite."""
    share: Floats
    value: Floats

    @classmethod
    def of(cls, curve: Curve, cut: Threshold) -> ThresholdCurve:
        """Return what a result keeps of a curve."""
        value = curve.value
        return cls(
            curve.label,
            curve.integral,
            float(np.min(value)),
            float(np.max(value)),
            curve.at(cut.value),
            len(value),
            curve.thresholds,
            curve.share,
            value,
        )

    @property
    def sampled(self) -> Any:
        """The numbers of some hundred points, evenly spread over the share of positives."""
        places = np.searchsorted(self.share, np.linspace(0, 1, _POINTS))
        return np.unique(places.clip(0, len(self.share) - 1))

    def to_frame(self) -> pd.DataFrame:
        """Return one line per threshold."""
        columns = {"threshold": self.cuts, "share": self.share, "amplification": self.value}
        return pd.DataFrame({"task": self.task, **columns})

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, with some of the points."""
        some = self.sampled
        return {
            "task": self.task,
            "integral": nullable(self.integral),
            "lowest": nullable(self.lowest),
            "highest": nullable(self.highest),
            "at_threshold": nullable(self.at_threshold),
            "points": self.points,
            "cuts": [nullable(cut) for cut in self.cuts[some].tolist()],
            "share": self.share[some].tolist(),
            "value": [nullable(value) for value in self.value[some].tolist()],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ThresholdCurve:
        """Read the JSON form."""

        return cls(
            str(document["task"]),
            from_nullable(document["integral"]),
            from_nullable(document["lowest"]),
            from_nullable(document["highest"]),
            from_nullable(document["at_threshold"]),
            int(document["points"]),
            np.array([math.inf if cut is None else float(cut) for cut in document["cuts"]]),
            np.array(document["share"], dtype=np.float64),
            np.array([from_nullable(value) for value in document["value"]]),
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
