"""What the page of a sweep says and draws, for few and many models, sets and steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_up_sweeps import made_up_sweep

from lmprobe.probing.result import ProbeResult
from lmprobe.results.figure import HeatMap, IntervalPlot, SeriesPlot
from lmprobe.sweeping import page as page_module
from lmprobe.sweeping.figures import curve, forest, heat_map
from lmprobe.sweeping.result import SweepResult

Made = Callable[..., ProbeResult]


@pytest.fixture(scope="module")
def twelve(made: Made) -> SweepResult:
    return made_up_sweep(made, 12, bases=("labor",), failures=1)


def test_brackets_are_the_groups(twelve: SweepResult) -> None:
    order = twelve.orders[0]
    plot = forest(twelve, order.question)
    assert isinstance(plot, IntervalPlot)
    assert [line.label for line in plot.lines] == list(order.models)
    found = [order.models[one.first : one.last + 1] for one in plot.brackets]
    assert found == list(order.groups)
    assert plot.brackets[0].label == "group a: 2 models that cannot be told apart"


def test_many_models_are_the_rows_of_a_heat_map_and_few_the_columns(
    twelve: SweepResult, made: Made
) -> None:
    wide = heat_map(made_up_sweep(made, 3, bases=("labor",)), twelve.questions[0])
    tall = heat_map(twelve, twelve.questions[0])
    assert isinstance(tall, HeatMap)
    assert len(tall.rows) == 12
    assert len(wide.rows) == 32
    assert len(wide.blocks[0].columns) == 3
    row = twelve.by_value(twelve.questions[0])[4]
    column = tall.blocks[0].columns.index("nurse")
    assert tall.blocks[0].values[4][column] == row.by_task["nurse"]


def test_a_curve_has_its_levels_and_a_logarithmic_axis(made: Made) -> None:
    result = made_up_sweep(made, 8, bases=("labor",), steps=True)
    question = result.questions[0]
    plot = curve(result, question)
    assert isinstance(plot, SeriesPlot)
    assert plot.x_scale == "log"
    # The product of the base's margins, pair by pair: P(a) of a table with equal P(t).
    row = made(bases=("labor",), seed=3).row("labor", "T->A")
    given_task = row.base_rate
    given_attribute = made(bases=("labor",), seed=3).row("labor", "A->T").base_rate
    total, count = 0.0, 0
    for a in range(2):
        ratios = [given_task[x, 0] / given_attribute[x, 0] for x in range(2)]
        margin = ratios[a] / sum(ratios)
        for t in range(32):
            total += row.lean[a, t] * (margin - given_task[a, t])
            count += 1
    assert result.levels[question]["no association"] == pytest.approx(total / count)
    assert [one.name.split(" (")[0] for one in plot.series] == [
        "value",
        "the base",
        "no association",
    ]
    assert result.page().headline[0].text.startswith("fitbert, labor, task->attribute: from ")
    assert "at step 128" in result.page().headline[0].text


def test_many_questions_have_one_headline_and_what_is_not_drawn_is_said(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "_MOST_CELLS", 7 * 4 * 32)
    sets = [f"set-{number}" for number in range(4)]
    result = made_up_sweep(made, 4, sets=sets, bases=("labor",), levels=2)
    page = result.page()
    (statement,) = page.headline
    assert statement.text.startswith("8 of 8 questions")
    (tasks,) = (section for section in page.sections if section.title == "Tasks")
    assert len(tasks.figures) == 7
    assert tasks.text[0].startswith("The first 7 of 8 questions are drawn")


def test_a_model_that_failed_has_its_line(twelve: SweepResult) -> None:
    assert "acme/broken-0" in twelve.to_markdown()
