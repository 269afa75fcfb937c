"""The report of an amplification: what its title, sections and figures say of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.metrics.thresholds import Threshold
from lmprobe.results import Page, Section, SeriesPlot
from lmprobe.tabular.settings import AmplifySettings
from tests.made_up_amplification import (
    A_TO_T,
    T_TO_A,
    made_up_amplification,
    made_up_curve,
    made_up_row,
)

ROW = made_up_row([[0.2, 0.1]])


def section(page: Page, title: str) -> Section:
    (found,) = (one for one in page.sections if one.title == title)
    return found


def plot(page: Page, name: str) -> SeriesPlot:
    (found,) = (figure for figure in page.figures if figure.name == name)
    assert isinstance(found, SeriesPlot)
    return found


def chosen(**choices: Any) -> AmplifySettings:
    names: dict[str, Any] = {"attribute": ("sex",), "task": ("t",), "task_prediction": ("p",)}
    return AmplifySettings(**{**names, **choices})


@pytest.mark.parametrize(
    ("task", "said"),
    [(("job",), "job"), (("job.*",), "2 tasks"), (("t", "u"), "2 tasks"), (("a", "b*"), "2 tasks")],
)
def test_the_title_names_one_task_or_counts_them(task: tuple[str, ...], said: str) -> None:
    page = made_up_amplification(ROW, settings=chosen(task=task)).page()
    assert page.title == f"Do the predictions exaggerate the link between sex and {said}?"


def test_the_subtitle_counts_rows_and_runs() -> None:
    assert made_up_amplification(ROW).page().subtitle == "12,345 rows of a.csv"
    runs = made_up_row([[0.2]], [[0.4]])
    tables = {"tables": ["a.csv", "b.csv"]}
    page = made_up_amplification(runs, provenance=tables).page()
    assert page.subtitle == "12,345 rows in 2 training runs of a.csv, b.csv"


def test_the_headline_says_what_the_prediction_does() -> None:
    both = (ROW, made_up_row([[0.2, 0.1]], direction=T_TO_A))
    first, second = made_up_amplification(*both).page().headline
    assert first.text.startswith("attribute->task: the prediction ")
    assert second.text.startswith("task->attribute: the prediction ")
    assert "the label" in first.text
    trained = made_up_amplification(ROW, settings=chosen(train="t.csv")).page()
    assert "the train table" in trained.headline[0].text
    plain = made_up_amplification(ROW, settings=chosen(interval="none")).page()
    assert plain.headline[0].text == (
        "attribute->task: +0.1500; without an interval there is no verdict."
    )


def test_which_sections_there_are() -> None:
    def titles(*rows: Any, **more: Any) -> list[str]:
        return [one.title for one in made_up_amplification(*rows, **more).page().sections]

    pairs = ["Pairs", "Pairs, attribute->task"]
    assert titles(ROW) == ["Verdict", *pairs, "Notes", "Run it again"]
    assert titles(made_up_row([[0.2]], [[0.4]]))[:3] == ["Verdict", "Training runs", "Pairs"]
    cut = ("t", Threshold(0.5, 0.25, 0.3, 0.01))
    curve = made_up_curve("t", [0.0, 1.0])
    for more in ({"thresholds": (cut,)}, {"thresholds": (cut,), "curves": (curve,)}):
        assert titles(ROW, **more)[3] == "Thresholds"
    assert titles(ROW, provenance={"files": False})[-1] == "Notes"
    result = made_up_amplification(ROW)
    old = {name: value for name, value in result.provenance.items() if name != "files"}
    # A result that was written before this was remembered came from files.
    assert replace(result, provenance=old).page().sections[-1].title == "Run it again"


def test_every_pair_can_be_searched_and_the_command_is_folded_away() -> None:
    page = made_up_amplification(ROW).page()
    assert section(page, "Pairs, attribute->task").searchable
    again = section(page, "Run it again")
    assert again.collapsed
    (command,) = again.commands
    assert command.startswith("lmprobe amplify a.csv ")
    assert "--runs" not in command
    tables = {"tables": ["a.csv", "b.csv"]}
    page = made_up_amplification(made_up_row([[0.2]], [[0.4]]), provenance=tables).page()
    assert section(page, "Run it again").commands[0].endswith("--runs")


def test_undefined_pairs_are_noted() -> None:
    row = made_up_row([[0.2, np.nan], [0.1, np.nan]])
    (note,) = section(made_up_amplification(row).page(), "Notes").notes
    assert note.text == "2 of 4 pairs are not in the mean"
    assert section(made_up_amplification(ROW).page(), "Notes").notes == ()


def test_the_figure_of_pairs_has_a_point_for_each_that_leans() -> None:
    lean = [[1.0, -1.0, 0.0, 1.0]]
    row = made_up_row([[0.2, 0.1, 0.0, np.nan]], lean=lean, tasks=("o.a", "o.b", "o.c", "o.d"))
    figure = plot(made_up_amplification(row).page(), f"pairs_{A_TO_T.slug}")
    towards, away = figure.series
    assert (towards.name, away.name) == ("leans towards", "leans away")
    # Above the base rate where it leans up, below where it leans down; both are amplified.
    assert (towards.x, towards.y) == ((0.25,), (pytest.approx(0.45),))
    assert (away.x, away.y) == ((0.25,), (pytest.approx(0.15),))
    # What all tasks begin with is left out.
    assert (towards.labels, away.labels) == (("g0, a",), ("g0, b",))
    assert figure.diagonal
    assert figure.alternative.startswith("3 pairs; ")
    alone = plot(made_up_amplification(ROW).page(), f"pairs_{A_TO_T.slug}")
    assert [one.name for one in alone.series] == ["leans towards"]


def test_points_of_runs_are_means() -> None:
    row = made_up_row([[0.2, 0.1]], [[0.4, 0.3]])
    (series,) = plot(made_up_amplification(row).page(), f"pairs_{A_TO_T.slug}").series
    assert series.y == pytest.approx((0.55, 0.45))


@pytest.mark.parametrize(
    ("tasks", "short"),
    [
        (("o.a", "o.b"), ("a", "b")),
        (("o.a", "p.b"), ("o.a", "p.b")),
        (("o.a",), ("o.a",)),
        (("a", "b"), ("a", "b")),
        (("o.", "o.b"), ("o.", "b")),
        (("o.x.a", "o.x.b"), ("x.a", "x.b")),
    ],
)
def test_tasks_are_named_without_what_all_begin_with(
    tasks: tuple[str, ...], short: tuple[str, ...]
) -> None:
    row = made_up_row([[0.1] * len(tasks)], tasks=tasks)
    (series,) = plot(made_up_amplification(row).page(), f"pairs_{A_TO_T.slug}").series
    assert series.labels == tuple(f"g0, {name}" for name in short)


def test_the_figure_of_runs_has_the_value_that_the_interval_belongs_to() -> None:
    row = made_up_row([[0.2]], [[0.4]], [[0.6]], corrected=[0.1, None, 0.7])
    figure = plot(made_up_amplification(row).page(), "runs")
    (series,) = figure.series
    assert series.x == (1.0, 2.0, 3.0)
    assert series.y == pytest.approx((0.1, 0.4, 0.7))
    assert series.labels == ("run 1", "run 2", "run 3")
    assert series.low == (0.01, 0.02, 0.03)
    assert series.high == (0.1, 0.2, 0.3)
    assert figure.alternative == "3 runs: attribute->task from +0.1000 to +0.7000."


@pytest.mark.parametrize("count", [6, 7])
def test_the_figure_of_thresholds_has_the_six_tasks_that_depart_most(count: int) -> None:
    """The integrals are 0, -1, 2, -3, ..."""
    curves = tuple(
        made_up_curve(f"o.{number}", [number * (-1) ** number] * 3) for number in range(count)
    )
    figure = plot(made_up_amplification(ROW, curves=curves).page(), "curves")
    largest = [str(number) for number in reversed(range(count))][:6]
    assert [one.name for one in figure.series] == largest
    assert ("the 6 tasks that depart most" in figure.title) is (count == 7)
    mean = np.mean([number * (-1) ** number for number in range(count)])
    assert f"is {'+' if mean > 0 else '−'}{abs(mean):.4f}" in figure.alternative
    assert figure.alternative.startswith("Curves of 6 tasks")
    assert figure.series[0].x == (0.0, 0.5, 1.0)
    assert figure.series[0].y == ((count - 1) * (-1) ** (count - 1),) * 3
