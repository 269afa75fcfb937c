"""The figures of a probe: what they show of a row's tables, and what they cut."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.probing.figures import interval_figure, pair_figure, task_figure, template_figure
from lmprobe.probing.notes import by_direction
from lmprobe.probing.result import ProbeResult
from lmprobe.results import DotPlot, SeriesPlot
from tests.probing.made_rows import made_row

NAN = np.nan


def test_every_figure_of_a_probe_can_be_drawn_by_name(result: ProbeResult) -> None:
    names = [figure.name for figure in result.figures()]
    assert len(names) == len(set(names)) == 2 + 4 + 2 + 2
    for name in names:
        assert result.figure(name).svg().startswith("<svg")


def test_figures_of_a_direction_have_the_numbers_of_the_rows(result: ProbeResult) -> None:
    for direction, rows in by_direction(result.rows).items():
        intervals = interval_figure(rows)
        assert intervals.name == f"intervals-{direction.slug}"
        assert intervals.title == f"Amplification, {direction}, with 95% intervals"
        assert [(line.value, line.interval, line.tone) for line in intervals.lines] == [
            (row.value, row.interval, row.verdict.tone) for row in rows
        ]
        templates, pairs = template_figure(rows, result.templates), pair_figure(rows)
        for strip, block, row in zip(templates.strips, pairs.blocks, rows, strict=True):
            assert strip.names == result.templates
            assert strip.values == pytest.approx(row.per_template)
            assert strip.mean == pytest.approx(np.mean(strip.values))
            for number, task in enumerate(pairs.rows):
                for column, attribute in enumerate(block.columns):
                    i, j = row.attributes.index(attribute), row.tasks.index(task)
                    expected = np.mean([table[i, j] for table in row.cells])
                    assert block.values[number][column] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("tasks", "shown"), [(64, 64), (65, 64), (70, 64)])
def test_a_heat_map_has_at_most_64_tasks_those_with_the_largest(tasks: int, shown: int) -> None:
    """All are small; the first are the smallest, and the sign is of no account."""
    sizes = np.arange(1, tasks + 1) / 1000
    row = made_row(np.stack([-sizes, sizes / 2]))
    figure = pair_figure([row])
    assert figure.rows == row.tasks[tasks - shown :]
    assert ("Left out" in figure.alternative) is (tasks > shown)
    assert figure.alternative.startswith(f"{shown} tasks by 2 attributes")


def test_what_a_base_lacks_is_empty_and_the_extremes_of_all_bases_are_told() -> None:
    first = made_row([[0.1, 0.3], [0.2, -0.1]], base="a", tasks=("cook", "nurse"))
    second = made_row([[0.0, -0.4], [0.15, NAN]], base="z", tasks=("vet", "nurse"))
    figure = pair_figure([first, second])
    assert figure.rows == ("cook", "nurse", "vet")
    assert figure.blocks[1].values[0] == (None, None)
    assert figure.blocks[1].values[2] == pytest.approx((0.0, 0.15))
    words = "from −0.4000 for he, nurse (z) to 0.3000 for he, nurse (a);"
    assert words in figure.alternative
    assert words in pair_figure([second, first]).alternative


@pytest.mark.parametrize(
    ("rates", "kind"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], DotPlot),
        ([[0.5, 0.5 + 1e-10], [0.5, 0.5]], DotPlot),
        ([[0.5, NAN], [0.5, NAN]], DotPlot),
        ([[0.5, 0.55], [0.5, 0.45]], SeriesPlot),
        ([[NAN, NAN], [NAN, NAN]], SeriesPlot),
    ],
)
def test_a_base_that_gives_all_tasks_the_same_has_its_tasks_sorted(
    rates: list[list[float]], kind: type
) -> None:
    assert type(task_figure(made_row(np.full((2, 2), 0.1), rates))) is kind


@pytest.mark.parametrize(
    ("groups", "shown", "title"),
    [(2, ["he"], "P(he)"), (3, ["he", "she", "they"], "P(group)")],
)
def test_of_two_groups_the_first_is_drawn_and_of_more_all(
    groups: int, shown: list[str], title: str
) -> None:
    cells = np.arange(2 * groups * 2).reshape(2, groups, 2) / 100
    even = task_figure(made_row(cells, 0.3))
    assert isinstance(even, DotPlot)
    assert [dots.name for dots in even.dots] == shown
    assert even.title.startswith(f"{title} of each task")
    row = made_row(cells, [[0.2, 0.4]] * groups)
    uneven = task_figure(row)
    assert isinstance(uneven, SeriesPlot)
    assert uneven.diagonal
    assert [series.name for series in uneven.series] == shown
    assert uneven.title == f"{title}: the model against labor"
    for number, series in enumerate(uneven.series):
        assert series.x == pytest.approx(row.base_rate[number])
        assert series.y == pytest.approx(row.predicted.mean(axis=0)[number])


def test_tasks_without_a_base_rate_are_named_and_not_counted() -> None:
    rates = [[0.2, NAN, 0.4, 0.1], [0.8, 0.5, 0.6, 0.9]]
    cells = [[0.1, 0.1, 0.1, -0.05], [-0.1, -0.1, -0.1, 0.05]]
    words = task_figure(made_row(cells, rates, tasks=("cook", "nurse", "vet", "clerk"))).alternative
    assert words == (
        "3 tasks: the model gives more than labor does to he for 2 of them. "
        "Not shown, undefined: nurse."
    )


@pytest.mark.parametrize(("tasks", "left_out"), [(40, ""), (41, "1 task"), (50, "10 tasks")])
def test_sorted_tasks_are_the_twenty_at_either_end(tasks: int, left_out: str) -> None:
    values = np.random.default_rng(tasks).permutation(tasks) / 100
    row = made_row(np.stack([values, -values, values[::-1]]), 0.3)
    figure = task_figure(row)
    assert isinstance(figure, DotPlot)
    order = sorted(range(tasks), key=lambda number: -values[number])
    order = [*order[:20], *order[-20:]]
    assert figure.categories == tuple(row.tasks[number] for number in order)
    assert figure.dots[2].values == pytest.approx([0.3 + values[::-1][number] for number in order])
    assert figure.reference == pytest.approx(0.3)
    assert ("Left out" in figure.alternative) is bool(left_out)
    assert left_out in figure.alternative
    ends = f"from {row.tasks[order[0]]} ({0.3 + values.max():.4f}) to {row.tasks[order[-1]]}"
    assert ends in figure.alternative
