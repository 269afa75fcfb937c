"""The tables of a sweep: models with what was found of each, and those that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lmprobe.results import Cell, Column, ColumnKind, Table
from lmprobe.sweeping.result import Question, RunMean, SweepResult, SweepRow

Filled = tuple[Column, Callable[[SweepRow], Cell]]
"""A column, and what it says of a row."""


def all_rows(result: SweepResult) -> Table:
    """Return every row of the sweep: the table that a page lets its reader search and sort."""
    rows = tuple(row for question in result.questions for row in _in_order(result, question))
    return _table("sweep", result, rows, question=True)


def question_tables(result: SweepResult) -> tuple[Table, ...]:
    """Return one table per question, models by value, for a terminal."""
    tables = [
        _table(question.slug, result, _in_order(result, question), title=_title(question))
        for question in result.questions
    ]
    if result.run_means:
        tables.append(run_table(result.run_means))
    return (*tables, *((failures(result),) if result.failures else ()))


def _in_order(result: SweepResult, question: Question) -> tuple[SweepRow, ...]:
    """Return the rows of a question: a training run from its beginning, models by value."""
    return result.of(question) if result.over_steps else tuple(result.by_value(question))


def _title(question: Question) -> str:
    direction = question.direction
    return f"{direction}, {question.base}, {question.templates}: {direction.question}"


def _table(
    name: str,
    result: SweepResult,
    rows: tuple[SweepRow, ...],
    *,
    question: bool = False,
    title: str = "",
) -> Table:
    columns = [
        *_names(result, rows, question=question),
        (Column("value", ColumnKind.SIGNED), lambda row: row.estimate.claimed),
        (Column("interval", ColumnKind.INTERVAL), lambda row: row.estimate.interval),
        (Column("verdict", ColumnKind.VERDICT), lambda row: row.estimate.verdict),
        *_ranks(result),
        (
            Column("association", ColumnKind.SIGNED, essential=False),
            lambda row: row.association and row.association.value,
        ),
        (
            Column("mass", ColumnKind.PERCENT, "candidate_mass", False),
            lambda row: row.candidate_mass,
        ),
    ]
    if any(row.perplexity is not None for row in rows):
        columns.append((Column("perplexity", ColumnKind.NUMBER, essential=False), _perplexity))
    cells = tuple(tuple(cell(row) for _, cell in columns) for row in rows)
    return Table(name, tuple(column for column, _ in columns), cells, title=title)


def _names(result: SweepResult, rows: Sequence[SweepRow], *, question: bool) -> Iterator[Filled]:
    """Yield the columns that name a row; one with the same word in every row says nothing."""
    names = result.short_names
    yield Column("model"), lambda row: names[row.model]
    if question and len({row.templates for row in rows}) > 1:
        yield Column("set"), lambda row: row.templates
    if question and len({row.base for row in rows}) > 1:
        yield Column("base"), lambda row: row.base
    if question:
        yield Column("direction", ColumnKind.DIRECTION), lambda row: row.direction


def _ranks(result: SweepResult) -> Iterator[Filled]:
    """Yield the columns of the order of the models, where there is one."""
    letters = {
        (order.question, model): order.letters(model)
        for order in result.orders
        for model in order.models
    }
    if letters:
        # A range such as 2–5 is written as it is, and sorted by its first number.
        yield Column("rank", ColumnKind.COUNT), _rank
        yield Column("group", essential=False), lambda row: letters.get((row.question, row.model))


def _rank(row: SweepRow) -> int | str | None:
    if row.ranks is None:
        return None
    low, high = row.ranks
    return low if low == high else f"{low}–{high}"


def _perplexity(row: SweepRow) -> str | None:
    """Return three digits: more say nothing of a model."""
    if row.perplexity is None:
        return None
    return f"{row.perplexity:,.0f}" if row.perplexity >= 100 else f"{row.perplexity:.3g}"


def run_table(means: Sequence[RunMean]) -> Table:
    """Return the mean over runs of each template set, base and direction."""
    columns = (
        Column("set"),
        Column("base"),
        Column("direction", ColumnKind.DIRECTION),
        Column("mean", ColumnKind.SIGNED, "value"),
        Column("interval over templates and runs", ColumnKind.INTERVAL, "interval"),
        Column("verdict", ColumnKind.VERDICT),
    )
    rows = tuple(
        (
            *mean.question,
            mean.estimate.claimed,
            mean.estimate.interval,
            mean.estimate.verdict,
        )
        for mean in means
    )
    return Table("runs", columns, rows, title=f"The mean of {means[0].runs} training runs")


def failures(result: SweepResult) -> Table:
    """Return the models that could not be probed, and why."""
    columns = (Column("model"), Column("set"), Column("error"))
    rows = tuple((failure.model, failure.templates, failure.error) for failure in result.failures)
    return Table("failures", columns, rows, title="could not be probed")
