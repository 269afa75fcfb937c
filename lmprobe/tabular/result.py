"""What `amplify` found: one row per direction, the pairs behind it, thresholds and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.association import Floats
from lmprobe.metrics.direction import Direction
from lmprobe.metrics.directional import Amplification, defined_mean
from lmprobe.metrics.thresholds import Threshold
from lmprobe.results import Estimate, Interval, Note, Obstacle, Page, Table
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.estimate import Claim, from_nullable, nullable
from lmprobe.results.result import Result
from lmprobe.stats.runs import read_mean
from lmprobe.stats.unevenness import Unevenness
from lmprobe.tabular.cuts import ThresholdCurve
from lmprobe.tabular.other_metrics import MetricValue
from lmprobe.tabular.rows import AmplificationRow, RunAmplification

if TYPE_CHECKING:
    import pandas as pd

LIMITS = (
    "It compares predictions with the labels of these rows (or of the train table). It does not "
    "show whether the labels are fair or the rows are a fair sample.",
    "It measures whether predictions exaggerate a link, not whether they are correct, or whether "
    "some groups have more errors than others.",
    "Compare values within one direction only: task->attribute and attribute->task have "
    "different scales.",
)
"""What this measures and what it does not; every report carries it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AmplificationResult(Result):
    """The result of `amplify`: one row per direction whose predictions are given."""

    kind: ClassVar[str] = "amplification"

    rows: tuple[AmplificationRow, ...]
    rows_read: int
    provenance: Mapping[str, Any]
    thresholds: tuple[tuple[str, Threshold], ...] = ()
    """The cut of each task's score, table by table."""
    curves: tuple[ThresholdCurve, ...] = ()
    """The amplification of each task at every threshold."""
    metrics: tuple[MetricValue, ...] = ()
    """What other metrics give for the same table, where they were asked for."""
    notes: tuple[Note, ...] = ()

    def row(self, direction: Direction | str) -> AmplificationRow:
        """Return the row of that direction (`T->A` and `A->T` are accepted)."""
        wanted = Direction.parse(direction)
        for row in self.rows:
            if row.direction is wanted:
                return row
        raise InputError(f"{wanted} was not measured: its predictions were not given")

    def claims(self) -> tuple[Claim, ...]:
        """Return the estimate of every direction."""
        return tuple(Claim(row.estimate, row.base, row.direction) for row in self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Return the verdicts, then runs, thresholds and the pairs at both ends."""
        from lmprobe.tabular.page import amplification_tables

        return amplification_tables(self)

    def page(self) -> Page:
        """Return the whole report."""
        from lmprobe.tabular.page import amplification_page

        return amplification_page(self)

    def pairs(self) -> pd.DataFrame:
        """Return one line per direction, run, attribute and task."""
        import pandas as pd

        frames = []
        for row in self.rows:
            for run in row.runs:
                frame = run.pairs.to_frame()
                frame["direction"] = row.direction.value
                if len(row.runs) > 1:
                    frame.insert(1, "run", run.run)
                frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return what is written as CSV: the verdicts, every pair, the curves."""
        import pandas as pd

        found = {"amplification": self.to_frame(), "pairs": self.pairs()}
        if self.curves:
            found["curves"] = pd.concat(curve.to_frame() for curve in self.curves)
        return found

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "rows": [_row_dict(row) for row in self.rows],
            "rows_read": self.rows_read,
            "thresholds": [_threshold_dict(task, cut) for task, cut in self.thresholds],
            "curves": [curve.to_dict() for curve in self.curves],
            "metrics": [one.to_dict() for one in self.metrics],
            "notes": [note.to_dict() for note in self.notes],
            "limits": list(LIMITS),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Self:
        """Read the JSON form."""
        if not document["rows"]:
            raise ValueError("it has no rows")
        return cls(
            rows=tuple(_row_of(row) for row in document["rows"]),
            rows_read=int(document["rows_read"]),
            provenance=document["provenance"],
            thresholds=tuple(_threshold_of(one) for one in document["thresholds"]),
            curves=tuple(ThresholdCurve.from_dict(one) for one in document["curves"]),
            metrics=tuple(MetricValue.from_dict(one) for one in document.get("metrics", ())),
            notes=tuple(Note.from_dict(note) for note in document["notes"]),
        )


def _row_dict(row: AmplificationRow) -> dict[str, Any]:
    return {
        "base": row.base,
        "direction": row.direction.value,
        "attributes": list(row.attributes),
        "tasks": list(row.tasks),
        **row.estimate.to_dict(),
        "strength": row.strength and row.strength.to_dict(),
        "unevenness": to_json(row.unevenness),
        "association": None,
        "preference": None,
        "absolute": row.absolute,
        "undefined_pairs": row.undefined_pairs,
        "by_attribute": _named(row.attributes, defined_mean(row.by_pair, axis=1)),
        "by_task": _named(row.tasks, defined_mean(row.by_pair, axis=0)),
        "over_runs": row.over_runs and row.over_runs.to_dict(),
        "runs": [
            {
                "run": run.run,
                "value": run.pairs.value,
                "interval": run.interval.to_dict(),
                "corrected": nullable(run.corrected),
                "obstacle": run.obstacle,
                "predicted": _listed(run.pairs.predicted),
                "base_rate": _listed(run.pairs.base_rate),
                "lean": _listed(run.pairs.lean),
                "amplification": _listed(run.pairs.by_pair),
            }
            for run in row.runs
        ],
    }


def _row_of(document: Mapping[str, Any]) -> AmplificationRow:
    direction = Direction.parse(document["direction"])
    attributes, tasks = tuple(document["attributes"]), tuple(document["tasks"])
    shape = (len(attributes), len(tasks))

    def run_of(run: Mapping[str, Any]) -> RunAmplification:
        predicted, base, lean = (
            np.array([[from_nullable(cell) for cell in line] for line in run[name]]).reshape(shape)
            for name in ("predicted", "base_rate", "lean")
        )
        pairs = Amplification(direction, attributes, tasks, predicted, base, lean)
        interval = Interval.from_dict(run["interval"])
        obstacle = run.get("obstacle") and Obstacle(run["obstacle"])
        return RunAmplification(run["run"], pairs, interval, run.get("corrected"), obstacle)

    strength, unevenness = document.get("strength"), document.get("unevenness")
    return AmplificationRow(
        direction,
        document["base"],
        tuple(map(run_of, document["runs"])),
        read_mean(document),
        strength and Estimate.from_dict(strength),
        unevenness and from_json(Unevenness, unevenness),
    )


def _named(labels: tuple[str, ...], values: Floats) -> dict[str, float | None]:
    return {label: nullable(value) for label, value in zip(labels, values.tolist(), strict=True)}


def _listed(table: Floats) -> list[list[float | None]]:
    return [[nullable(value) for value in line] for line in table.tolist()]


def _threshold_dict(task: str, cut: Threshold) -> dict[str, Any]:
    return {
        "task": task,
        "value": cut.value,
        "wanted_share": nullable(cut.wanted),
        "share": nullable(cut.share),
        "heaviest_row": nullable(cut.row),
    }


def _threshold_of(document: Mapping[str, Any]) -> tuple[str, Threshold]:
    shares = (document[name] for name in ("wanted_share", "share", "heaviest_row"))
    cut = Threshold(float(document["value"]), *map(from_nullable, shares))
    return str(document["task"]), cut
