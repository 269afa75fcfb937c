"""What the page of a sweep says and draws, for few and many models, sets and steps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lmprobe.core.direction import Direction
from lmprobe.results import Estimate, Interval, Section, decide
from lmprobe.sweeping.figures import curve, forest, heat_map
from lmprobe.sweeping.result import Curve, Order, SweepResult
from tests.made_up_sweeps import made_up_sweep, plain_row, plain_sweep


def models(count: int, **changes: Any) -> list[Any]:
    return [plain_row(f"m{number:02}", number / 100, **changes) for number in range(count)]


# ---- figures ----------------------------------------------------------------------------------


def test_the_lines_of_a_forest_are_what_is_claimed() -> None:
    ends = Interval(0.2, 0.3, 0.95, "bootstrap")
    corrected = Estimate(0.5, ends, decide(ends), 0.25, 0.25)
    result = plain_sweep(plain_row("a"), plain_row("b", estimate=corrected))
    line = forest(result, result.questions[0]).lines[1]
    assert (line.value, line.interval, line.tone) == (0.25, ends, corrected.verdict.tone)


@pytest.mark.parametrize(
    ("groups", "brackets", "said"),
    [
        (None, [], "0 groups"),
        ([["a"], ["b"], ["c"]], [], "0 groups"),
        ([["a", "b"], ["b", "c"]], [(0, 1), (1, 2)], "2 groups"),
        ([["a"], ["b", "c"]], [(1, 2)], "1 group of"),
    ],
)
def test_brackets_join_two_models_or_more(
    groups: list[list[str]] | None, brackets: list[tuple[int, ...]], said: str
) -> None:
    rows = [plain_row(name, number / 10) for number, name in enumerate("abc")]
    result = plain_sweep(*rows, groups=groups)
    plot = forest(result, result.questions[0])
    assert [one.lines for one in plot.brackets] == brackets
    assert f", with {said}" in plot.alternative


def test_a_forest_of_many_models_is_drawn_as_its_ends() -> None:
    """A group of the middle alone, which is not shown, has no bracket."""
    rows = models(70)
    names = [row.model for row in rows]
    groups = [names[:29], names[29:31], names[31:33], names[33:]]
    result = plain_sweep(*reversed(rows), groups=groups)
    plot = forest(result, result.questions[0])
    assert [line.label for line in plot.lines] == names[:30] + names[-30:]
    assert plot.title == "task->attribute, labor (fitbert), the 60 at the ends of 70"
    assert [one.lines for one in plot.brackets] == [tuple(range(29)), (29,), tuple(range(30, 60))]
    assert plot.brackets[1].label == "group b: 2 models that cannot be told apart"
    assert plot.alternative.startswith("70 models from m00 (0.0000) to m69 (+0.6900)")


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
    assert plot.alternative.endswith("the largest, 0.4000 in size, is nurse of b.")


def over_steps(*steps: int, runs: tuple[str, ...] = ("run",), **changes: Any) -> SweepResult:
    """Checkpoints of training runs, whose values are a tenth of their number."""
    rows, curves = [], []
    for run in runs:
        own = [
            plain_row(f"{run}@{step}", number / 10, step=step, **changes)
            for number, step in enumerate(steps)
        ]
        band = tuple(Interval(n / 10 - 1, n / 10 + 1, 0.95, "t") for n in range(len(own)))
        names = tuple(row.model for row in own)
        curves.append(Curve(own[0].question, run, names, band, {"planted": 0.25}))
        rows += own
    return plain_sweep(*rows, curves=curves)


def test_a_curve_has_its_value_its_band_and_its_levels() -> None:
    result = over_steps(10, 20, 40)
    plot = curve(result, result.curves[0])
    value, base, planted = plot.series
    assert value.x == base.x == planted.x == (10.0, 20.0, 40.0)
    assert value.y == (0.0, 0.1, 0.2)
    assert value.low == pytest.approx((-1.0, -0.9, -0.8))
    assert value.high == pytest.approx((1.0, 1.1, 1.2))
    assert value.labels == ("step 10", "step 20", "step 40")
    assert (base.name, base.y) == ("the base (0.0000)", (0.0,) * 3)
    assert (planted.name, planted.y) == ("planted (+0.2500)", (0.25,) * 3)
    assert plot.alternative == "From 0.0000 at step 10 to +0.2000 at step 40."
    # A step without a band has its value.
    none = Interval.undefined(0.95, "t")
    unsure = replace(result.curves[0], band=(none, *result.curves[0].band[1:]))
    value = curve(result, unsure).series[0]
    assert (value.low[0], value.high[0]) == (0.0, 0.0)


# ---- page -------------------------------------------------------------------------------------


def section(result: SweepResult, title: str) -> Section:
    (found,) = (one for one in result.page().sections if one.title == title)
    return found


def sentences(result: SweepResult) -> list[str]:
    return [one.text for one in result.page().headline]


def test_what_a_page_cannot_carry_is_said() -> None:
    """1,200 lines of forests and 30,000 cells of tasks are drawn, and no more."""
    rows = [row for number in range(21) for row in models(60, base=f"base-{number}")]
    drawn = section(plain_sweep(*rows), "Each question")
    assert len(drawn.figures) == 20
    assert drawn.text[1].startswith("The first 20 of 21 questions are drawn")
    tasks = {f"task {number}": 0.1 for number in range(300)}
    last = plain_row("m00", base="one more")
    drawn = section(plain_sweep(*models(100, by_task=tasks), last), "Tasks")
    assert len(drawn.figures) == 1
    assert drawn.text[0].startswith("The first 1 of 2 questions are drawn")
    assert drawn.collapsed
    whole = plain_sweep(*models(40))
    assert len(section(whole, "Each question").text) == 1
    assert not section(whole, "Tasks").text
    assert not section(whole, "Tasks").collapsed


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (["abc"], "no two of 3 models can be told apart."),
        (["a", "b", "c"], "from a (+0.1000) to c (+0.3000); all can be told apart."),
        (["ab", "c"], "; 1 group of models that cannot be told apart."),
        (["ab", "bc"], "; 2 groups of models that cannot be told apart."),
    ],
)
def test_a_question_has_a_sentence(groups: list[str], said: str) -> None:
    rows = [plain_row(name, number / 10) for number, name in enumerate("abc", start=1)]
    (sentence,) = sentences(plain_sweep(*rows, groups=groups))
    assert sentence.startswith("fitbert, labor, task->attribute: ")
    assert sentence.endswith(said)


def test_a_training_run_is_told_from_its_first_to_its_last_step() -> None:
    """Two directions, of which one lacks the last step; checkpoints are given in any order."""
    other = {"direction": Direction.ATTRIBUTE_TO_TASK}
    rows, curves, orders = [], [], []
    for changes, steps in (({}, (1000, 100, 10)), (other, (100, 10))):
        own = [plain_row(f"s{step}", step / 1000, step=step, **changes) for step in steps]
        names = tuple(row.model for row in reversed(own))
        band = (Interval(0.0, 1.0, 0.95, "t"),) * len(own)
        curves.append(Curve(own[0].question, "run", names, band, {}))
        groups = (("s10", "s100"), ("s1000",)) if len(own) == 3 else (names,)
        orders.append(Order(own[0].question, names, groups))
        rows += own
    result = SweepResult(tuple(rows), tuple(orders), tuple(curves), (), {"settings": {}})
    first, second = sentences(result)
    assert first == (
        "fitbert, labor, task->attribute: from +0.0100 at step 10 to +1.0000 at step 1,000."
    )
    assert second.endswith("to +0.1000 at step 100, which cannot be told apart.")
    assert result.page().title == "3 checkpoints compared"
    assert len(section(result, "Over the training run").figures) == 2


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
