"""The figures of a sweep: a forest of models, models x tasks, a curve over training steps."""

from __future__ import annotations

from collections.abc import Sequence

from lmprobe.results import Interval
from lmprobe.results.content import (
    Bracket,
    HeatBlock,
    HeatMap,
    IntervalLine,
    IntervalPlot,
    Series,
    SeriesPlot,
    Sides,
)
from lmprobe.results.format import format_signed, plural
from lmprobe.sweeping.result import Order, Question, SweepResult, SweepRow, TrainingCurve

# A forest with more lines is drawn as its two ends: nobody reads the middle.
_MOST_LINES = 60
# Beyond so many models they are the rows of a heat map: a page is long rather than wide.
_MOST_COLUMNS = 10
# Steps that differ by a larger factor need a logarithmic axis.
_WIDE = 30.0


def forest(result: SweepResult, question: Question) -> IntervalPlot:
    """Return the models of one question by value, brackets around those that are not separated."""
    rows = shown = result.by_value(question)
    left = ""
    if len(rows) > _MOST_LINES:
        shown = [*rows[: _MOST_LINES // 2], *rows[-_MOST_LINES // 2 :]]
        left = f", the {len(shown)} at the ends of {len(rows)}"
    order = result.order(question)
    groups = 0 if order is None else sum(len(group) > 1 for group in order.groups)
    names = result.short_names
    return IntervalPlot(
        name=f"forest-{question.slug}",
        title=f"{_where(question)}{left}",
        alternative=(
            f"{plural(len(rows), 'model')} from {_named(rows[0])} to {_named(rows[-1])}, with "
            f"{plural(groups, 'group')} of models that cannot be told apart."
        ),
        lines=tuple(
            IntervalLine(
                names[row.model],
                row.estimate.claimed,
                row.estimate.interval,
                row.estimate.verdict.tone,
            )
            for row in shown
        ),
        sides=Sides("weakens the base", "exaggerates it"),
        brackets=() if order is None else _brackets(order, [row.model for row in shown]),
    )


def _named(row: SweepRow) -> str:
    return f"{row.model} ({format_signed(row.estimate.claimed)})"


def _brackets(order: Order, shown: Sequence[str]) -> tuple[Bracket, ...]:
    """Return the groups of several models that have a member among the lines shown."""
    place = {model: number for number, model in enumerate(shown)}
    return tuple(
        Bracket(
            lines, f"group {order.letter(group)}: {len(group)} models that cannot be told apart"
        )
        for group in order.groups
        if len(group) > 1
        and (lines := tuple(sorted(place[model] for model in group if model in place)))
    )


def heat_map(result: SweepResult, question: Question) -> HeatMap:
    """Return the amplification of every task by every model."""
    rows = result.by_value(question)
    tasks = list(dict.fromkeys(task for row in rows for task in row.by_task))
    sizes = [
        (abs(value), row.model, task)
        for row in rows
        for task, value in row.by_task.items()
        if value is not None
    ]
    largest = max(sizes, default=(0.0, "none", "none"))
    names = result.short_names
    models = [names[row.model] for row in rows]
    cells = tuple(tuple(_cell(row, task) for task in tasks) for row in rows)
    down, across = models, tasks
    if len(models) <= _MOST_COLUMNS:
        down, across, cells = tasks, models, tuple(zip(*cells, strict=True))
    return HeatMap(
        name=f"tasks-{question.slug}",
        title=f"{_where(question)}: models and tasks",
        alternative=(
            f"{len(rows)} models x {len(tasks)} tasks; the largest, {largest[0]:.4f} in size, is "
            f"{largest[2]} of {largest[1]}."
        ),
        rows=tuple(down),
        blocks=(HeatBlock(title="", columns=tuple(across), values=cells),),
    )


def _cell(row: SweepRow, task: str) -> float | None:
    """Return the number of a task, NaN where it is undefined, None where the model lacks it."""
    if task not in row.by_task:
        return None
    value = row.by_task[task]
    return float("nan") if value is None else value


def training_figure(result: SweepResult, run: TrainingCurve) -> SeriesPlot:
    """Return the value over training steps with its simultaneous band, and what it may reach."""
    own = {row.model: row for row in result.of(run.question)}
    rows = [own[model] for model in run.models]
    steps = tuple(float(row.step or 0) for row in rows)
    ends = [_ends(interval, row) for interval, row in zip(run.band, rows, strict=True)]
    value = Series(
        name="value",
        x=steps,
        y=tuple(row.estimate.value for row in rows),
        labels=tuple(f"step {row.step:,}" for row in rows),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        style="band",
    )
    series = [value]
    if all(row.association is not None for row in rows):
        parts = tuple(row.association.value for row in rows if row.association is not None)
        labels = tuple(f"association, step {row.step:,}" for row in rows)
        series.append(Series("association", steps, parts, labels, style="line"))
    series += [
        Series(f"{name} ({format_signed(level)})", steps, (level,) * len(steps), style="dashed")
        for name, level in ({"the base": 0.0} | dict(run.levels)).items()
    ]
    runs = list(dict.fromkeys(curve.run for curve in result.curves))
    number = f"-{runs.index(run.run) + 1}" if len(runs) > 1 else ""
    which = f"{run.run}, " if len(runs) > 1 else ""
    return SeriesPlot(
        name=f"steps-{run.question.slug}{number}",
        title=f"{which}{_where(run.question)} over training",
        alternative=(
            f"From {format_signed(rows[0].estimate.value)} at step {rows[0].step:,} to "
            f"{format_signed(rows[-1].estimate.value)} at step {rows[-1].step:,}."
        ),
        x_label="training step",
        y_label="amplification",
        series=tuple(series),
        x_scale="log" if steps[0] > 0 and steps[-1] > _WIDE * steps[0] else "linear",
    )


def _ends(interval: Interval, row: SweepRow) -> tuple[float, float]:
    return (interval.low, interval.high) if interval.bounded else (row.estimate.value,) * 2


def _where(question: Question) -> str:
    return f"{question.direction}, {question.base} ({question.templates})"
