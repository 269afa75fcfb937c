"""The figures of a probe: what they show of a row's tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lmprobe.probing.figures import (
    MOST_TASKS,
    interval_figure,
    pair_figure,
    task_figure,
    template_figure,
)
from lmprobe.probing.notes import by_direction
from lmprobe.probing.result import ProbeResult
from lmprobe.results import DotPlot, SeriesPlot


def test_the_intervals_are_those_of_the_rows(result: ProbeResult) -> None:
    for rows in by_direction(result.rows).values():
        content = interval_figure(rows)
        assert [(one.value, one.interval) for one in content.lines] == [
            (row.value, row.interval) for row in rows
        ]
        assert [one.tone for one in content.lines] == [row.verdict.tone for row in rows]
        assert all(row.base in content.alternative for row in rows)


def test_a_strip_has_every_template(result: ProbeResult) -> None:
    rows = by_direction(result.rows)["task->attribute"]
    content = template_figure(rows, result.templates)
    for strip, row in zip(content.strips, rows, strict=True):
        assert strip.names == result.templates
        assert strip.values == pytest.approx(row.per_template)
        assert strip.mean == pytest.approx(np.mean(strip.values))


def test_the_heat_map_has_the_mean_of_every_pair(result: ProbeResult) -> None:
    rows = by_direction(result.rows)["attribute->task"]
    content = pair_figure(rows)
    for block, row in zip(content.blocks, rows, strict=True):
        for number, task in enumerate(content.rows):
            for column, attribute in enumerate(block.columns):
                i, j = row.attributes.index(attribute), row.tasks.index(task)
                expected = np.mean([table[i, j] for table in row.cells])
                assert block.values[number][column] == pytest.approx(expected, nan_ok=True)


def test_a_heat_map_of_many_tasks_keeps_the_largest(made: Callable[..., ProbeResult]) -> None:
    many = made(tasks=[f"task {number}" for number in range(100)], bases=["labor"])
    rows = by_direction(many.rows)["task->attribute"]
    content = pair_figure(rows)
    assert len(content.rows) == MOST_TASKS
    assert f"Left out: {100 - MOST_TASKS} tasks with the smallest." in content.alternative
    assert rows[0].tasks[int(np.abs(rows[0].by_pair).max(axis=0).argmax())] in content.rows


def test_of_two_groups_one_is_drawn_against_the_base(result: ProbeResult) -> None:
    row = result.row("wikipedia", "task->attribute")
    content = task_figure(row)
    assert isinstance(content, SeriesPlot)
    assert content.diagonal
    (series,) = content.series
    assert series.y == pytest.approx(row.predicted.mean(axis=0)[0])
    assert series.labels == row.tasks
    assert "undefined: writer" in content.alternative


def test_of_four_groups_all_are_drawn(made: Callable[..., ProbeResult]) -> None:
    groups = ("he", "she", "they", "xe")
    row = made(attributes=groups).row("labor", "task->attribute")
    content = task_figure(row)
    assert isinstance(content, SeriesPlot)
    assert tuple(series.name for series in content.series) == groups
    for number, series in enumerate(content.series):
        assert series.x == pytest.approx(row.base_rate[number])
        assert series.y == pytest.approx(row.predicted.mean(axis=0)[number])


def test_against_the_same_for_all_the_tasks_are_sorted(made: Callable[..., ProbeResult]) -> None:
    row = made(attributes=("he", "she", "they")).row("uniform", "task->attribute")
    content = task_figure(row)
    assert isinstance(content, DotPlot)
    assert content.reference == pytest.approx(1 / 3)
    assert list(content.dots[0].values) == sorted(content.dots[0].values, reverse=True)
    assert {dots.name for dots in content.dots} == {"he", "she", "they"}
    task = content.categories[0]
    mean = row.predicted.mean(axis=0)
    assert content.dots[2].values[0] == pytest.approx(mean[2, row.tasks.index(task)])


def test_every_figure_of_a_probe_can_be_drawn_by_name(result: ProbeResult) -> None:
    names = [figure.name for figure in result.figures()]
    assert len(names) == len(set(names)) == 2 + 4 + 2 + 2
    for name in names:
        assert result.figure(name).svg().startswith("<svg")
