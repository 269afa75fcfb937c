"""The report of a sweep: tables of models and ranks, a forest per question, tasks, steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmprobe.probing.page import LIMITS
from lmprobe.probing.settings import ModelSettings, ProbeSettings
from lmprobe.results import (
    ColumnKind,
    ColumnOf,
    Page,
    Section,
    Statement,
    Table,
    Verdict,
    closing_sections,
    table_of,
)
from lmprobe.results.format import format_signed, plural
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.sweeping.figures import forest, heat_map, training_figure
from lmprobe.sweeping.jobs import SweepSettings
from lmprobe.sweeping.result import Order, Question, SweepResult, SweepRow

# Lines of all forests and cells of all heat maps on one page: more is slow to open, and the
# table and the CSV have every number.
_MOST_LINES = 1_200
_MOST_CELLS = 30_000
# More statements than this are no headline: then the first few stand for them.
_MOST_STATEMENTS = 6
_FEW_STATEMENTS = 2
# Models that are named in a sentence.
_NAMED = 3

_BAND = (
    "The band covers the values of all steps at once. Zero is the base: a model on it neither "
    "exaggerates nor weakens what the base says. A model without any link between groups and tasks "
    "is below zero, at the line of no association."
)
_BRACKETS = (
    "Models beside one bracket cannot be told apart with these templates and tasks, whatever the "
    "order of their values; brackets may overlap, and pass by a model along dots. Models that no "
    "bracket joins can be told apart."
)
_COLOURS = (
    "The mean over templates and groups for each model and task. Orange: the model exaggerates the "
    "links; blue: it weakens them."
)
_QUALITY = (
    "Association is the amplification that remains when the model's overall preferences for single "
    "words are removed. Mass is how much probability the candidates together had."
)
_OF_ROW = ("model", "set", "base", "direction")
_SIGN = "Positive: the model exaggerates the base."
_RANKS = (
    "The rank is the range that the data allow, 1 being the lowest value. Models that share a "
    "letter cannot be told apart with these templates and tasks; all others can."
)


def sweep_page(result: SweepResult) -> Page:
    """Return the whole report of a sweep."""
    lead = f"{_SIGN} {_RANKS}" if result.orders else _SIGN
    table = all_rows(result)
    ranked = table.select(*_OF_ROW, "value", "interval", "verdict", "rank", "group")
    quality = table.select(*_OF_ROW, "association", "candidate_mass", "perplexity")
    sections = [Section("Models", text=(lead,), tables=(ranked,), searchable=True)]
    if result.curves:
        figures = tuple(training_figure(result, curve) for curve in result.curves)
        sections.append(Section("Over the training run", text=(_BAND,), figures=figures))
    if result.run_means:
        sections.append(Section("Over training runs", tables=(_run_table(result),)))
    sections += [_forests(result), _tasks(result)]
    if result.failures:
        sections.append(Section("Models that could not be probed", tables=(_failures(result),)))
    details = [Section("Association and quality", (_QUALITY,), tables=(quality,), searchable=True)]
    models = plural(len(result.models), "checkpoint" if result.over_steps else "model")
    facts = (
        models,
        plural(len({row.templates for row in result.rows}), "template set"),
        plural(len({row.base for row in result.rows}), "base"),
    )
    return Page(
        title=f"{models} compared"
        if len(result.models) > 1
        else f"Does {', '.join(result.models) or 'no model'} exaggerate the base rates?",
        subtitle=" · ".join(facts),
        headline=_headline(result),
        sections=(
            *(section for section in sections if section.tables or section.figures),
            *closing_sections(result.notes, command=_again(result), details=details),
        ),
        limits=LIMITS,
        topic="lmprobe sweep",
    )


def _headline(result: SweepResult) -> tuple[Statement, ...]:
    """Return a sentence for each question, or for the first and all together, and failures."""
    return (*_findings(result), *_failed(result))


def _findings(result: SweepResult) -> Iterator[Statement]:
    if len(result.models) == 1:
        for row in result.rows[:_MOST_STATEMENTS]:
            verdict = row.estimate.verdict
            claim = verdict.predicate.format(base="the base")
            yield Statement(f"{_where(result, row.question)}, the model {claim}.", verdict)
        return
    make = _first_to_last if result.over_steps else _lowest_to_highest
    number = len(result.orders)
    shown = result.orders[: number if number <= _MOST_STATEMENTS else _FEW_STATEMENTS]
    yield from (make(result, order) for order in shown)
    if len(shown) < number:
        ranked = [order for order in result.orders if len(order.groups) > 1]
        yield Statement(
            f"In {len(ranked)} of {number} questions (template set, base, direction) some of "
            f"{len(result.models)} models can be told apart."
        )


def _failed(result: SweepResult) -> Iterator[Statement]:
    """Yield that models are missing, where some could not be probed."""
    failed = list(dict.fromkeys(failure.model for failure in result.failures))
    if failed:
        named = ", ".join(failed[:_NAMED]) + (", …" if len(failed) > _NAMED else "")
        number = len({*failed, *result.models})
        text = f"{len(failed)} of {plural(number, 'model')} could not be probed: {named}."
        yield Statement(text, Verdict.UNINFORMED)


def _lowest_to_highest(result: SweepResult, order: Order) -> Statement:
    where = _where(result, order.question)
    number = len(order.models)
    if len(order.groups) == 1:
        return Statement(f"{where}, no two of {number} models can be told apart.")
    values = {row.model: row.estimate for row in result.of(order.question)}
    names = result.short_names
    first, last = (
        f"{names[model]} ({format_signed(values[model].claimed)}, {values[model].verdict.label})"
        for model in (order.models[0], order.models[-1])
    )
    rest = "the two can be told apart" if number == 2 else f"all {number} can be told apart"
    if any(len(group) > 1 for group in order.groups):
        rest = f"not all {number} can be told apart"
    return Statement(f"{where}, the value is lowest for {first} and highest for {last}; {rest}.")


def _first_to_last(result: SweepResult, order: Order) -> Statement:
    rows = {row.model: row for row in result.of(order.question)}
    (steps,) = (curve.models for curve in result.curves if curve.question == order.question)
    first, last = rows[steps[0]], rows[steps[-1]]
    moved = order.separates(first.model, last.model)
    return Statement(
        f"{_where(result, order.question)}, the value goes from "
        f"{format_signed(first.estimate.claimed)} at step "
        f"{first.step:,} to {format_signed(last.estimate.claimed)} at step {last.step:,}"
        f"{'' if moved else ', which cannot be told apart'}."
    )


def _where(result: SweepResult, question: Question) -> str:
    """Return a question as the beginning of a sentence."""
    given = {"task": "task", "attribute": "group"}[question.direction.given]
    several = len({row.templates for row in result.rows}) > 1
    of_set = f" ({question.templates})" if several else ""
    return f"Given the {given}, against {question.base}{of_set}"


def _forests(result: SweepResult) -> Section:
    """Return a forest plot per question, as many as a page can carry."""
    figures, lines = [], 0
    for question in result.questions:
        figure = forest(result, question)
        lines += len(figure.lines)
        if lines <= _MOST_LINES:
            figures.append(figure)
    text = (_BRACKETS, *_left_out(result, len(figures)))
    return Section("Each question", text=text, figures=tuple(figures))


def _tasks(result: SweepResult) -> Section:
    """Return models x tasks as colours, as many as a page can carry."""
    figures, cells = [], 0
    for question in result.questions:
        rows = result.of(question)
        cells += len(rows) * len(rows[0].by_task)
        if cells <= _MOST_CELLS:
            figures.append(heat_map(result, question))
    return Section(
        "Tasks",
        text=(_COLOURS, *_left_out(result, len(figures))),
        figures=tuple(figures),
        collapsed=len(result.models) > 40,
    )


def _left_out(result: SweepResult, shown: int) -> tuple[str, ...]:
    """Return that some questions are not drawn, where that is so."""
    total = len(result.questions)
    if shown == total:
        return ()
    return (
        f"The first {shown} of {total} questions are drawn: a page with all of them would be slow "
        "to open. The table above and the files beside this page have every number.",
    )


def _again(result: SweepResult) -> str:
    settings = result.provenance["settings"]
    words = list(settings.get("models", ()))
    for key in ("templates", "base"):
        for name in settings.get(key, ()):
            words += [f"--{key}", name]
    for kind in (SweepSettings, ProbeSettings, ModelSettings):
        words += from_mapping(kind, settings).words()
    return command_line("sweep", words, ["--output", "sweep"])


# ---- tables -----------------------------------------------------------------------------------


def all_rows(result: SweepResult) -> Table:
    """Return every row of the sweep: the table that a page lets its reader search and sort."""
    rows = [row for question in result.questions for row in _in_order(result, question)]
    names = (ColumnOf("set", "templates"), ColumnOf("base", "base"))
    columns = [
        # A column with the same word in every row says nothing.
        *(column for column in names if len(set(column.cells(rows))) > 1),
        ColumnOf("direction", "direction", ColumnKind.DIRECTION),
    ]
    return _table("sweep", result, rows, columns)


def question_tables(result: SweepResult) -> tuple[Table, ...]:
    """Return one table per question, models by value, for a terminal."""
    tables = [
        _table(question.slug, result, _in_order(result, question), title=_title(question))
        for question in result.questions
    ]
    if result.run_means:
        tables.append(_run_table(result))
    if result.failures:
        tables.append(_failures(result))
    return tuple(tables)


def _in_order(result: SweepResult, question: Question) -> Sequence[SweepRow]:
    """Return the rows of a question: a training run from its beginning, models by value."""
    return result.of(question) if result.over_steps else result.by_value(question)


def _title(question: Question) -> str:
    direction = question.direction
    return f"{direction}, {question.base}, {question.templates}: {direction.question}"


def _table(
    name: str,
    result: SweepResult,
    rows: Sequence[SweepRow],
    columns: Sequence[ColumnOf] = (),
    title: str = "",
) -> Table:
    names = result.short_names
    letters = {
        (order.question, model): order.letters(model)
        for order in result.orders
        for model in order.models
    }
    columns = [
        ColumnOf("model", lambda row: names[row.model]),
        *columns,
        ColumnOf("value", "estimate.claimed", ColumnKind.SIGNED),
        ColumnOf("interval", "estimate.interval", ColumnKind.INTERVAL),
        ColumnOf("verdict", "estimate.verdict", ColumnKind.VERDICT),
        # A range such as 2–5 is written as it is, and sorted by its first number.
        ColumnOf("rank", _rank, ColumnKind.COUNT),
        ColumnOf("group", lambda row: letters.get((row.question, row.model)), essential=False),
        ColumnOf("association", "association.value", ColumnKind.SIGNED, essential=False),
        ColumnOf("mass", "candidate_mass", ColumnKind.PERCENT, "candidate_mass", False),
        ColumnOf("perplexity", _perplexity, ColumnKind.NUMBER, essential=False),
    ]
    return table_of(name, rows, columns, title=title)


def _rank(row: SweepRow) -> int | str | None:
    if row.ranks is None:
        return None
    low, high = row.ranks
    return low if low == high else f"{low}–{high}"


def _perplexity(row: SweepRow) -> str | None:
    """Return one decimal: more say nothing of a model."""
    return None if row.perplexity is None else f"{row.perplexity:,.1f}"


def _run_table(result: SweepResult) -> Table:
    columns = (
        ColumnOf("set", "question.templates"),
        ColumnOf("base", "question.base"),
        ColumnOf("direction", "question.direction", ColumnKind.DIRECTION),
        ColumnOf("mean", "estimate.claimed", ColumnKind.SIGNED, "value"),
        ColumnOf(
            "interval over templates and runs", "estimate.interval", ColumnKind.INTERVAL, "interval"
        ),
        ColumnOf("verdict", "estimate.verdict", ColumnKind.VERDICT),
    )
    title = f"The mean of {result.run_means[0].runs} training runs"
    return table_of("runs", result.run_means, columns, title=title)


def _failures(result: SweepResult) -> Table:
    columns = (ColumnOf("model", "model"), ColumnOf("set", "templates"), ColumnOf("error", "error"))
    return table_of("failures", result.failures, columns, title="Models that could not be probed")
