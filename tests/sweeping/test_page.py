"""What the page of a sweep says and draws, for few and many models, sets and steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lmprobe.results import Estimate, Interval, Section, decide
from lmprobe.sweeping.figures import forest, heat_map, training_figure
from lmprobe.sweeping.result import SweepResult, TrainingCurve
from tests.made_up_sweeps import made_up_sweep, plain_row, plain_sweep

# ---- figures ----------------------------------------------------------------------------------


def test_the_lines_of_a_forest_are_what_is_claimed() -> None:
    ends = Interval(0.2, 0.3, 0.95, "bootstrap")
    corrected = Estimate(0.5, ends, decide(ends), 0.25, 0.25)
    result = plain_sweep(plain_row("a"), plain_row("b", estimate=corrected))
    line = forest(result, result.questions[0]).lines[1]
    assert (line.value, line.interval, line.tone) == (0.25, ends, corrected.verdict.tone)


@pytest.mark.parametrize(
    ("groups", "brackets"),
    [(None, []), (["ab", "bc"], [(0, 1), (1, 2)]), (["a", "bc"], [(1, 2)])],
)
def test_brackets_join_two_models_or_more(
    groups: list[str] | None, brackets: list[tuple[int, ...]]
) -> None:
    rows = [plain_row(name, number / 10) for number, name in enumerate("abc")]
    result = plain_sweep(*rows, groups=groups)
    plot = forest(result, result.questions[0])
    assert [bracket.lines for bracket in plot.brackets] == brackets


def test_a_forest_of_many_models_is_drawn_as_its_ends() -> None:
    """A group of the middle alone, which is not shown, has no bracket."""
    rows = [plain_row(f"m{number:02}", number / 100) for number in range(70)]
    names = [row.model for row in rows]
    groups = [names[:29], names[29:31], names[31:33], names[33:]]
    result = plain_sweep(*reversed(rows), groups=groups)
    plot = forest(result, result.questions[0])
    assert [line.label for line in plot.lines] == names[:30] + names[-30:]
    assert plot.title.endswith("the 60 at the ends of 70")
    assert [bracket.lines for bracket in plot.brackets] == [
        tuple(range(29)),
        (29,),
        tuple(range(30, 60)),
    ]


def test_a_task_that_is_undefined_or_was_not_asked_has_no_number() -> None:
    rows = (
        plain_row("a", by_task={"nurse": 0.1, "baker": None}),
        plain_row("b", by_task={"nurse": -0.4, "cook": 0.2}),
    )
    plot = heat_map(plain_sweep(*rows), rows[0].question)
    assert plot.rows == ("nurse", "baker", "cook")
    nurse, baker, cook = plot.blocks[0].values
    assert nurse == (0.1, -0.4)
    assert baker[0] is not None
    assert math.isnan(baker[0])
    assert (baker[1], cook) == (None, (None, 0.2))


def test_a_curve_has_its_value_its_band_and_its_levels() -> None:
    """A step without a band has its value."""
    steps = {10: 0.0, 20: 0.1, 40: 0.2}
    rows = [plain_row(f"run@{step}", value, step=step) for step, value in steps.items()]
    ends = [Interval(value - 1, value + 1, 0.95, "t") for value in (0.0, 0.1)]
    names = tuple(row.model for row in rows)
    band = (*ends, Interval.undefined(0.95, "t"))
    drawn = TrainingCurve(rows[0].question, "run", names, band, {"planted": 0.25})
    plot = training_figure(plain_sweep(*rows, curves=[drawn]), drawn)
    value, base, planted = plot.series
    assert value.x == base.x == planted.x == (10.0, 20.0, 40.0)
    assert value.y == (0.0, 0.1, 0.2)
    assert value.low == pytest.approx((-1.0, -0.9, 0.2))
    assert value.high == pytest.approx((1.0, 1.1, 0.2))
    assert (base.y, planted.y) == ((0.0,) * 3, (0.25,) * 3)


# ---- page -------------------------------------------------------------------------------------


def section(result: SweepResult, title: str) -> Section:
    (actual,) = (section for section in result.page().sections if section.title == title)
    return actual


def sentences(result: SweepResult) -> list[str]:
    return [item.text for item in result.page().headline]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (["abc"], "no two of 3 models can be told apart."),
        (["a", "b", "c"], "and highest for c (+0.3000, amplifies); all 3 can be told apart."),
        (["ab", "bc"], "; not all 3 can be told apart."),
    ],
)
def test_a_question_has_a_sentence(groups: list[str], said: str) -> None:
    rows = [plain_row(name, number / 10) for number, name in enumerate("abc", start=1)]
    (sentence,) = sentences(plain_sweep(*rows, groups=groups))
    assert sentence.startswith("Given the task, against labor, ")
    assert sentence.endswith(said)


def test_of_one_model_each_question_has_its_verdict() -> None:
    said = "Given the task, against labor, the model exaggerates the links in the base."
    assert sentences(plain_sweep(plain_row("a"))) == [said]


def test_a_training_run_is_told_from_its_first_to_its_last_step() -> None:
    """Checkpoints are given in any order."""
    rows = [plain_row(f"s{step}", step / 1000, step=step) for step in (1000, 100, 10)]
    names = tuple(row.model for row in reversed(rows))
    band = (Interval(0.0, 1.0, 0.95, "t"),) * 3
    curves = [TrainingCurve(rows[0].question, "run", names, band, {})]
    said = (
        "Given the task, against labor, the value goes from +0.0100 at step 10 to +1.0000 at step "
        "1,000"
    )
    told_apart = plain_sweep(*rows, groups=[names[:2], names[2:]], curves=curves)
    assert sentences(told_apart) == [f"{said}."]
    alike = plain_sweep(*rows, groups=[names], curves=curves)
    assert sentences(alike) == [f"{said}, which cannot be told apart."]
    assert alike.page().title == "3 checkpoints compared"
    assert len(section(alike, "Over the training run").figures) == 1


def test_the_command_runs_the_same_sweep_again() -> None:
    settings = {
        "models": ["list.txt"], "templates": ["neutral"], "base": ["labor", "uniform"],
        "checkpoints": "runs/a b", "tasks": ["nurse", "cook"], "dtype": "float64", "kind": "masked",
    }  # fmt: skip
    result = replace(plain_sweep(plain_row("a")), provenance={"settings": settings})
    assert section(result, "Run it again").commands == (
        "lmprobe sweep list.txt --templates neutral --base labor --base uniform --checkpoints "
        "'runs/a b' --task nurse,cook --kind masked --dtype float64 --output sweep",
    )


def test_figures_have_names_of_their_own_and_failures_their_lines(made: Any) -> None:
    result = made_up_sweep(made, 2, bases=("labor",), sets=("a", "b"), steps=True, failures=1)
    assert len({figure.name for figure in result.figures()}) == len(result.figures()) == 12
    assert "acme/broken-0" in result.to_markdown()
