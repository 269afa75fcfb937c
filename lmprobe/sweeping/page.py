"""The report of a sweep: ranks that the data allow, one forest per question, tasks, steps."""

from __future__ import annotations

from lmprobe.probing.page import LIMITS, verdict_counts
from lmprobe.probing.settings import ModelSettings, ProbeSettings
from lmprobe.results import Page, Section, Statement
from lmprobe.results.format import format_signed, plural
from lmprobe.results.settings import command_line, from_mapping
from lmprobe.sweeping.figures import curve, forest, heat_map
from lmprobe.sweeping.result import Order, Question, SweepResult
from lmprobe.sweeping.settings import SweepSettings
from lmprobe.sweeping.tables import all_rows, failures, run_table

# Lines of all forests and cells of all heat maps on one page: more is slow to open, and the
# table and the CSV have every number.
_MOST_LINES = 1_200
_MOST_CELLS = 30_000


def sweep_page(result: SweepResult) -> Page:
    """Return the whole report of a sweep."""
    sections = [Section("Models", text=_lead(result), tables=(all_rows(result),), searchable=True)]
    if result.curves:
        figures = tuple(curve(result, one) for one in result.curves)
        sections.append(Section("Over the training run", text=_BAND, figures=figures))
    if result.run_means:
        sections.append(Section("Over training runs", tables=(run_table(result.run_means),)))
    sections += [_forests(result), _tasks(result)]
    if result.failures:
        sections.append(Section("Models that could not be probed", tables=(failures(result),)))
    sections += [
        Section("Notes", notes=result.notes),
        Section("Run it again", commands=(_again(result),)),
    ]
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
        sections=tuple(section for section in sections if _says_something(section)),
        limits=LIMITS,
        topic="lmprobe sweep",
    )


def _lead(result: SweepResult) -> tuple[str, ...]:
    sign = "Positive: the model exaggerates the base."
    if not result.orders:
        return (sign,)
    return (
        f"{sign} The rank is the range that the data allow, 1 being the lowest value. Models that "
        "share a letter cannot be told apart with these templates and tasks; all others can.",
    )


_BAND = (
    "The band covers the values of all steps at once. Zero is the base: a model on it neither "
    "exaggerates nor weakens what the base says. A model without any link between groups and tasks "
    "is below zero, at the line of no association.",
)
_BRACKETS = (
    "Models beside one bracket cannot be told apart with these templates and tasks, whatever the "
    "order of their values; brackets may overlap, and pass by a model along dots. Models that no "
    "bracket joins can be told apart."
)
# More statements than this are no headline.
_MOST_STATEMENTS = 6


def _says_something(section: Section) -> bool:
    return any((section.tables, section.figures, section.notes, section.commands, section.parts))


def _headline(result: SweepResult) -> tuple[Statement, ...]:
    """Return what was found for each question, or the sum of it where there are many."""
    if len(result.models) == 1:
        return (verdict_counts([row.estimate.verdict for row in result.rows]),)
    if len(result.orders) <= _MOST_STATEMENTS:
        make = _first_to_last if result.over_steps else _lowest_to_highest
        return tuple(make(result, order) for order in result.orders)
    ranked = [order for order in result.orders if len(order.groups) > 1]
    return (
        Statement(
            f"{len(ranked)} of {len(result.orders)} questions (template set, base, direction) "
            f"tell some of {len(result.models)} models apart."
        ),
    )


def _lowest_to_highest(result: SweepResult, order: Order) -> Statement:
    """Return what the sweep found for one question, in one sentence."""
    where = _where(order.question)
    if len(order.groups) == 1:
        return Statement(f"{where}: no two of {len(order.models)} models can be told apart.")
    claimed = {row.model: row.estimate.claimed for row in result.of(order.question)}
    names = result.short_names
    first, last = (
        f"{names[model]} ({format_signed(claimed[model])})"
        for model in (order.models[0], order.models[-1])
    )
    together = sum(len(group) > 1 for group in order.groups)
    rest = "all can be told apart"
    if together:
        rest = f"{plural(together, 'group')} of models that cannot be told apart"
    return Statement(f"{where}: from {first} to {last}; {rest}.")


def _first_to_last(result: SweepResult, order: Order) -> Statement:
    rows = {row.model: row for row in result.of(order.question)}
    (steps,) = (one.models for one in result.curves if one.question == order.question)
    first, last = rows[steps[0]], rows[steps[-1]]
    moved = order.separates(first.model, last.model)
    return Statement(
        f"{_where(order.question)}: from {format_signed(first.estimate.claimed)} at step "
        f"{first.step:,} to {format_signed(last.estimate.claimed)} at step {last.step:,}"
        f"{'' if moved else ', which cannot be told apart'}."
    )


def _where(question: Question) -> str:
    return f"{question.templates}, {question.base}, {question.direction}"


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
        text=_left_out(result, len(figures)),
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
