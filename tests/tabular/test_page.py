"""An amplification as JSON, tables, pages and figures: what each says of the data."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from lmprobe.errors import InputError
from lmprobe.metrics.thresholds import Threshold
from lmprobe.results import (
    Estimate,
    Interval,
    Note,
    NoteKind,
    Obstacle,
    Page,
    Section,
    SeriesPlot,
    SharePlot,
    Table,
    Verdict,
)
from lmprobe.results.codec import from_json, to_json
from lmprobe.results.metric_values import MetricValue
from lmprobe.stats.verdicts import Unevenness
from lmprobe.tabular.result import AmplificationResult, TaskThreshold
from lmprobe.tabular.settings import AmplifySettings
from tests.made_up_amplification import (
    A_TO_T,
    T_TO_A,
    made_up_amplification,
    made_up_curve,
    made_up_row,
)

ROW = made_up_row([[0.2, 0.1]])
ENDS = Interval(1.5, 2.5, 0.9, "bootstrap-moments")
STRONG = Estimate(2.0, ENDS, Verdict.AMPLIFIES)
UNEVEN = Unevenness(0.25, Interval(0.1, 0.4, 0.9, "bootstrap-deviation"), 0.001)


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


def headline(*rows: Any, **options: Any) -> list[str]:
    return [item.text for item in made_up_amplification(*rows, **options).page().headline]


def test_the_headline_says_what_the_prediction_does() -> None:
    both = (ROW, made_up_row([[0.2, 0.1]], direction=T_TO_A))
    claims = [text for text in headline(*both) if text.startswith("Given")]
    assert claims == [
        "Given t, the prediction of sex exaggerates the links in the labels.",
        "Given sex, the prediction of t exaggerates the links in the labels.",
    ]
    trained = headline(ROW, settings=chosen(train="t.csv"))
    assert trained[0].endswith("the labels, by the lean of the train table.")
    plain = headline(ROW, settings=chosen(interval="none"))
    assert plain[0] == "Given sex, the value is +0.1500; without an interval there is no verdict."


def test_which_sections_there_are() -> None:
    def titles(*rows: Any, **more: Any) -> list[str]:
        return [part.title for part in made_up_amplification(*rows, **more).page().sections]

    tasks, pairs = "Task by task, attribute->task", "Pairs, attribute->task"
    assert titles(ROW) == [tasks, "Verdict", pairs, "Run it again"]
    runs = titles(made_up_row([[0.2]], [[0.4]]))
    assert runs[:4] == [tasks, "Verdict", "Training runs", pairs]
    cut = TaskThreshold(task="t", value=0.5, wanted=0.25, share=0.3, row=0.01)
    assert titles(ROW, thresholds=(cut,))[3] == "Thresholds"
    assert titles(ROW, provenance={"files": False}) == [tasks, "Verdict", pairs]
    # Nothing is moved by nothing.
    assert titles(made_up_row([[0.0]]), provenance={"files": False}) == ["Verdict", pairs]


def test_every_pair_can_be_searched_and_the_command_is_given() -> None:
    page = made_up_amplification(ROW).page()
    assert section(page, "Pairs, attribute->task").searchable
    (command,) = section(page, "Run it again").commands
    assert command.startswith("lmprobe amplify a.csv ")
    assert "--runs" not in command
    tables = {"tables": ["a.csv", "b.csv"]}
    page = made_up_amplification(made_up_row([[0.2]], [[0.4]]), provenance=tables).page()
    assert section(page, "Run it again").commands[0].endswith("--runs")


def test_undefined_pairs_are_noted() -> None:
    row = made_up_row([[0.2, np.nan], [0.1, np.nan]])
    (note,) = section(made_up_amplification(row).page(), "Notes").notes
    assert note.text == "the mean leaves out 2 of 4 pairs"
    assert made_up_amplification(ROW).page().notes == ()


def shares(*rows: Any) -> list[SharePlot]:
    figures = made_up_amplification(*rows).page().figures
    return [figure for figure in figures if isinstance(figure, SharePlot)]


def test_shares_are_those_of_labels_and_predictions() -> None:
    lean = [[1.0, -1.0, 0.0, 1.0]]
    row = made_up_row([[0.2, 0.1, 0.0, np.nan]], lean=lean, tasks=("o.a", "o.b", "o.c", "o.d"))
    (figure,) = shares(row)
    assert (figure.name, figure.before) == (f"tasks_{A_TO_T.slug}-g0", "the labels")
    # The second is amplified too, but does not lean to the group.
    places = [(line.label, line.before, line.after) for line in figure.lines]
    assert places == [("a", 0.25, pytest.approx(0.45))]


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
    (figure,) = shares(row)
    assert {line.label for line in figure.lines} == {*short}


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


def headings(table: Table) -> list[str]:
    return [column.heading for column in table.columns]


def test_one_run_without_a_correction() -> None:
    row = made_up_row([[0.2, -0.1], [np.nan, 0.3]])
    verdicts, pairs = made_up_amplification(row).tables()
    assert headings(verdicts) == [
        *("direction", "value", "90% interval", "verdict", "mean size", "undefined"),
    ]
    estimate = row.estimate
    assert verdicts.rows == (
        (A_TO_T, row.value, estimate.interval, estimate.verdict, row.absolute, "1 of 4"),
    )
    assert row.value == pytest.approx(0.4 / 3)
    assert row.absolute == pytest.approx(0.6 / 3)
    # From the pair that amplifies most: predicted, base rate, lean, amplification.
    assert [line[:2] for line in pairs.rows] == [("g1", "t1"), ("g0", "t0"), ("g0", "t1")]
    assert pairs.rows[1][2:] == pytest.approx((0.45, 0.25, 1.0, 0.2))
    assert pairs.title == "attribute->task: every pair"


def test_two_runs_with_a_correction() -> None:
    row = made_up_row([[0.2, -0.1]], [[0.4, 0.1]], corrected=[0.5, None])
    other = made_up_row([[0.1, 0.1]], [[0.2, 0.2]], direction=T_TO_A)
    verdicts, runs, *_ = made_up_amplification(row, other).tables()
    assert headings(verdicts) == [
        *("direction", "value", "corrected", "90% interval over rows and runs", "verdict"),
        *("mean size", "undefined"),
    ]
    assert row.over_runs is row.estimate
    assert [line[:3] for line in verdicts.rows] == [
        (A_TO_T, row.value, row.estimate.corrected),
        (T_TO_A, other.value, None),
    ]
    assert verdicts.rows[0][3:5] == (row.estimate.interval, row.estimate.verdict)
    assert headings(runs) == ["direction", "run", "value", "corrected", "interval over rows"]
    assert runs.rows[1] == (A_TO_T, "run 2", pytest.approx(0.25), None, row.runs[1].interval)
    assert [line[3] for line in runs.rows] == [0.5, None, None, None]


def test_which_tables_there_are() -> None:
    row = made_up_row([[0.2]])
    cut = TaskThreshold(task="t", value=0.5, wanted=0.25, share=0.3, row=0.01)
    metric = MetricValue("mals", "undirected", 0.5)

    def names(**more: object) -> list[str]:
        return [table.name for table in made_up_amplification(row, **more).tables()]

    assert names() == ["amplification", f"pairs_{A_TO_T.slug}"]
    assert names(thresholds=(cut,))[1:2] == ["thresholds"]
    assert names(metrics=(metric,))[1:2] == ["metrics"]
    result = made_up_amplification(row, thresholds=(cut,))
    assert result.table("thresholds").rows == (("t", 0.5, 0.3, 0.25),)
    curved = made_up_amplification(row, thresholds=(cut,), curves=(made_up_curve("t", [0, 1, 2]),))
    assert curved.table("thresholds").rows == (("t", pytest.approx(1.0), 0.0, 2.0, 0.0),)


@pytest.mark.parametrize("count", [10, 11])
def test_a_terminal_shows_five_pairs_of_either_end(count: int) -> None:
    row = made_up_row([[number / 100 for number in range(count)]])
    *_, table = made_up_amplification(row).tables()
    falling = [f"t{number}" for number in reversed(range(count))]
    shown = falling if count == 10 else falling[:5] + falling[-5:]
    assert [line[1] for line in table.rows] == shown
    assert len(made_up_amplification(row).pairs()) == count


def test_rows_are_found_by_direction() -> None:
    first, second = made_up_row([[0.2]], direction=T_TO_A), made_up_row([[0.1]])
    result = made_up_amplification(first, second)
    assert result.row("T->A") is first
    assert result.row(A_TO_T) is second
    with pytest.raises(InputError, match="task->attribute was not measured"):
        made_up_amplification(second).row("T->A")


def test_the_means_of_each_label_are_in_the_document() -> None:
    """As many groups as tasks, so that one axis could be taken for the other."""
    row = made_up_row([[0.2, 0.4], [0.6, math.nan]])
    (document,) = made_up_amplification(row).to_dict()["rows"]
    assert document["by_attribute"] == pytest.approx({"g0": 0.3, "g1": 0.6})
    assert document["by_task"] == pytest.approx({"t0": 0.4, "t1": 0.4})
    assert document["over_runs"] is None
    assert document["runs"][0]["amplification"][1] == [pytest.approx(0.6), None]
    two = made_up_row([[0.2, 0.4]], [[0.2, math.nan]])
    (document,) = made_up_amplification(two).to_dict()["rows"]
    assert document["over_runs"]["value"] == pytest.approx(0.25)
    # A pair that one run leaves undefined has no mean over runs.
    assert document["by_task"] == {"t0": pytest.approx(0.2), "t1": None}


def test_pairs_of_several_runs_have_a_column_of_the_run() -> None:
    alone = made_up_amplification(made_up_row([[0.2, 0.4]])).pairs()
    assert list(alone.columns[:3]) == ["direction", "attribute", "task"]
    both = made_up_amplification(
        made_up_row([[0.2, 0.4]], [[0.1, 0.3]]),
        made_up_row([[0.2, 0.4]], [[0.1, 0.3]], direction=T_TO_A),
    ).pairs()
    assert list(both.columns[:4]) == ["direction", "run", "attribute", "task"]
    assert both["run"].tolist() == ["run 1", "run 1", "run 2", "run 2"] * 2
    assert both["direction"].tolist() == ["attribute->task"] * 4 + ["task->attribute"] * 4
    assert both["amplification"].tolist() == pytest.approx([0.2, 0.4, 0.1, 0.3] * 2)
    assert both.index.tolist() == list(range(8))


def test_json_comes_back_whole() -> None:
    row = made_up_row(
        [[0.25, 0.5], [math.nan, 0.125]],
        [[0.5, 0.5], [0.5, 0.5]],
        corrected=[0.5, 1],
        strength=STRONG,
    )
    result = made_up_amplification(
        row,
        made_up_row([[0.25]], direction=T_TO_A, unevenness=UNEVEN),
        thresholds=(
            TaskThreshold(task="t", value=0.5, wanted=0.25, share=0.5, row=0.01),
            TaskThreshold(task="u", **asdict(Threshold.fixed(0.5))),
        ),
        curves=(made_up_curve("t", [0.0, 1.0, math.nan]),),
        metrics=(MetricValue("mals", "undirected", 0.5), MetricValue("x", "y", None)),
    )
    again = AmplificationResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    assert math.isnan(again.rows[0].runs[0].by_pair[1, 0])
    assert again.rows[0].over_runs == again.rows[0].estimate == row.estimate
    assert again.rows[0].strength == STRONG
    assert (again.rows[1].over_runs, again.rows[1].unevenness) == (None, UNEVEN)
    assert again.metrics == result.metrics
    assert again.curves[0].cuts.tolist() == [math.inf, 0.5, 0.0]
    assert np.isnan(again.curves[0].value).tolist() == [False, False, True]
    assert math.isnan(again.thresholds[1].share)


def test_a_result_of_an_earlier_version_is_read() -> None:
    """It had no strength, no unevenness, and an interval over runs beside that over rows."""
    row = made_up_row([[0.2]], [[0.4]])
    body = made_up_amplification(row).to_dict() | {"schema": "lmprobe.result/2"}
    (document,) = body["rows"]
    for name in ("strength", "unevenness", "obstacle"):
        del document[name]
    for run in document["runs"]:
        del run["obstacle"]
    spread = Interval(-0.7, 1.3, 0.9, "t")
    document["over_runs"] = to_json(Estimate(0.3, spread, Verdict.UNDECIDED))
    (again,) = AmplificationResult.from_json(json.dumps(body)).rows
    assert (again.value, again.strength, again.unevenness) == (pytest.approx(0.3), None, None)
    assert again.estimate.interval.width > spread.width
    assert again.estimate.verdict is Verdict.UNDECIDED


def test_a_strength_is_in_the_table_and_in_the_headline() -> None:
    result = made_up_amplification(made_up_row([[0.2, 0.1]], strength=STRONG))
    frame = result.to_frame()
    assert frame[["strength", "strength_low", "strength_high"]].iloc[0].tolist() == [2, 1.5, 2.5]
    said = "Its links are 2.00 times as strong as those of the labels (90% interval 1.50 to 2.50)."
    assert said in headline(made_up_row([[0.2, 0.1]], strength=STRONG))
    few = Estimate(math.nan, Interval.too_few_units(0.9, "bootstrap-moments"), Verdict.UNDECIDED)
    withheld = made_up_amplification(made_up_row([[0.2, 0.1]], strength=few))
    assert "strong" not in repr(withheld.page().headline)
    wide = replace(STRONG, interval=replace(STRONG.interval, low=-3.0, high=9.0))
    (text,) = [text for text in headline(replace(ROW, strength=wide)) if "strong" in text]
    assert text.endswith("stays open: the 90% interval is −3.00 to 9.00.")
    assert withheld.to_dict()["rows"][0]["strength"]["value"] is None


def test_without_a_lean_the_headline_says_how_uneven_the_predictions_are() -> None:
    notes = (Note(NoteKind.TIE, "the labels show no link"),)
    row = made_up_row([[0.2, 0.1]], unevenness=UNEVEN, notes=notes)
    (statement,) = made_up_amplification(row).page().headline
    assert statement.text == "Given sex, the labels show no link."
    small = replace(ROW, estimate=replace(ROW.estimate, obstacle=Obstacle.SMALL_BASE))
    (statement,) = made_up_amplification(small).page().headline
    assert Obstacle.SMALL_BASE.reason in statement.text


def test_a_document_without_rows_is_refused() -> None:
    body = made_up_amplification(made_up_row([[0.2]])).to_dict()
    assert len(from_json(AmplificationResult, body).rows) == 1
    with pytest.raises(ValueError, match="it has no rows"):
        from_json(AmplificationResult, {**body, "rows": []})


def test_a_long_curve_is_sampled_at_201_shares() -> None:
    """Every half percent: of 1,001 points each fifth; a short one is kept as it is."""
    for points, step in ((1001, 5), (201, 1), (3, 1)):
        curve = made_up_curve("t", [float(number) for number in range(points)])
        document = to_json(curve)
        assert document["value"] == [float(number) for number in range(0, points, step)]
        assert (document["points"], document["cuts"][0]) == (points, None)
        assert len(curve.to_frame()) == points
