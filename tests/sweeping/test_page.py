"""What the page of a sweep says and draws, for few and many models, sets and steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from lmprobe.probing.result import ProbeResult
from lmprobe.results.figure import HeatMap, IntervalPlot, SeriesPlot
from lmprobe.sweeping import page as page_module
from lmprobe.sweeping.figures import curve, forest, heat_map
from lmprobe.sweeping.jobs import subjects
from lmprobe.sweeping.result import SweepResult
from lmprobe.sweeping.summary import Entry, summarise
from lmprobe.sweeping.tables import all_rows
from tests.made_up_sweeps import made_up_sweep

Made = Callable[..., ProbeResult]


@pytest.fixture(scope="module")
def twelve(made: Made) -> SweepResult:
    return made_up_sweep(made, 12, bases=("labor",), failures=1)


def test_brackets_are_the_groups(twelve: SweepResult) -> None:
    order = twelve.orders[0]
    plot = forest(twelve, order.question)
    assert isinstance(plot, IntervalPlot)
    assert [line.label for line in plot.lines] == list(order.models)
    found = [tuple(order.models[line] for line in one.lines) for one in plot.brackets]
    assert found == [group for group in order.groups if len(group) > 1]
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
    run = result.curves[0]
    plot = curve(result, run)
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
    assert run.levels["no association"] == pytest.approx(total / count)
    assert [one.name.split(" (")[0] for one in plot.series] == [
        "value",
        "the base",
        "no association",
    ]
    assert result.page().headline[0].text.startswith("fitbert, labor, task->attribute: from ")
    assert "at step 128" in result.page().headline[0].text


def test_each_training_run_has_its_own_curve(made: Made) -> None:
    """Revisions of two models, of which one has no step; given in any order."""
    entries = [
        Entry(one, "fitbert", made(model=one.label, bases=("labor",), seed=number))
        for number, one in enumerate(
            subjects(["acme/a", "acme/b"], revisions=["step200", "step30", "main"])
        )
    ]
    result = summarise(entries)
    assert not result.over_steps
    assert [(one.run, one.models) for one in result.curves[:2]] == [
        (model, (f"{model}@step30", f"{model}@step200")) for model in ("acme/a", "acme/b")
    ]
    values = {(row.model, row.direction): row.estimate.value for row in result.rows}
    for run in result.curves:
        plot = curve(result, run)
        own = tuple(values[model, run.question.direction] for model in run.models)
        assert (plot.series[0].x, plot.series[0].y) == ((30.0, 200.0), own)
        assert plot.title.startswith(f"{run.run}, ")
    assert len({figure.name for figure in result.figures()}) == len(result.figures())
    assert result.page().title == "6 models compared"
    assert " at step " not in result.page().headline[0].text
    assert SweepResult.from_json(result.to_json()).curves == result.curves


def test_one_model_is_not_ranked(made: Made) -> None:
    page = made_up_sweep(made, 1, bases=("labor",)).page()
    assert page.title == "Does acme/model-000 exaggerate the base rates?"
    assert page.subtitle.startswith("1 model · ")
    headings = [column.heading for column in page.sections[0].tables[0].columns]
    assert "rank" not in headings
    (statement,) = page.headline
    assert "comparisons" in statement.text


def test_the_command_runs_the_same_sweep_again(made: Made) -> None:
    result = made_up_sweep(made, 2, bases=("labor",))
    settings = {
        "models": ["list.txt"], "templates": ["neutral"], "base": ["labor", "uniform"],
        "checkpoints": "runs/a b", "tasks": ["nurse", "cook"], "dtype": "float64", "kind": "masked",
    }  # fmt: skip
    again = replace(result, provenance={**result.provenance, "settings": settings}).page()
    assert again.sections[-1].commands == (
        "lmprobe sweep list.txt --templates neutral --base labor --base uniform --checkpoints "
        "'runs/a b' --task nurse,cook --kind masked --dtype float64 --output sweep",
    )


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


def test_six_questions_have_a_statement_each_and_a_column_that_tells_them_apart(made: Made) -> None:
    result = made_up_sweep(made, 2, bases=("labor", "wikipedia", "corpus"))
    assert len(result.page().headline) == 6
    for sets, bases, told_apart in (
        (("one", "two"), ("labor", "wikipedia"), ["set", "base"]),
        (("one", "two"), ("labor",), ["set"]),
        (("one",), ("labor",), []),
    ):
        result = made_up_sweep(made, 2, sets=sets, bases=bases)
        headings = [column.heading for column in all_rows(result).columns]
        assert headings[: headings.index("value")] == ["model", *told_apart, "direction"]


def test_a_model_that_failed_has_its_line(twelve: SweepResult) -> None:
    assert "acme/broken-0" in twelve.to_markdown()


@pytest.mark.parametrize(("models", "scale"), [(5, "linear"), (6, "log")])
def test_steps_that_differ_by_a_large_factor_have_a_logarithmic_axis(
    made: Made, models: int, scale: str
) -> None:
    result = made_up_sweep(made, models, bases=("labor",), steps=True)
    assert curve(result, result.curves[0]).x_scale == scale
