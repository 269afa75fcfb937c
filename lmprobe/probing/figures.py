"""The figures of a probe: intervals, templates, tasks and pairs, as content to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lmprobe.results import (
    DotPlot,
    Dots,
    HeatBlock,
    HeatMap,
    IntervalLine,
    IntervalPlot,
    Series,
    SeriesPlot,
    Sides,
    Strip,
    StripPlot,
)
from lmprobe.results.format import (
    describe_interval,
    format_number,
    format_percent,
    format_signed,
    listed,
    plural,
)

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeRow

SIDES = Sides("weakens", "exaggerates")
MOST_TASKS = 64
"""More tasks than this are cut to those with the largest amplification."""
_MOST_DOTS = 40


def interval_figure(rows: Sequence[ProbeRow]) -> IntervalPlot:
    """Return the values of one direction with their intervals, a line per base."""
    direction = rows[0].direction
    level = format_percent(rows[0].interval.confidence)
    words = listed(
        f"compared with {row.base}, the model {row.verdict.predicate.format(base=row.base)} "
        f"({format_signed(row.value)}, {describe_interval(row.interval)})"
        for row in rows
    )
    return IntervalPlot(
        name=f"intervals-{direction.slug}",
        title=f"Amplification, {direction}, with {level} intervals",
        alternative=f"{words}.",
        lines=tuple(
            IntervalLine(row.base, row.value, row.interval, row.verdict.tone) for row in rows
        ),
        sides=SIDES,
    )


def template_figure(rows: Sequence[ProbeRow], templates: Sequence[str]) -> StripPlot:
    """Return the value of every template, a strip per base."""
    direction = rows[0].direction
    words = listed(
        f"compared with {row.base}, {format_number(row.per_template.min())} to "
        f"{format_number(row.per_template.max())} with a standard deviation of "
        f"{format_number(row.template_sd)}"
        for row in rows
    )
    return StripPlot(
        name=f"templates-{direction.slug}",
        title=f"Each template's value, {direction}",
        alternative=f"The values of {plural(len(templates), 'template')}: {words}.",
        strips=tuple(
            Strip(row.base, tuple(row.per_template.tolist()), tuple(templates), row.value)
            for row in rows
        ),
        sides=SIDES,
    )


def pair_figure(rows: Sequence[ProbeRow]) -> HeatMap:
    """Return the amplification of every pair, tasks down, a block of attributes per base."""
    direction = rows[0].direction
    tasks, left_out = _largest_tasks(rows)
    cut = f" Left out: {plural(left_out, 'task')} with the smallest." if left_out else ""
    columns = sum(len(row.attributes) for row in rows)
    return HeatMap(
        name=f"pairs-{direction.slug}",
        title=f"Amplification of each pair, {direction}",
        alternative=(
            f"{plural(len(tasks), 'task')} by {columns} attributes and bases, mean over templates, "
            f"from {_extreme(rows, largest=False)} to {_extreme(rows, largest=True)}; the numbers "
            f"are in the table of pairs.{cut}"
        ),
        rows=tuple(tasks),
        blocks=tuple(_block(row, tasks) for row in rows),
    )


def task_figure(row: ProbeRow) -> SeriesPlot | DotPlot:
    """Return what the model gives each attribute for every task, against the base.

    Figure 5 of Wang & Russakovsky 2021: on the diagonal the model says what the base says.
    Against a base that gives all tasks the same, such a plot is a vertical line of points;
    the tasks are sorted by what the model gives instead.
    """
    base = row.base_rate[np.isfinite(row.base_rate)]
    if base.size and float(np.ptp(base)) < 1e-9:
        return _sorted_tasks(row, float(base.min()))
    return _scatter(row)


def _shown(row: ProbeRow) -> list[int]:
    """Return the attributes to draw: of two, the second is one minus the first."""
    return [0] if len(row.attributes) == 2 else list(range(len(row.attributes)))


def _group(row: ProbeRow) -> str:
    return row.attributes[0] if len(_shown(row)) == 1 else "group"


def _scatter(row: ProbeRow) -> SeriesPlot:
    model, group = row.predicted.mean(axis=0), _group(row)
    unknown = [
        task
        for number, task in enumerate(row.tasks)
        if not np.isfinite(row.base_rate[:, number]).all()
    ]
    missing = f" Not shown, undefined: {listed(unknown)}." if unknown else ""
    above = listed(
        f"{row.attributes[one]} for {int((model[one] > row.base_rate[one]).sum())}"
        for one in _shown(row)
    )
    return SeriesPlot(
        name=f"tasks-{row.base}",
        title=f"P({group}): the model against {row.base}",
        alternative=(
            f"{plural(len(row.tasks) - len(unknown), 'task')}: the model gives more than "
            f"{row.base} does to {above} of them.{missing}"
        ),
        x_label=f"P({group} | task) in {row.base}",
        y_label=f"P({group} | task) by the model",
        series=tuple(
            Series(
                name=row.attributes[one],
                x=tuple(row.base_rate[one].tolist()),
                y=tuple(model[one].tolist()),
                labels=row.tasks,
                style="points",
            )
            for one in _shown(row)
        ),
        diagonal=True,
    )


def _sorted_tasks(row: ProbeRow, even: float) -> DotPlot:
    model, group = row.predicted.mean(axis=0), _group(row)
    order = np.argsort(-model[0], kind="stable")
    left_out = max(0, len(order) - _MOST_DOTS)
    if left_out:
        half = _MOST_DOTS // 2
        order = np.concatenate([order[:half], order[-half:]])
    cut = f" Left out: {plural(left_out, 'task')} between." if left_out else ""
    ends = [f"{row.tasks[one]} ({format_number(model[0, one])})" for one in (order[0], order[-1])]
    return DotPlot(
        name=f"tasks-{row.base}",
        title=f"P({group}) of each task by the model, {row.base} the same for all",
        alternative=(
            f"The model gives {row.attributes[0]} from {ends[0]} to {ends[1]}; {row.base} gives "
            f"{format_number(even)} to every task.{cut}"
        ),
        categories=tuple(row.tasks[one] for one in order),
        dots=tuple(
            Dots(row.attributes[one], tuple(model[one, order].tolist())) for one in _shown(row)
        ),
        x_label=f"P({group} | task) by the model",
        reference=even,
        reference_label=row.base,
    )


def _largest_tasks(rows: Sequence[ProbeRow]) -> tuple[list[str], int]:
    """Return the tasks to draw, in their order, and how many are left out."""
    size: dict[str, float] = {}
    for row in rows:
        largest = np.nan_to_num(np.abs(row.by_pair)).max(axis=0)
        for task, one in zip(row.tasks, largest, strict=True):
            size[task] = max(size.get(task, 0.0), float(one))
    chosen = set(sorted(size, key=lambda task: -size[task])[:MOST_TASKS])
    return [task for task in size if task in chosen], len(size) - len(chosen)


def _block(row: ProbeRow, tasks: Sequence[str]) -> HeatBlock:
    number = {task: index for index, task in enumerate(row.tasks)}
    values = row.by_pair
    empty = (None,) * len(row.attributes)
    return HeatBlock(
        row.base,
        row.attributes,
        tuple(
            tuple(values[:, number[task]].tolist()) if task in number else empty for task in tasks
        ),
    )


def _extreme(rows: Sequence[ProbeRow], *, largest: bool) -> str:
    """Return the largest or smallest pair in words."""
    found = []
    for row in rows:
        values = row.by_pair
        flat = int(np.nanargmax(values) if largest else np.nanargmin(values))
        attribute, task = divmod(flat, len(row.tasks))
        pair = f"{row.attributes[attribute]}, {row.tasks[task]} ({row.base})"
        found.append((float(values.ravel()[flat]), pair))
    value, pair = (max if largest else min)(found, key=lambda one: one[0])
    return f"{format_number(value)} for {pair}"
