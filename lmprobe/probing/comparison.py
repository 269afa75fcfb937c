"""How models differ: one row per pair of models, base and direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lmprobe.core.direction import Direction
from lmprobe.inference.comparison import SMALLEST, CellComparison, TaskDifference
from lmprobe.report.result import Result
from lmprobe.results import Estimate, Interval, Note, Page, Table, Verdict, decide
from lmprobe.results.claim import Claim
from lmprobe.results.estimate import from_nullable, nullable

if TYPE_CHECKING:
    import pandas as pd

    from lmprobe.probing.row import ProbeRow


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The second model minus the first, in one direction against one base."""

    first: str
    second: str
    base: str
    direction: Direction
    values: tuple[float, float]
    value: float
    """The difference of the values: positive where the second is larger."""
    interval: Interval
    p_value: float
    """Of the two-way test, adjusted by Holm for all rows of the result."""
    p_value_unadjusted: float
    tasks: tuple[TaskDifference, ...]
    margin: float | None = None
    """The difference within which models count as the same; None where nobody asked."""
    p_equivalence: float | None = None
    """Of the tests against a difference of the margin or more, adjusted by Holm."""
    foreign_lean: bool = False
    """Whether the lean comes from another source than the base."""
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(
        cls,
        compared: CellComparison,
        names: tuple[str, str],
        row: ProbeRow,
        margin: float | None = None,
    ) -> ComparisonRow:
        """Return the row of a comparison against the base of `row`, on its own so far."""
        return cls(
            first=names[0],
            second=names[1],
            base=row.base,
            direction=row.direction,
            values=compared.values,
            value=compared.value,
            interval=compared.interval,
            p_value=compared.p_value,
            p_value_unadjusted=compared.p_value,
            tasks=compared.tasks,
            margin=margin,
            p_equivalence=compared.p_equivalence,
            foreign_lean=row.foreign_lean,
            notes=compared.notes,
        )

    @property
    def verdict(self) -> Verdict:
        """What interval and p-value, both, allow one to say of the second model.

        Models that are the same within a margin are equivalent, even if they surely differ by
        less; a difference that no table would show is not claimed.
        """
        level = 1 - self.interval.confidence
        if self.p_equivalence is not None and self.p_equivalence <= level:
            return Verdict.EQUIVALENT
        if not self.p_value <= level or abs(self.value) < SMALLEST:
            return Verdict.UNDECIDED
        if self.foreign_lean:
            return decide(self.interval, above=Verdict.FOLLOWS_MORE, below=Verdict.FOLLOWS_LESS)
        return decide(self.interval, above=Verdict.AMPLIFIES_MORE, below=Verdict.AMPLIFIES_LESS)

    @property
    def estimate(self) -> Estimate:
        """The difference with its uncertainty."""
        return Estimate(self.value, self.interval, self.verdict, notes=self.notes)

    @property
    def pair(self) -> str:
        """The models in words."""
        return f"{self.second} minus {self.first}"

    @property
    def labels(self) -> dict[str, str]:
        """What the row is about, by the names of columns and keys."""
        names = {"first": self.first, "second": self.second, "base": self.base}
        return names | {"direction": self.direction.value}

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **self.labels,
            "values": list(self.values),
            "value": self.value,
            "interval": self.interval.to_dict(),
            "verdict": self.verdict,
            "p_value": nullable(self.p_value),
            "p_value_unadjusted": nullable(self.p_value_unadjusted),
            "margin": nullable(self.margin),
            "p_equivalence": nullable(self.p_equivalence),
            "foreign_lean": self.foreign_lean,
            "tasks": [
                {"task": task.task}
                | {name: nullable(getattr(task, name)) for name in _TASK}
                | {"interval": task.interval.to_dict(), "units": task.units}
                for task in self.tasks
            ],
            "notes": [note.to_dict() for note in self.notes],
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> ComparisonRow:
        """Read the JSON form."""
        first, second = row["values"]
        return cls(
            first=row["first"],
            second=row["second"],
            base=row["base"],
            direction=Direction(row["direction"]),
            values=(float(first), float(second)),
            value=float(row["value"]),
            interval=Interval.from_dict(row["interval"]),
            p_value=from_nullable(row["p_value"]),
            p_value_unadjusted=from_nullable(row["p_value_unadjusted"]),
            margin=row["margin"],
            p_equivalence=None if row["margin"] is None else from_nullable(row["p_equivalence"]),
            tasks=tuple(_read_task(task, row["interval"]["confidence"]) for task in row["tasks"]),
            foreign_lean=bool(row["foreign_lean"]),
            notes=tuple(Note.from_dict(note) for note in row["notes"]),
        )


def _read_task(task: Mapping[str, Any], confidence: float) -> TaskDifference:
    numbers = {name: from_nullable(task[name]) for name in _TASK}
    # Files of earlier versions have no interval.
    ends = task.get("interval")
    known = Interval.from_dict(ends) if ends else Interval.undefined(confidence, "bonferroni-t")
    return TaskDifference(
        task["task"],
        numbers["value"],
        numbers["p_value"],
        numbers["p_holm"],
        numbers["p_benjamini_hochberg"],
        known,
        int(task.get("units", 0)),
    )


_TASK = ("value", "p_value", "p_holm", "p_benjamini_hochberg")


@dataclass(frozen=True, slots=True)
class ComparisonResult(Result):
    """The result of `compare`: one row per pair of models, base and direction."""

    kind: ClassVar[str] = "comparison"
    file_stem: ClassVar[str] = "comparison"

    rows: tuple[ComparisonRow, ...]
    provenance: Mapping[str, Any]

    def claims(self) -> tuple[Claim, ...]:
        """Return the difference of every pair, base and direction."""
        return tuple(Claim(row.estimate, row.base, row.direction, row.pair) for row in self.rows)

    def tables(self) -> tuple[Table, ...]:
        """Return one table per direction, then the tasks that moved."""
        from lmprobe.probing.comparison_page import direction_tables, moved_tasks

        return (*direction_tables(self), *moved_tasks(self))

    def page(self) -> Page:
        """Return the whole report."""
        from lmprobe.probing.comparison_page import comparison_page

        return comparison_page(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line per pair of models, base and direction."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **row.labels,
                    "value": row.value,
                    "low": row.interval.low,
                    "high": row.interval.high,
                    "confidence": row.interval.confidence,
                    "method": row.interval.method,
                    "p_value": row.p_value,
                    "p_value_unadjusted": row.p_value_unadjusted,
                    "p_equivalence": row.p_equivalence,
                    "verdict": row.verdict.value,
                }
                for row in self.rows
            ]
        )

    def tasks(self) -> pd.DataFrame:
        """Return one line per pair of models, base, direction and task."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    **row.labels,
                    "task": task.task,
                    **{name: getattr(task, name) for name in _TASK},
                    "low": task.interval.low,
                    "high": task.interval.high,
                }
                for row in self.rows
                for task in row.tasks
            ]
        )

    def frames(self) -> dict[str, Any]:
        """Return the rows and the tasks, which are written as CSV."""
        return {"rows": self.to_frame(), "tasks": self.tasks()}

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "rows": [row.to_dict() for row in self.rows],
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Self:
        """Read the JSON form."""
        rows = tuple(ComparisonRow.from_dict(row) for row in document["rows"])
        if not rows:
            raise ValueError("it has no rows")
        return cls(rows, document["provenance"])
