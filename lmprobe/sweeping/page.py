"""The report of a sweep: ranks that the data allow, one forest per question, tasks, steps."""

from __future__ import annotations

from lmprobe.probing.page import verdict_counts
from lmprobe.probing.result import LIMITS
from lmprobe.results import Column, ColumnKind, Page, Section, Statement, Table
from lmprobe.results.format import format_signed, plural
from lmprobe.results.settings import command_line
from lmprobe.sweeping.figures import curve, forest, heat_map
from lmprobe.sweeping.result import Order, Question, SweepResult
from lmprobe.sweeping.row import SweepRow
from lmprobe.sweeping.runs import run_table

# Lines of all forests and cells of all heat maps on one page: more is slow to open, and the
# table and the CSV have every number.
_MOST_LINES = 1_200
_MOST_CELLS = 30_000


def sweep_page(result: SweepResult) -> Page:
    """Return the whole report of a sweep."""
    steps = bool(result.bands)
    sections = [Section("Models", text=_LEAD, tables=(all_rows(result),), searchable=True)]
    if steps:
        figures = tuple(curve(result, question) for question in result.bands)
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
    count = len(result.models)
    kinds = {"checkpoint" if steps else "model": count}
    kinds |= {"template set": len({row.templates for row in result.rows})}
    kinds |= {"base": len({row.base for row in result.rows})}
    return Page(
        title=f"{plural(count, 'checkpoint' if steps else 'model')} compared"
        if count > 1
        else f"Does {', '.join(result.models) or 'no model'} exaggerate the base rates?",
        subtitle=" · ".join(plural(number, name) for name, number in kinds.items()),
        headline=_headline(result),
        sections=tuple(section for section in sections if _says_something(section)),
        limits=LIMITS,
        topic="lmprobe sweep",
    )


_LEAD = (
    "Positive: the model exaggerates the base. The rank is a range: 1 is the lowest value, and "
    "two models whose ranges overlap cannot be told apart with these templates and tasks.",
)
_BAND = (
    "The band covers the values of all steps at once. Zero is the base: a model on it neither "
    "exaggerates nor weakens what the base says. A model without any link between groups and tasks "
    "is below zero, at the line of no association.",
)
_BRACKETS = (
    "Models beside one bracket cannot be told apart with these templates and tasks, whatever the "
    "order of their values; brackets may overlap."
)
_HEADINGS = {"templates": "set", "base": "base"}
# More statements than this are no headline.
_MOST_STATEMENTS = 6


def _says_something(section: Section) -> bool:
    return any((section.tables, section.figures, section.notes, section.commands, section.parts))


def _headline(result: SweepResult) -> tuple[Statement, ...]:
    """Return what was found for each question, or the sum of it where there are many."""
    if len(result.models) == 1 and result.rows:
        return (verdict_counts([row.estimate.verdict for row in result.rows]),)
    if len(result.orders) <= _MOST_STATEMENTS:
        make = _over_steps if result.bands else _statement
        return tuple(make(result, order) for order in result.orders)
    ranked = [order for order in result.orders if len(order.groups) > 1]
    return (
        Statement(
            f"{len(ranked)} of {len(result.orders)} questions (template set, base, direction) "
            f"tell some of {len(result.models)} models apart."
        ),
    )


def _statement(result: SweepResult, order: Order) -> Statement:
    """Return what the sweep found for one question, in one sentence."""
    if len(order.groups) == 1:
        return Statement(
            f"{_where(order)}: no two of {len(order.models)} models can be told apart."
        )
    values = {row.model: row.estimate.value for row in result.of(order.question)}
    names = result.short_names
    first, last = order.models[0], order.models[-1]
    together = [group for group in order.groups if len(group) > 1]
    rest = f"; {plural(len(together), 'group')} that cannot be told apart" if together else ""
    return Statement(
        f"{_where(order)}: from {names[first]} ({format_signed(values[first])}) to {names[last]} "
        f"({format_signed(values[last])}){rest}."
    )


def _over_steps(result: SweepResult, order: Order) -> Statement:
    first, *_, last = result.of(order.question)
    moved = not any({first.model, last.model} <= set(group) for group in order.groups)
    return Statement(
        f"{_where(order)}: from {format_signed(first.estimate.value)} at step {first.step} to "
        f"{format_signed(last.estimate.value)} at step {last.step}"
        f"{'' if moved else ', which cannot be told apart'}."
    )


def _where(order: Order) -> str:
    return f"{order.templates}, {order.base}, {order.direction}"


def all_rows(result: SweepResult) -> Table:
    """Return every row of the sweep: the table that a page lets its reader search and sort."""
    return _table("sweep", result, result.rows, question=True)


def question_tables(result: SweepResult) -> tuple[Table, ...]:
    """Return one table per question, models by value, for a terminal."""
    tables = []
    for question in result.questions:
        # A training run is read from its beginning, a choice of models from one end.
        rows = result.of(question) if result.bands else tuple(result.by_value(question))
        name = f"{question[0]}-{question[1]}-{question[2].slug}"
        tables.append(_table(name, result, rows, title=_title(question)))
    if result.run_means:
        tables.append(run_table(result.run_means))
    return (*tables, *((failures(result),) if result.failures else ()))


def _title(question: Question) -> str:
    return f"{question[2]}, {question[1]}, {question[0]}: {question[2].question}"


def _table(
    name: str,
    result: SweepResult,
    rows: tuple[SweepRow, ...],
    *,
    question: bool = False,
    title: str = "",
) -> Table:
    orders = {order.question: order for order in result.orders}
    asked = [Column("direction", ColumnKind.DIRECTION)]
    # A column that says the same in every row takes room from those that do not.
    sets, bases = ({getattr(row, name) for row in rows} for name in ("templates", "base"))
    several = (*(("templates",) * (len(sets) > 1)), *(("base",) * (len(bases) > 1)))
    asked = [*(Column(_HEADINGS[name]) for name in several), *asked]
    measured = any(row.perplexity is not None for row in rows)
    columns = (
        Column("model"),
        *(asked if question else ()),
        Column("value", ColumnKind.SIGNED),
        Column("interval", ColumnKind.INTERVAL),
        Column("verdict", ColumnKind.VERDICT),
        # A range such as 2–5 is written as it is, and sorted by its first number.
        *((Column("rank", ColumnKind.COUNT), Column("group", essential=False)) if orders else ()),
        Column("association", ColumnKind.SIGNED, essential=False),
        Column("mass", ColumnKind.PERCENT, key="candidate_mass", essential=False),
        *((Column("perplexity", ColumnKind.NUMBER, essential=False),) if measured else ()),
    )
    cells = []
    names = result.short_names
    for row in rows:
        order = orders.get(row.question)
        cells.append(
            (
                names[row.model],
                *((*(getattr(row, name) for name in several), row.direction) if question else ()),
                row.estimate.claimed,
                row.estimate.interval,
                row.estimate.verdict,
                *((_rank(row), order and order.letters(row.model)) if orders else ()),
                None if row.association is None else row.association.value,
                row.candidate_mass,
                *((row.perplexity,) if measured else ()),
            )
        )
    return Table(name, columns, tuple(cells), title=title)


def _rank(row: SweepRow) -> int | str | None:
    if row.ranks is None:
        return None
    low, high = row.ranks
    return low if low == high else f"{low}–{high}"


def failures(result: SweepResult) -> Table:
    """Return the models that could not be probed, and why."""
    columns = (Column("model"), Column("set"), Column("error"))
    rows = tuple((one.model, one.templates, one.error) for one in result.failures)
    return Table("failures", columns, rows, title="could not be probed")


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
    from lmprobe.probing.settings import ProbeSettings
    from lmprobe.results.settings import from_mapping
    from lmprobe.sweeping.settings import SweepSettings

    chosen = result.provenance["settings"]
    words = [] if chosen.get("checkpoints") else _models(result)
    for flag, key in (("--templates", "templates"), ("--base", "base")):
        for name in chosen.get(key, ()):
            words += [flag, name]
    return command_line(
        "sweep",
        words,
        from_mapping(SweepSettings, chosen).words(),
        from_mapping(ProbeSettings, chosen).words(),
        ["--output", "sweep"],
    )


def _models(result: SweepResult) -> list[str]:
    names = [*result.models, *(one.model for one in result.failures)]
    if result.provenance["settings"].get("revisions"):
        names = [name.rpartition("@")[0] for name in names]
    return list(dict.fromkeys(names))
