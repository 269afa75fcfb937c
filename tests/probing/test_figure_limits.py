"""The figures of a probe where they cut, sort, group or leave something out."""

from __future__ import annotations

import numpy as np
import pytest

from lmprobe.core.direction import Direction
from lmprobe.probing.figures import interval_figure, pair_figure, task_figure, template_figure
from lmprobe.results import DotPlot, SeriesPlot
from tests.probing.made_rows import made_row

NAN = np.nan


def test_a_figure_of_one_base_has_its_direction_and_its_level() -> None:
    row = made_row(np.full((2, 3), 0.1), direction=Direction.ATTRIBUTE_TO_TASK, confidence=0.9)
    found = interval_figure([row])
    assert found.name == "intervals-attribute_to_task"
    assert found.title == "Amplification, attribute->task, with 90% intervals"
    strips = template_figure([row], ("a", "b"))
    assert (strips.name, len(strips.strips)) == ("templates-attribute_to_task", 1)
    assert pair_figure([row]).name == "pairs-attribute_to_task"


@pytest.mark.parametrize(("tasks", "shown"), [(63, 63), (64, 64), (65, 64), (70, 64)])
def test_a_heat_map_has_at_most_64_tasks_those_with_the_largest(tasks: int, shown: int) -> None:
    """All are small; the first are the smallest, and the sign is of no account."""
    sizes = np.arange(1, tasks + 1) / 1000
    row = made_row(np.stack([-sizes, sizes / 2]))
    found = pair_figure([row])
    assert found.rows == row.tasks[tasks - shown :]
    left_out = tasks - shown
    assert ("Left out" in found.alternative) is (left_out > 0)
    assert (f"Left out: {left_out} task" in found.alternative) is (left_out > 0)
    assert found.alternative.startswith(f"{shown} tasks by 2 attributes")


def test_the_largest_of_any_base_decides_and_what_a_base_lacks_is_empty() -> None:
    """65 tasks: the first is large in the second base alone, the last has the smallest there."""
    sizes = np.full((2, 64), 0.05)
    sizes[:, 0] = 0.01
    first = made_row(sizes, tasks=tuple(f"t{n}" for n in range(64)))
    second = made_row([[0.2, 0.001], [0.1, NAN], [0.1, 0.0]], base="corpus", tasks=("t0", "last"))
    found = pair_figure([first, second])
    assert found.rows == first.tasks, "last is left out"
    one, other = found.blocks
    assert (one.columns, other.columns) == (("he", "she"), ("he", "she", "they"))
    assert one.values[0] == pytest.approx((0.01, 0.01))
    assert other.values[0] == pytest.approx((0.2, 0.1, 0.1))
    assert other.values[1:] == ((None, None, None),) * 63
    assert "64 tasks by 5 attributes and bases" in found.alternative


def test_the_extremes_of_all_bases_are_told() -> None:
    first = made_row([[0.1, 0.3], [0.2, -0.1]], base="a", tasks=("cook", "nurse"))
    second = made_row([[0.0, -0.4], [0.15, NAN]], base="z", tasks=("vet", "clerk"))
    words = pair_figure([first, second]).alternative
    assert "from −0.4000 for he, clerk (z) to 0.3000 for he, nurse (a);" in words
    words = pair_figure([second, first]).alternative
    assert "from −0.4000 for he, clerk (z) to 0.3000 for he, nurse (a);" in words


@pytest.mark.parametrize(
    ("rates", "kind"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], DotPlot),
        ([[0.5, 0.5 + 1e-10], [0.5, 0.5]], DotPlot),
        ([[0.5, NAN], [0.5, NAN]], DotPlot),
        ([[0.0, 1e-9], [0.0, 0.0]], SeriesPlot),
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
    uneven = task_figure(made_row(cells, [[0.2, 0.4]] * groups))
    assert isinstance(uneven, SeriesPlot)
    assert [series.name for series in uneven.series] == shown
    assert uneven.title == f"{title}: the model against labor"
    # The mean over the templates, not over the groups.
    means = cells[:, 0].mean(axis=0)
    assert uneven.series[0].y == pytest.approx([0.2 + means[0], 0.4 + means[1]])


def test_tasks_without_a_base_rate_are_named_and_not_counted() -> None:
    rates = [[0.2, NAN, 0.4, 0.1], [0.8, 0.5, 0.6, 0.9]]
    cells = [[0.1, 0.1, 0.1, -0.05], [-0.1, -0.1, -0.1, 0.05]]
    words = task_figure(made_row(cells, rates, tasks=("cook", "nurse", "vet", "clerk"))).alternative
    assert words == (
        "3 tasks: the model gives more than labor does to he for 2 of them. "
        "Not shown, undefined: nurse."
    )
    complete = task_figure(made_row(cells, np.nan_to_num(rates)))
    assert "Not shown" not in complete.alternative


@pytest.mark.parametrize("tasks", [3, 39, 40])
def test_up_to_forty_tasks_are_sorted_by_what_the_first_group_gets(tasks: int) -> None:
    values = np.random.default_rng(tasks).permutation(tasks) / 100
    row = made_row(np.stack([values, -values, values[::-1]]), 0.3)
    found = task_figure(row)
    assert isinstance(found, DotPlot)
    order = sorted(range(tasks), key=lambda n: -values[n])
    assert found.categories == tuple(row.tasks[n] for n in order)
    assert found.dots[0].values == pytest.approx([0.3 + values[n] for n in order])
    assert found.dots[2].values == pytest.approx([0.3 + values[::-1][n] for n in order])
    assert found.reference == pytest.approx(0.3)
    assert "Left out" not in found.alternative
    first, last = row.tasks[order[0]], row.tasks[order[-1]]
    ends = f"from {first} ({0.3 + values.max():.4f}) to {last} ({0.3 + values.min():.4f});"
    assert ends in found.alternative


@pytest.mark.parametrize(("tasks", "left_out"), [(41, "1 task"), (50, "10 tasks")])
def test_of_more_the_twenty_at_either_end_are_drawn(tasks: int, left_out: str) -> None:
    values = np.arange(tasks) / 100
    row = made_row(np.stack([values, -values]), 0.3)
    found = task_figure(row)
    assert isinstance(found, DotPlot)
    assert found.categories == (*row.tasks[:-21:-1], *row.tasks[19::-1])
    assert f"Left out: {left_out} between." in found.alternative
    assert found.alternative.startswith(f"The model gives he from task {tasks - 1} (")
