"""Paired differences of probes: one row per pair of models, base and direction; their report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from lmprobe.errors import InputError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.models.kinds.recorded import RECORDED
from lmprobe.probing.exhibits import CORRECTED, SOURCE, by_direction, interval_column
from lmprobe.probing.finding import given_names
from lmprobe.probing.settings import CompareSettings, base_options, templates_option
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Estimate,
    Interval,
    IntervalLine,
    IntervalPlot,
    Note,
    NoteKind,
    Obstacle,
    Page,
    Section,
    Sides,
    Statement,
    Table,
    Verdict,
    closing_sections,
    decide,
    table_of,
)
from lmprobe.results.codec import json_field
from lmprobe.results.content import frame_of
from lmprobe.results.estimate import Claim
from lmprobe.results.format import (
    format_interval,
    format_percent,
    format_signed,
    listed,
    plural,
)
from lmprobe.results.result import Result
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.stats.comparison import SMALLEST, TableComparison, TaskDifference, compare_tables
from lmprobe.stats.flips import FLIP_MARGIN, Flips, flips_between

if TYPE_CHECKING:
    import pandas as pd

    from lmprobe.probing.result import ProbeResult, ProbeRow

# Tasks of each direction that are shown; the JSON and the CSV have all of them.
_SHOWN = 5
# A headline is short; the tables have every row.
_HEADLINES = 4
_NAMED = 3
# A finding speaks of clear flips that the means hide if their share is surely at least this.
_MANY_FLIPS = 0.01
_BOTH = (
    "A difference is claimed only where the interval and the p-value, which is adjusted for all "
    "comparisons, both say so."
)

LIMITS = (
    "A difference shows which model exaggerates the base more, not which of them is right: both "
    "may exaggerate it, or both may weaken it.",
    "The models are compared on the same sentences and words; the interval describes sentences "
    "and words like these, not people, and not other training runs of the same models.",
    "Compare differences within one direction only: task->attribute and attribute->task have "
    "different scales.",
)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The second model minus the first, in one direction against one base."""

    json_keys: ClassVar[tuple[str, ...]] = (
        "first", "second", "base", "direction", "values", "value", "corrected", "interval",
        "middle", "nearer", "verdict", "obstacle", "p_value", "p_value_unadjusted", "margin",
        "p_equivalence", "flips", "foreign_lean", "tasks", "notes",
    )  # fmt: skip

    first: str
    second: str
    base: str
    direction: Direction
    values: tuple[float, float]
    interval: Interval
    p_value: float = math.nan
    """Of the two-way test, adjusted by Holm for all rows of the result."""
    p_value_unadjusted: float = math.nan
    tasks: tuple[TaskDifference, ...] = ()
    corrected: float | None = None
    """The difference without the bias of a sampled base; the interval then belongs to it."""
    middle: Interval | None = None
    """Of the mean of both models: its side of zero says which way is away from the base."""
    obstacle: Obstacle | None = None
    """What forbids a comparison, if anything does."""
    margin: float | None = None
    """The difference within which models count as the same; None where nobody asked."""
    p_equivalence: float | None = None
    """Of the tests against a difference of the margin or more, adjusted by Holm."""
    flips: Flips | None = json_field(default=None, optional=True)
    """How many cells favour another group; None for an uninformed model and in older results."""
    foreign_lean: bool = False
    """Whether the lean comes from another source than the base."""
    notes: tuple[Note, ...] = ()

    @property
    def value(self) -> float:
        """The difference of the values, positive where the second is larger; NaN if forbidden."""
        return math.nan if self.obstacle is not None else self.values[1] - self.values[0]

    @property
    def nearer(self) -> str | None:
        """The model that is nearer to the base, where the data tell: the difference is claimed,
        and the mean of both lies on one side of the base.
        """
        if self.verdict not in (Verdict.HIGHER, Verdict.LOWER) or self.middle is None:
            return None
        side = decide(self.middle, above=Verdict.HIGHER, below=Verdict.LOWER)
        if side is Verdict.UNDECIDED:
            return None
        return self.first if side is self.verdict else self.second

    @property
    def verdict(self) -> Verdict:
        """What interval and p-value, both, allow one to say of the second model.

        Models that are the same within a margin are equivalent, even if they surely differ by
        less; a difference that no table would show is not claimed.
        """
        if self.obstacle is not None:
            return decide(self.interval, obstacle=self.obstacle)
        level = 1 - self.interval.confidence
        if self.p_equivalence is not None and self.p_equivalence <= level:
            return Verdict.EQUIVALENT
        if not self.p_value <= level or abs(self.value) < SMALLEST:
            return Verdict.UNDECIDED
        return decide(self.interval, above=Verdict.HIGHER, below=Verdict.LOWER)

    @property
    def hides_flips(self) -> bool:
        """Whether many cells flip clearly though no difference of the means is claimed."""
        flips = self.flips
        claimed = self.obstacle is not None or self.verdict in (Verdict.HIGHER, Verdict.LOWER)
        return not claimed and flips is not None and flips.clear.interval.low >= _MANY_FLIPS

    @property
    def estimate(self) -> Estimate:
        """The difference with its uncertainty."""
        bias = None if self.corrected is None else self.value - self.corrected
        return Estimate(
            self.value, self.interval, self.verdict, self.corrected, bias, self.notes, self.obstacle
        )

    @property
    def pair(self) -> str:
        """The models in words."""
        return f"{self.second} minus {self.first}"


Names = tuple[str, str]

PairedRow = tuple[ComparisonRow, TableComparison | None]
"""A row on its own, and what it was made from; None if an obstacle forbids a comparison."""


def compare_results(
    first: ProbeResult, second: ProbeResult, names: Names, settings: CompareSettings
) -> tuple[PairedRow, ...]:
    """Compare two results on every base and direction that both have, each row on its own.

    Both must have been made with the same templates and scorer; models of different kinds have
    different scorers, and a note says so. Tasks that only one of them has are left out, and a
    note says which.
    """
    notes = _scorer_notes(first, second, names)
    if first.templates != second.templates:
        lacks = [
            f"{name} has no “{text}”"
            for own, other, name in ((first, second, names[1]), (second, first, names[0]))
            for text in own.templates
            if text not in other.templates
        ]
        raise InputError(
            f"{listed(names)} differ in their templates ({(*lacks, 'their order differs')[0]}); a "
            "paired comparison needs the same templates, after the same turns of a chat"
        )
    later = {(row.base, row.direction): row for row in second.rows}
    rows = [
        _compare(row, later[row.base, row.direction], names, settings, notes)
        for row in first.rows
        if (row.base, row.direction) in later
    ]
    if not rows:
        bases = {row.base for row in first.rows} & {row.base for row in second.rows}
        what = "direction" if bases else "base"
        have = [
            ", ".join(sorted({getattr(row, what) for row in probe.rows}))
            for probe in (first, second)
        ]
        raise InputError(
            f"the results share no {what}: {names[0]} has {have[0]}, {names[1]} has {have[1]}"
        )
    return tuple(rows)


def _compare(
    row: ProbeRow, twin: ProbeRow, names: Names, settings: CompareSettings, notes: tuple[Note, ...]
) -> PairedRow:
    if set(row.attributes) != set(twin.attributes):
        raise InputError(
            f"{names[0]} compares {', '.join(row.attributes)} and {names[1]} "
            f"{', '.join(twin.attributes)} against {row.base}; they must be the same"
        )
    tasks = tuple(task for task in row.tasks if task in twin.tasks)
    if not tasks:
        raise InputError(f"{names[0]} and {names[1]} share no task against {row.base}")
    difference = ComparisonRow(
        first=names[0],
        second=names[1],
        base=row.base,
        direction=row.direction,
        values=(row.value, twin.value),
        interval=Interval.undefined(settings.confidence, settings.interval),
        margin=settings.margin,
        foreign_lean=row.foreign_lean,
    )
    first, second = (
        model.tables(settings.seed).chosen(row.attributes, model.attributes, tasks)
        for model in (row, twin)
    )
    if Obstacle.UNINFORMED not in (row.obstacle, twin.obstacle):
        # Which group is favoured depends on no lean and no counts.
        difference = replace(difference, flips=flips_between(first, second, settings))
    for name, own in zip(names, (row, twin), strict=True):
        if own.obstacle is not None:
            # Nothing can be said of the difference that cannot be said of the model.
            note = Note(NoteKind.LEFT_OUT, f"not compared because of {name}: {own.obstacle.reason}")
            return replace(difference, obstacle=own.obstacle, notes=(*notes, note)), None
    left_out = sorted(set(row.tasks) ^ set(twin.tasks))
    if left_out:
        text = f"left out, only one of the two has them: {', '.join(left_out)}"
        notes = (*notes, Note(NoteKind.LEFT_OUT, text))
    pairs = (first.base_rate, second.base_rate), (first.lean, second.lean)
    if not all(np.allclose(own, other, equal_nan=True) for own, other in pairs):
        text = (
            f'the base "{row.base}" is not the same for both: part of the difference is the base\'s'
        )
        notes = (*notes, Note(NoteKind.COMPARISON, text))
    compared = compare_tables(first, second, settings, margin=settings.margin)
    row_of_pair = replace(
        difference,
        values=compared.values,
        corrected=compared.corrected,
        interval=compared.interval,
        middle=compared.middle,
        p_value=compared.p_value,
        p_value_unadjusted=compared.p_value,
        p_equivalence=compared.p_equivalence,
        notes=(*compared.notes, *notes),
    )
    return row_of_pair, compared


def _scorer_notes(first: ProbeResult, second: ProbeResult, names: Names) -> tuple[Note, ...]:
    """Return what to know where the scorers differ; raise if the same one could have been used."""
    own, other = first.provenance.get("scorer"), second.provenance.get("scorer")
    if own == other:
        return ()
    kinds = first.provenance.get("kind"), second.provenance.get("kind")
    if None in kinds or (kinds[0] == kinds[1] != RECORDED):
        raise InputError(
            f"{names[0]} was made with the scorer {own}, {names[1]} with {other}; "
            "make both with the same"
        )
    text = (
        f"{names[0]} is a {kinds[0]} model, scored by {own}, and {names[1]} a {kinds[1]} one, "
        f"scored by {other}: the probability of a candidate is not defined in the same way, and "
        "part of the difference may come from that"
    )
    return (Note(NoteKind.SCORER, text),)


class _TaskOfRow(NamedTuple):
    row: ComparisonRow
    task: TaskDifference


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
        """Return every difference, then flips, then the tasks that differ."""
        return (
            *_difference_tables(self.rows),
            *_flip_tables(self.rows),
            *_moved_tasks(self.rows),
        )

    def page(self) -> Page:
        """Return the whole report."""
        names = [str(name) for name in self.provenance["names"]]
        probed: Mapping[str, Any] = next(iter(self.provenance.get("probes", ())), {})
        # What the intervals assume comes first.
        notes = sorted(
            dict.fromkeys(note for row in self.rows for note in row.notes),
            key=lambda note: note.kind is not NoteKind.ASSUMPTION,
        )
        tasks, flips = _moved_tasks(self.rows), _flip_tables(self.rows)
        text = () if tasks else ("No single task differs by a family-wise test.",)
        figures = _difference_figures(self.rows)
        return Page(
            title=f"{names[1]} compared with {names[0]}"
            if len(names) == 2
            else f"{plural(len(names), 'model')} compared",
            subtitle=f"Difference: the value of {_minuend(self.rows)}.",
            headline=tuple(_finding(self.rows, given_names(probed.get("templates", {})))),
            sections=(
                Section("Differences", tables=_difference_tables(self.rows), name="verdict"),
                Section("With their intervals", figures=figures, name="differences"),
                *([Section("Flips", tables=flips, name="flips")] if flips else ()),
                Section("Task by task", text=text, tables=tasks, name="tasks"),
                *closing_sections(notes, command=_compare_again(self.provenance)),
            ),
            limits=LIMITS,
            source=SOURCE,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one line per pair of models, base and direction."""
        return frame_of(
            self.rows,
            first="first",
            second="second",
            base="base",
            direction="direction.value",
            value="value",
            low="interval.low",
            high="interval.high",
            confidence="interval.confidence",
            method="interval.method",
            p_value="p_value",
            p_value_unadjusted="p_value_unadjusted",
            p_equivalence="p_equivalence",
            verdict="verdict.value",
            nearer="nearer",
            flips="flips.value",
            flips_low="flips.interval.low",
            flips_high="flips.interval.high",
            flips_clear="flips.clear.value",
            flips_clear_low="flips.clear.interval.low",
            flips_clear_high="flips.clear.interval.high",
        )

    def tasks(self) -> pd.DataFrame:
        """Return one line per pair of models, base, direction and task."""
        return frame_of(
            _tasks_of(self.rows),
            first="row.first",
            second="row.second",
            base="row.base",
            direction="row.direction.value",
            task="task.task",
            value="task.value",
            p_value="task.p_value",
            p_holm="task.p_holm",
            p_benjamini_hochberg="task.p_benjamini_hochberg",
            low="task.interval.low",
            high="task.interval.high",
        )

    def frames(self) -> dict[str, Any]:
        """Return the rows and the tasks, which are written as CSV."""
        return {"rows": self.to_frame(), "tasks": self.tasks()}

    def validate(self) -> None:
        """Refuse a comparison of nothing."""
        if not self.rows:
            raise ValueError("it has no rows")


def _tasks_of(rows: Sequence[ComparisonRow]) -> list[_TaskOfRow]:
    return [_TaskOfRow(row, task) for row in rows for task in row.tasks]


def _difference_tables(rows: Sequence[ComparisonRow]) -> tuple[Table, ...]:
    """Return every difference: of two models in one table, of more in one per direction."""
    base, direction = (
        ColumnOf("base", "base"),
        ColumnOf("direction", "direction", ColumnKind.DIRECTION),
    )
    if len({row.pair for row in rows}) == 1:
        return (_difference_table(rows, (base, direction), "differences", "Differences"),)
    return tuple(
        _difference_table(group, (_model_column(rows), base), way.slug, f"{way}: {way.question}")
        for way, group in by_direction(rows).items()
    )


def _difference_table(
    rows: Sequence[ComparisonRow], names: Sequence[ColumnOf], name: str, title: str
) -> Table:
    """Return the differences below the columns that name their rows."""
    fitted = any(row.corrected is not None for row in rows)
    unsure = any(
        row.verdict is Verdict.UNDECIDED and row.interval.bounded and 0.0 not in row.interval
        for row in rows
    )
    columns = (
        *names,
        ColumnOf("difference", "value", ColumnKind.SIGNED, "value", essential=not fitted),
        ColumnOf("corrected", "corrected", ColumnKind.SIGNED),
        interval_column(rows),
        ColumnOf("p", "p_value", ColumnKind.P_VALUE, "p_value", essential=False),
        ColumnOf("verdict", "verdict", ColumnKind.VERDICT),
    )
    caption = " ".join([CORRECTED] * fitted + [_BOTH] * unsure)
    return table_of(name, rows, columns, title=title, caption=caption)


def _flip_tables(rows: Sequence[ComparisonRow]) -> tuple[Table, ...]:
    """Return the shares of cells that flip; bases with the same words have the same flips."""
    flips = {(row.pair, row.direction, row.flips): row for row in rows if row.flips is not None}
    by_base = len(flips) > len({key[:2] for key in flips})
    margin = next((key[2].margin for key in flips), FLIP_MARGIN)
    clear = interval_column(rows, "flips.clear.interval", ColumnKind.RANGE)
    columns = (
        _model_column(rows),
        ColumnOf("base", lambda row: row.base if by_base else None),
        ColumnOf("direction", "direction", ColumnKind.DIRECTION),
        ColumnOf("flips", "flips.value", ColumnKind.NUMBER),
        replace(interval_column(rows, "flips.interval", ColumnKind.RANGE), essential=False),
        ColumnOf("clear", "flips.clear.value", ColumnKind.NUMBER),
        replace(clear, key="clear_interval"),
    )
    caption = (
        "The share of the cells (template and task) in which the favoured group changes; clear "
        f"where in both models it leads by more than {margin:g} from even."
    )
    table = table_of("flips", flips.values(), columns, title="Flips", caption=caption)
    return (table,) if flips else ()


def _model_column(rows: Sequence[ComparisonRow]) -> ColumnOf:
    """Return the column that names the models, which two models alone do not need."""
    names = dict(zip(rows, _names(rows), strict=True))
    several = len({row.pair for row in rows}) > 1
    return ColumnOf("model", lambda row: names[row] if several else None)


def _moved_tasks(rows: Sequence[ComparisonRow]) -> tuple[Table, ...]:
    """Return the largest differences of tasks in each direction, of those that can be claimed."""
    tasks = _tasks_of(rows)
    moved = [item for item in tasks if item.task.differs(1 - item.row.interval.confidence)]
    if not moved:
        return ()
    moved.sort(key=lambda item: -abs(item.task.value))
    largest = [
        item
        for direction in DIRECTIONS
        for item in [item for item in moved if item.row.direction is direction][:_SHOWN]
    ]
    model = _model_column(rows)
    columns = (
        ColumnOf("model", lambda item: model.cells([item.row])[0]),
        ColumnOf("task", "task.task"),
        ColumnOf("base", "row.base"),
        ColumnOf("direction", "row.direction", ColumnKind.DIRECTION),
        ColumnOf("difference", "task.value", ColumnKind.SIGNED, "value"),
        ColumnOf("interval", "task.interval", ColumnKind.INTERVAL),
        ColumnOf("p (Holm)", "task.p_holm", ColumnKind.P_VALUE, "p_holm", essential=False),
    )
    rest = "; the largest of each direction" if len(largest) < len(moved) else ""
    caption = (
        f"{len(moved)} of {plural(len(tasks), 'difference')} of tasks can be claimed, by a "
        f"family-wise test; the intervals cover all tasks at once{rest}"
    )
    title = "Tasks that differ"
    return (table_of("tasks", largest, columns, title=title, caption=caption, detail=True),)


def _difference_figures(rows: Sequence[ComparisonRow]) -> tuple[IntervalPlot, ...]:
    """Return every difference with its interval, by direction.

    Two models share a picture for all bases, several have one for each base: a line is named
    by one thing.
    """
    several = len({row.pair for row in rows}) > 1
    groups: dict[tuple[str, Direction], list[ComparisonRow]] = {}
    for row in rows:
        groups.setdefault((row.base if several else "", row.direction), []).append(row)
    bases = {base for base, _ in groups}
    return tuple(
        _difference_figure(group, base if len(bases) > 1 else "", several)
        for (base, _), group in groups.items()
    )


def _difference_figure(rows: list[ComparisonRow], base: str, several: bool) -> IntervalPlot:
    direction, labels = rows[0].direction, _names(rows) if several else [row.base for row in rows]
    first = f" from {rows[0].first}" if len({row.first for row in rows}) == 1 else ""
    return IntervalPlot(
        name="-".join(filter(None, ("differences", base, direction.slug))),
        title=f"{direction}{', ' * bool(base)}{base}: difference{first}",
        alternative="; ".join(
            f"{label}: {format_signed(row.estimate.claimed)}, {format_interval(row.interval)}"
            for row, label in zip(rows, labels, strict=True)
        ),
        lines=tuple(
            IntervalLine(label, row.estimate.claimed, row.interval, row.verdict.tone)
            for row, label in zip(rows, labels, strict=True)
        ),
        sides=Sides("less", "more"),
    )


def _names(rows: Sequence[ComparisonRow]) -> list[str]:
    """Return what each row is about: its model, or both models if the first is not always one."""
    same = len({row.first for row in rows}) == 1
    return [row.second if same else row.pair for row in rows]


def _minuend(rows: Sequence[ComparisonRow]) -> str:
    firsts = {row.first for row in rows}
    if len(firsts) == 1:
        several = len({row.second for row in rows}) > 1
        return f"{'each model' if several else rows[0].second} minus that of {rows[0].first}"
    return "the first model named minus that of the second"


def _finding(rows: Sequence[ComparisonRow], given: Mapping[Direction, str]) -> Iterator[Statement]:
    """Yield a sentence for each pair of models and base, those that tell them apart first.

    The tasks that differ most follow for the first pair: the tables have the others.
    """
    groups: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in rows:
        groups.setdefault((row.pair, row.base), []).append(row)
    ordered = sorted(
        groups.values(), key=lambda group: not any(row.verdict.decisive for row in group)
    )
    for group in ordered[:_HEADLINES]:
        group.sort(key=lambda row: DIRECTIONS.index(row.direction))
        verdict = next((row.verdict for row in group if row.verdict.decisive), group[0].verdict)
        yield Statement(_sentence(group, given), verdict)
    if more := len(ordered[_HEADLINES:]):
        yield Statement(f"The table has {plural(more, 'more comparison')}.")
    if ordered[0][0].obstacle is None:
        alone = len({pair for pair, _ in groups}) == 1
        yield from map(Statement, _tasks_that_differ(ordered[0], given, alone=alone))
    hidden = dict.fromkeys(_hidden_flips(row, given) for row in rows if row.hides_flips)
    yield from map(Statement, [*hidden][:_HEADLINES])


def _sentence(rows: Sequence[ComparisonRow], given: Mapping[Direction, str]) -> str:
    """Return what a base says of two models, in both directions."""
    claims = {row.direction: _claim(row) for row in rows}
    against = f"Against {rows[0].base}"
    if len({*claims.values()}) == 1 and all(row.obstacle is not None for row in rows):
        return f"{against}, {claims[rows[0].direction]}."
    if len(rows) > 1 and len({*claims.values()}) == 1:
        return f"{against}, {claims[rows[0].direction]}, in both directions."
    each = (f"given the {given[direction]}, {claim}" for direction, claim in claims.items())
    return f"{against}: {'; '.join(each)}."


def _claim(row: ComparisonRow) -> str:
    """Return the verdict on two models in words: of the one that is farther from the base, if any.

    The mean of both lies on one side of the base then, and so does the value farther from it.
    """
    if row.obstacle is not None:
        # The note names the model that forbids it.
        notes = (note.text for note in row.notes if note.kind is NoteKind.LEFT_OUT)
        why = next(notes, f"not compared: {row.obstacle.reason}")
        return f"{row.second} and {row.first} are {why}"
    if row.verdict is Verdict.EQUIVALENT:
        return f"{row.second} {row.verdict.predicate.format(base=row.first)} of {row.margin:g}"
    if row.verdict not in (Verdict.HIGHER, Verdict.LOWER):
        return f"{row.second} {row.verdict.predicate.format(base=row.first)}"
    if row.nearer is None:
        return (
            f"the value of {row.second} {row.verdict.predicate.format(base=f'that of {row.first}')}"
        )
    farther = row.first if row.nearer == row.second else row.second
    beyond = (row.verdict is Verdict.HIGHER) == (farther == row.second)
    does = (
        ("follows the lean", "goes against the lean")
        if row.foreign_lean
        else ("exaggerates the links", "weakens the links")
    )
    return f"{farther} {does[not beyond]} more than {row.nearer}"


def _tasks_that_differ(
    rows: Sequence[ComparisonRow], given: Mapping[Direction, str], *, alone: bool
) -> Iterator[str]:
    """Yield the tasks in which two models differ most, of those that can be claimed."""
    who = "they" if alone else f"{rows[0].second} and {rows[0].first}"
    for row in rows:
        moved = [task for task in row.tasks if task.differs(1 - row.interval.confidence)]
        moved.sort(key=lambda task: -abs(task.value))
        if moved:
            tasks = [
                f"{task.task} ({format_signed(100 * task.value, 1)}" for task in moved[:_NAMED]
            ]
            tasks[0] += " points"
            where = f"Against {row.base}, given the {given[row.direction]}"
            yield f"{where}, {who} differ most in {listed(f'{task})' for task in tasks)}."


def _hidden_flips(row: ComparisonRow, given: Mapping[Direction, str]) -> str:
    """Return how many cells flip where the mean does not show it."""
    assert row.flips is not None
    all_flips, clear = (format_percent(part.value, 2) for part in (row.flips, row.flips.clear))
    return (
        f"The mean hides flips: given the {given[row.direction]}, {row.second} and {row.first} "
        f"favour different groups in {all_flips} of the cells, in {clear} clearly."
    )


def _compare_again(provenance: Mapping[str, Any]) -> str:
    """Return the command that makes the same comparison."""
    settings: CompareSettings = from_mapping(CompareSettings, provenance["settings"])
    words: list[str] = []
    if not all(provenance["saved"]):
        probe = provenance["probes"][provenance["saved"].index(False)]
        option = templates_option(probe["templates"])
        words += ["--templates", option] if option else []
        words += base_options(probe["bases"])
    return command_line("compare", _written(provenance), words, settings.words())


def _written(provenance: Mapping[str, Any]) -> list[str]:
    """Return what each model was given as; a result in memory has to be saved first."""
    given = list(provenance["given"])
    for place, probe in enumerate(provenance.get("probes", ())):
        # It was given as no file, so it bears its model's name, perhaps with what tells it apart.
        name, own = given[place], str(probe.get("model"))
        if provenance["saved"][place] and (name == own or name.startswith(f"{own} (")):
            given[place] = f"RESULT-{place + 1}.json"
    return given
