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
    for rows in by_direction(result.rows).values():
        intervals = interval_figure(rows)
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


def test_a_heat_map_has_at_most_64_tasks_those_with_the_largest() -> None:
    """The first are the smallest, and the sign is of no account."""
    sizes = np.arange(1, 71) / 1000
    row = made_row(np.stack([-sizes, sizes / 2]))
    figure = pair_figure([row])
    assert figure.rows == row.tasks[70 - 64 :]
    assert "Left out" in figure.alternative


def test_what_a_base_lacks_is_empty() -> None:
    first = made_row([[0.1, 0.3], [0.2, -0.1]], base="a", tasks=("cook", "nurse"))
    second = made_row([[0.0, -0.4], [0.15, NAN]], base="z", tasks=("vet", "nurse"))
    figure = pair_figure([first, second])
    assert figure.rows == ("cook", "nurse", "vet")
    assert figure.blocks[1].values[0] == (None, None)
    assert figure.blocks[1].values[2] == pytest.approx((0.0, 0.15))


@pytest.mark.parametrize(("groups", "shown"), [(2, ["he"]), (3, ["he", "she", "they"])])
def test_of_two_groups_the_first_is_drawn_and_of_more_all(groups: int, shown: list[str]) -> None:
    cells = np.arange(2 * groups * 2).reshape(2, groups, 2) / 100
    even = task_figure(made_row(cells, 0.3))
    assert isinstance(even, DotPlot)
    assert [dots.name for dots in even.dots] == shown
    row = made_row(cells, [[0.2, 0.4]] * groups)
    uneven = task_figure(row)
    assert isinstance(uneven, SeriesPlot)
    assert [series.name for series in uneven.series] == shown
    for number, series in enumerate(uneven.series):
        assert series.x == pytest.approx(row.base_rate[number])
        assert series.y == pytest.approx(row.predicted.mean(axis=0)[number])


def test_tasks_without_a_base_rate_are_named_and_not_counted() -> None:
    rates = [[0.2, NAN, 0.4, 0.1], [0.8, 0.5, 0.6, 0.9]]
    cells = [[0.1, 0.1, 0.1, -0.05], [-0.1, -0.1, -0.1, 0.05]]
    words = task_figure(made_row(cells, rates, tasks=("cook", "nurse", "vet", "clerk"))).alternative
    assert "he for 2 of them. Not shown, undefined: nurse." in words
