"""`plan`: how much data a claim needs, and the result with its table and page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lmprobe.errors import Argument, InputError, invalid
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.settings import PlanSettings
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Note,
    NoteKind,
    Page,
    Section,
    Statement,
    Table,
    closing_sections,
    json_field,
    table_of,
)
from lmprobe.results.format import format_count, format_number
from lmprobe.results.result import Result
from lmprobe.sources import load_base_rates
from lmprobe.stats.base_uncertainty import checked_counts, reliability
from lmprobe.stats.planning import (
    VARIANCE_IS,
    TemplatePlan,
    claimable_effect,
    sample_size,
    sentences_needed,
    templates_needed,
)

LIMITS = (
    "If the true effect is exactly the planned one, about half of such samples show an estimate "
    "at least as large and claim it; of samples with the rows for the power, that share do.",
    "Rows, templates and sentences are assumed to be independent.",
)
"""What a plan promises and what it does not; every report carries it."""


class PlanQuestion(StrEnum):
    """What is planned: rows of a table, templates of a probe, counted sentences of a base."""

    ROWS = "rows"
    TEMPLATES = "templates"
    BASE = "base"


@dataclass(frozen=True, slots=True)
class RowsPlan:
    """The rows that one interval method needs, and the smallest effect that they can claim."""

    method: str
    n: int
    effect: float
    """Infinite where no difference is large enough."""
    variance_is: str
    """What the variance that was planned with is the variance of."""
    n_power: int | None = None
    """Rows that claim such an effect with the power of the plan; None where none is claimed."""

    def __post_init__(self) -> None:
        """Read the effect that JSON has as null: an infinite one."""
        if math.isnan(self.effect):
            object.__setattr__(self, "effect", math.inf)


@dataclass(frozen=True, slots=True)
class TemplatesPlan:
    """The templates or tasks that a probe needs against one base in one direction."""

    base: str
    direction: Direction
    plan: TemplatePlan = json_field(flat=True)


@dataclass(frozen=True, slots=True)
class BasePlan:
    """The counted sentences that a base needs to show nearly all of an amplification."""

    json_keys: ClassVar[tuple[str, ...]] = ("base", "direction", "sentences", "share", "needed")

    base: str
    direction: Direction
    sentences: int
    needed: int | None
    """Sentences that show 90 % of it; None where no number does."""
    share: float = json_field(key="found")
    """The share of an amplification that a base of this size shows."""


PlanRow = RowsPlan | TemplatesPlan | BasePlan

_DIRECTED = (ColumnOf("base", "base"), ColumnOf("direction", "direction", ColumnKind.DIRECTION))
_COLUMNS = {
    PlanQuestion.ROWS: (
        ColumnOf("method", "method"),
        ColumnOf("rows", "n", ColumnKind.COUNT),
        ColumnOf("rows for the power", "n_power", ColumnKind.COUNT, "n_power"),
        ColumnOf(
            "smallest effect",
            lambda row: row.effect if math.isfinite(row.effect) else None,
            ColumnKind.NUMBER,
        ),
    ),
    PlanQuestion.TEMPLATES: (
        *_DIRECTED,
        ColumnOf("pilot ±", "plan.halfwidth", ColumnKind.NUMBER, "halfwidth"),
        ColumnOf("templates", "plan.templates", ColumnKind.COUNT),
        ColumnOf("or tasks", "plan.tasks", ColumnKind.COUNT, "tasks"),
        ColumnOf("templates, tasks fixed", "plan.fixed_tasks", ColumnKind.COUNT, "fixed_tasks"),
    ),
    PlanQuestion.BASE: (
        *_DIRECTED,
        ColumnOf("sentences", "sentences", ColumnKind.COUNT),
        ColumnOf("found now", "share", ColumnKind.PERCENT, "found"),
        ColumnOf("sentences needed", "needed", ColumnKind.COUNT, "needed"),
    ),
}
_CAPTIONS = {
    PlanQuestion.ROWS: "–: only a difference larger than the largest cost could be claimed.",
    PlanQuestion.TEMPLATES: "–: no number is enough if the other numbers stay the same.",
    PlanQuestion.BASE: "Found: the share of an amplification that a base of this size shows; a "
    "verdict needs one half. Needed: sentences that show 90 %.",
}
_NOTES = {
    PlanQuestion.ROWS: (
        Note(
            NoteKind.METHOD,
            "exact (0/1 costs), betting and, with known variances and shares, bernstein are "
            "guaranteed; score, bootstrap and betting are planned by the normal approximation",
        ),
        Note(NoteKind.ASSUMPTION, LIMITS[0]),
    ),
    PlanQuestion.TEMPLATES: (
        Note(
            NoteKind.METHOD,
            "planned so that the interval is narrow enough in 90 % of samples if effects of "
            "templates (or families) and tasks are normal: in fewer if they are skewed",
        ),
    ),
    PlanQuestion.BASE: (
        Note(
            NoteKind.BASE,
            "the share is for a model that exaggerates each link in proportion to its strength; "
            "the tasks keep their shares of the sentences",
        ),
    ),
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlanResult(Result):
    """The result of `plan`: a row per method, per row of a pilot, or per direction of a base."""

    kind: ClassVar[str] = "plan"
    limits: ClassVar[tuple[str, ...]] = LIMITS
    json_keys: ClassVar[tuple[str, ...]] = (
        "question", "effect", "confidence", "power", "rows", "notes", "limits", "provenance",
    )  # fmt: skip

    question: PlanQuestion
    rows: tuple[PlanRow, ...]
    effect: float | None = None
    confidence: float = 0.95
    notes: tuple[Note, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    power: float = PlanSettings.power

    def tables(self) -> tuple[Table, ...]:
        """Return the one table."""
        title = f"to claim {self.effect:g}" if self.effect is not None else ""
        table = table_of("plan", self.rows, _COLUMNS[self.question], title=title, empty=True)
        if self.question is PlanQuestion.BASE or any(None in cells for cells in table.rows):
            table = replace(table, caption=_CAPTIONS[self.question])
        return (table,)

    def page(self) -> Page:
        """Return the whole report."""
        power = f" and a power of {self.power:g}" if self.question is PlanQuestion.ROWS else ""
        facts = {key: str(value) for key, value in self.provenance.items()}
        return Page(
            title="How much data a claim needs",
            subtitle=f"at a confidence of {self.confidence:g}{power}",
            headline=(Statement(_headline(self)),),
            sections=(Section("Plan", tables=self.tables()), *closing_sections(self.notes, facts)),
            limits=LIMITS,
        )


def _headline(result: PlanResult) -> str:
    """Return what the most economical row asks for."""
    if result.question is PlanQuestion.TEMPLATES:
        return f"What a probe needs to claim {result.effect:g}, from the variance of the pilot."
    if result.question is PlanQuestion.BASE:
        needed = [row.needed for row in result.rows if isinstance(row, BasePlan)]
        if None in needed:
            return "No number of sentences shows 90 % of an amplification in every direction."
        most = format_count(max(number or 0 for number in needed))
        return f"About {most} sentences show 90 % of an amplification in every direction."
    rows = [row for row in result.rows if isinstance(row, RowsPlan)]
    # The fewest rows, then the smallest effect; a guarantee before the normal law alone.
    best = min(rows, key=lambda row: (row.method in ("score", "bootstrap"), row.n, row.effect))
    if not math.isfinite(best.effect):
        return f"No difference is large enough to be claimed with so few rows ({best.n})."
    n = format_count(best.n)
    more = f", {format_count(best.n_power)} for a power of {result.power:g}" if best.n_power else ""
    if result.effect is not None:
        return f"To claim a difference of {result.effect:g} takes {n} rows ({best.method}){more}."
    return f"{n} rows can show a difference of {format_number(best.effect)} ({best.method}){more}."


def plan(
    effect: float | None = None,
    *,
    rows: int | None = None,
    pilot: ProbeResult | str | Path | None = None,
    base: Any = None,
    method: str | None = PlanSettings.method,
    group_share: float = PlanSettings.group_share,
    cost_bound: float = PlanSettings.cost_bound,
    variance: float | None = PlanSettings.variance,
    confidence: float = PlanSettings.confidence,
    power: float = PlanSettings.power,
) -> PlanResult:
    """Compute how much data a claim needs.

    Parameters
    ----------
    effect
        The difference to be claimed.
    rows
        A number of rows, instead of `effect`: compute what they can claim.
    pilot
        The result of a probe: plan its templates for `effect`, instead of rows.
    base
        A base-rate table of counts, by name, path or object: plan its sentences, without
        `effect`.
    method
        One interval method for rows; all by default.
    group_share, cost_bound, variance
        As in `sample_size`; a variance needs a method.
    power
        Rows are planned twice: as published, and to claim the effect in this share of samples.

    Examples
    --------
    >>> [(row.n, row.n_power) for row in plan(0.05).rows if row.method in ("bernstein", "exact")]
    [(11903, 20352), (1641, 3237)]
    """
    settings = PlanSettings(method, group_share, cost_bound, variance, confidence, power)
    if base is not None and any(given is not None for given in (effect, rows, pilot)):
        others = (Argument("effect"), ", ", Argument("rows"), " or ", Argument("pilot"))
        raise invalid("base", " plans sentences: give it without ", *others)
    missing = (effect is None) == (rows is None) or (pilot is not None and effect is None)
    if base is None and missing:
        raise InputError(
            "give ",
            Argument("effect"),
            ", or ",
            Argument("rows"),
            " for what they allow; ",
            Argument("pilot"),
            " needs ",
            Argument("effect"),
        )
    if (method is not None or variance is not None) and (pilot is not None or base is not None):
        refused = (Argument("method"), ", no ", Argument("variance"))
        raise InputError("a pilot or a base has its own variance: no ", *refused)
    if variance is not None and method is None:
        raise invalid(
            "variance", " means something else for each method: give ", Argument("method")
        )
    planned: Iterator[PlanRow]
    if base is not None:
        question, planned = PlanQuestion.BASE, _sentences(base)
    elif pilot is not None and effect is not None:
        question, planned = PlanQuestion.TEMPLATES, _templates(pilot, effect, confidence)
    else:
        question, planned = PlanQuestion.ROWS, _rows(effect, rows or 0, settings)
    given = {"settings": settings.to_dict()}
    notes = _NOTES[question]
    if question is PlanQuestion.TEMPLATES and _read(pilot).turns:
        text = "the turns of the chat are taken as fixed: others would make the interval wider"
        notes = (*notes, Note(NoteKind.ASSUMPTION, text))
    return PlanResult(question, tuple(planned), effect, confidence, notes, given, power)


def _rows(effect: float | None, rows: int, settings: PlanSettings) -> Iterator[RowsPlan]:
    given = settings.to_dict()
    power = given.pop("power")
    for method in (settings.method,) if settings.method else VARIANCE_IS:
        options: dict[str, Any] = {**given, "method": method}
        n = sample_size(effect, **options) if effect is not None else rows
        claim = claimable_effect(n, **options) if effect is None else effect
        # More than the largest cost is no difference that could be found.
        claim = claim if claim <= settings.cost_bound else math.inf
        more = sample_size(claim, power=power, **options) if math.isfinite(claim) else None
        yield RowsPlan(method, n, claim, VARIANCE_IS[method], more)


def _read(pilot: Any) -> ProbeResult:
    return pilot if isinstance(pilot, ProbeResult) else ProbeResult.from_json(pilot)


def _templates(pilot: Any, effect: float, confidence: float) -> Iterator[TemplatesPlan]:
    probe = _read(pilot)
    for row in probe.rows:
        planned = templates_needed(
            row.cells, effect, families=probe.families, confidence=confidence
        )
        yield TemplatesPlan(row.base, row.direction, planned)


def _sentences(base: Any) -> Iterator[BasePlan]:
    source: Any = load_base_rates(base)
    sampling = getattr(source, "sampling", None)
    if sampling is None or not sampling.counts:
        raise InputError(
            f'base "{source.name}" is not known to be a table of counted sentences '
            "(`counts = true` in its TOML), so there is no number of sentences to plan"
        )
    counts = checked_counts(source.counts)
    # Tasks and groups that were never counted take part in no comparison.
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    for direction in DIRECTIONS:
        share = reliability(counts, direction, rng=np.random.default_rng(0)).proportional
        needed = sentences_needed(counts, direction)
        yield BasePlan(source.name, direction, int(counts.sum()), needed, share)
