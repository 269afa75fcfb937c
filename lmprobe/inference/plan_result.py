"""What a plan found: how many rows, templates or counted sentences a claim needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

from lmprobe.core.direction import Direction
from lmprobe.inference.pilot import Components, TemplatePlan
from lmprobe.report.result import Result
from lmprobe.results import Cell, Column, ColumnKind, Note, Page, Section, Statement, Table
from lmprobe.results.estimate import nullable
from lmprobe.results.format import format_count, format_number

LIMITS = (
    "This is not a power analysis: if the true effect is exactly the planned one, about half of "
    "such samples show an estimate at least as large. Plan for a smaller effect to be safer.",
    "Rows, templates and sentences are assumed to be independent.",
)
"""What a plan promises and what it does not; every report carries it."""


class PlanQuestion(StrEnum):
    """What is planned."""

    ROWS = "rows"
    """The rows of a table, for a group disparity."""
    TEMPLATES = "templates"
    """The templates of a probe."""
    BASE = "base"
    """The counted sentences of a base-rate table."""


@dataclass(frozen=True, slots=True)
class RowsPlan:
    """The rows that one interval method needs, and the smallest effect that they can claim."""

    method: str
    n: int
    effect: float
    """Infinite where no difference is large enough."""
    variance_is: str
    """What the variance that was planned with is the variance of."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"effect": nullable(self.effect)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> RowsPlan:
        """Read the JSON form."""
        effect = document["effect"]
        return cls(
            str(document["method"]),
            int(document["n"]),
            math.inf if effect is None else float(effect),
            str(document["variance_is"]),
        )


@dataclass(frozen=True, slots=True)
class TemplatesPlan:
    """The templates or tasks that a probe needs against one base in one direction."""

    base: str
    direction: Direction
    plan: TemplatePlan

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"base": self.base, "direction": self.direction.value, **asdict(self.plan)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TemplatesPlan:
        """Read the JSON form."""
        known = {
            name: value for name, value in document.items() if name not in ("base", "direction")
        }
        known["components"] = Components(**known["components"])
        direction = Direction.parse(document["direction"])
        return cls(str(document["base"]), direction, TemplatePlan(**known))


@dataclass(frozen=True, slots=True)
class BasePlan:
    """The counted sentences that a base needs to show nearly all of an amplification."""

    base: str
    direction: Direction
    sentences: int
    """That the table has."""
    found: float
    """The share of an amplification that a base of this size shows."""
    needed: int | None
    """Sentences that show 90 % of it. None where no number does: the table shows no link that
    sentences could make clear."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"direction": self.direction.value}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> BasePlan:
        """Read the JSON form."""
        return cls(
            str(document["base"]),
            Direction.parse(document["direction"]),
            int(document["sentences"]),
            float(document["found"]),
            document["needed"],
        )


PlanRow = RowsPlan | TemplatesPlan | BasePlan
_READ: dict[PlanQuestion, Callable[[Mapping[str, Any]], PlanRow]] = {
    PlanQuestion.ROWS: RowsPlan.from_dict,
    PlanQuestion.TEMPLATES: TemplatesPlan.from_dict,
    PlanQuestion.BASE: BasePlan.from_dict,
}
# By the normal law alone, not by a guarantee.
_APPROXIMATE = ("score", "bootstrap")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlanResult(Result):
    """The result of `plan`: a row per method, per row of a pilot, or per direction of a base."""

    kind: ClassVar[str] = "plan"

    question: PlanQuestion
    rows: tuple[PlanRow, ...]
    effect: float | None = None
    """The effect to be claimed, where it was given."""
    confidence: float = 0.95
    notes: tuple[Note, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        """Return the one table."""
        rows = tuple(_cells(row) for row in self.rows)
        title = f"to claim {self.effect:g}" if self.effect is not None else ""
        gap = self.question is PlanQuestion.BASE or any(None in cells for cells in rows)
        caption = _CAPTIONS[self.question] if gap else ""
        return (Table("plan", _COLUMNS[self.question], rows, title=title, caption=caption),)

    def page(self) -> Page:
        """Return the whole report."""
        facts = {key: str(value) for key, value in self.provenance.items()}
        return Page(
            title="How much data a claim needs",
            subtitle=f"at a confidence of {self.confidence:g}",
            headline=(Statement(_sentence(self)),),
            sections=(
                Section("Plan", tables=self.tables()),
                Section("Notes", notes=self.notes),
                Section("Provenance", facts=facts, collapsed=True),
            ),
            limits=LIMITS,
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON form without `schema` and `kind`."""
        return {
            "question": self.question.value,
            "effect": self.effect,
            "confidence": self.confidence,
            "rows": [row.to_dict() for row in self.rows],
            "notes": [note.to_dict() for note in self.notes],
            "limits": list(LIMITS),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_body(cls, document: dict[str, Any]) -> Self:
        """Read the JSON form."""
        question = PlanQuestion(document["question"])
        return cls(
            question,
            tuple(_READ[question](row) for row in document["rows"]),
            document["effect"],
            float(document["confidence"]),
            tuple(Note.from_dict(note) for note in document["notes"]),
            document["provenance"],
        )


_COLUMNS: dict[PlanQuestion, tuple[Column, ...]] = {
    PlanQuestion.ROWS: (
        Column("method"),
        Column("rows", ColumnKind.COUNT),
        Column("smallest effect", ColumnKind.NUMBER),
    ),
    PlanQuestion.TEMPLATES: (
        Column("base"),
        Column("direction", ColumnKind.DIRECTION),
        Column("pilot ±", ColumnKind.NUMBER, key="halfwidth"),
        Column("templates", ColumnKind.COUNT),
        Column("or tasks", ColumnKind.COUNT, key="tasks"),
        Column("templates, tasks fixed", ColumnKind.COUNT, key="fixed_tasks"),
    ),
    PlanQuestion.BASE: (
        Column("base"),
        Column("direction", ColumnKind.DIRECTION),
        Column("sentences", ColumnKind.COUNT),
        Column("found now", ColumnKind.PERCENT, key="found"),
        Column("sentences needed", ColumnKind.COUNT, key="needed"),
    ),
}
_CAPTIONS = {
    PlanQuestion.ROWS: "Empty: only a difference larger than the largest cost could be claimed.",
    PlanQuestion.TEMPLATES: "Empty: no number is enough if the other numbers stay the same.",
    PlanQuestion.BASE: "Found: the share of an amplification that a base of this size shows; a "
    "verdict needs one half. Needed: sentences that show 90 %.",
}


def _cells(row: PlanRow) -> tuple[Cell, ...]:
    if isinstance(row, RowsPlan):
        return (row.method, row.n, row.effect if math.isfinite(row.effect) else None)
    if isinstance(row, TemplatesPlan):
        plan = row.plan
        numbers = (plan.templates, plan.tasks, plan.fixed_tasks)
        return (row.base, row.direction, plan.halfwidth, *numbers)
    return (row.base, row.direction, row.sentences, row.found, row.needed)


def _sentence(result: PlanResult) -> str:
    """Return the headline: what the most economical row asks for."""
    if result.question is PlanQuestion.ROWS:
        rows = [row for row in result.rows if isinstance(row, RowsPlan)]
        # The fewest rows, then the smallest effect; a guarantee before an approximation.
        best = min(rows, key=lambda row: (row.method in _APPROXIMATE, row.n, row.effect))
        if result.effect is not None:
            return (
                f"A claim of {result.effect:g} needs {format_count(best.n)} rows ({best.method})."
            )
        if not math.isfinite(best.effect):
            return f"No difference is large enough to be claimed with so few rows ({best.n})."
        return (
            f"{format_count(best.n)} rows can claim {format_number(best.effect)} ({best.method})."
        )
    if result.question is PlanQuestion.TEMPLATES:
        return f"What a probe needs to claim {result.effect:g}, from the variance of the pilot."
    needed = [row.needed for row in result.rows if isinstance(row, BasePlan)]
    if None in needed:
        return "No number of sentences shows 90 % of an amplification in every direction."
    most = max(number for number in needed if number is not None)
    return f"About {format_count(most)} sentences show 90 % of an amplification in every direction."
