"""The figures of a sweep: which lines, cells and points they have, from rows made by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lmprobe.results import Estimate, Interval
from lmprobe.results.verdict import decide
from lmprobe.sweeping.figures import curve, forest, heat_map
from lmprobe.sweeping.result import Curve, SweepResult
from tests.made_up_sweeps import plain_row, plain_sweep


def models(count: int) -> list[Any]:
    return [plain_row(f"m{number:02}", number / 100) for number in range(count)]


@pytest.mark.parametrize("count", [60, 61, 70])
def test_a_forest_of_more_than_sixty_models_is_drawn_as_its_ends(count: int) -> None:
    result = plain_sweep(*reversed(models(count)))
    plot = forest(result, result.questions[0])
    names = [f"m{number:02}" for number in range(count)]
    shown = names if count == 60 else names[:30] + names[-30:]
    assert [line.label for line in plot.lines] == shown
    said = "" if count == 60 else f", the 60 at the ends of {count}"
    assert plot.title == f"task->attribute, labor (fitbert){said}"
    assert plot.alternative.startswith(f"{count} models from m00 (0.0000) to m{count - 1} (+0.")


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
        ([["a", "b", "c"]], [(0, 1, 2)], "1 group of"),
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


def test_a_bracket_without_a_line_is_not_drawn() -> None:
    """Of 70 models the middle is not shown: a group of it alone has no bracket."""
    rows = models(70)
    names = [row.model for row in rows]
    groups = [names[:29], names[29:31], names[31:33], names[33:]]
    result = plain_sweep(*rows, groups=groups)
    plot = forest(result, result.questions[0])
    assert [one.lines for one in plot.brackets] == [
        tuple(range(29)),
        (29,),
        tuple(range(30, 60)),
    ]
    assert plot.brackets[1].label == "group b: 2 models that cannot be told apart"
    assert plot.alternative.endswith("4 groups of models that cannot be told apart.")


@pytest.mark.parametrize("count", [10, 11])
def test_ten_models_are_the_columns_of_a_heat_map(count: int) -> None:
    result = plain_sweep(*models(count))
    plot = heat_map(result, result.questions[0])
    names = tuple(f"m{number:02}" for number in range(count))
    tasks = ("nurse", "baker")
    (block,) = plot.blocks
    assert (plot.rows, block.columns) == ((tasks, names) if count == 10 else (names, tasks))
    cell = block.values[1][3] if count == 10 else block.values[3][1]
    assert cell == -0.03
    largest = (count - 1) / 100
    assert f"{count} models x 2 tasks; the largest, {largest:.4f} in size" in plot.alternative


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
    assert baker[1] is None
    assert cook == (None, 0.2)
    assert plot.alternative.endswith("the largest, 0.4000 in size, is nurse of b.")
    nothing = plain_row("a", by_task={"nurse": None})
    plot = heat_map(plain_sweep(nothing), nothing.question)
    assert plot.alternative.endswith("the largest, 0.0000 in size, is none of none.")


def over_steps(*steps: int, runs: tuple[str, ...] = ("run",), **changes: Any) -> SweepResult:
    """Checkpoints of training runs, whose values are a tenth of their number."""
    rows, curves = [], []
    for run in runs:
        own = [
            plain_row(f"{run}@{step}", number / 10, step=step, **changes)
            for number, step in enumerate(steps)
        ]
        band = tuple(
            Interval(number / 10 - 1, number / 10 + 1, 0.95, "t") for number in range(len(own))
        )
        names = tuple(row.model for row in own)
        curves.append(Curve(own[0].question, run, names, band, {"planted": 0.25}))
        rows += own
    return plain_sweep(*rows, curves=curves)


def drawn(result: SweepResult, number: int = 0) -> Any:
    return curve(result, result.curves[number])


def test_a_curve_has_its_value_its_band_and_its_levels() -> None:
    plot = drawn(over_steps(10, 20, 40))
    value, base, planted = plot.series
    assert value.x == base.x == planted.x == (10.0, 20.0, 40.0)
    assert value.y == (0.0, 0.1, 0.2)
    assert value.low == pytest.approx((-1.0, -0.9, -0.8))
    assert value.high == pytest.approx((1.0, 1.1, 1.2))
    assert value.labels == ("step 10", "step 20", "step 40")
    assert (base.name, base.y) == ("the base (0.0000)", (0.0,) * 3)
    assert (planted.name, planted.y) == ("planted (+0.2500)", (0.25,) * 3)
    assert plot.name == f"steps-{plain_row('a').question.slug}"
    assert plot.title == "task->attribute, labor (fitbert) over training"
    assert plot.alternative == "From 0.0000 at step 10 to +0.2000 at step 40."


def test_the_association_is_drawn_where_every_step_has_one() -> None:
    part = Estimate(0.5, Interval(0.4, 0.6, 0.95, "t"), plain_row("a").estimate.verdict)
    plot = drawn(over_steps(1, 2, association=part))
    assert [one.name for one in plot.series][:2] == ["value", "association"]
    assert plot.series[1].y == (0.5, 0.5)
    assert plot.series[1].labels == ("association, step 1", "association, step 2")
    some = over_steps(1, 2, association=part)
    rows = (some.rows[0], replace(some.rows[1], association=None))
    assert drawn(replace(some, rows=rows)).series[1].name.startswith("the base")


def test_a_step_without_a_band_has_its_value() -> None:
    result = over_steps(1, 2)
    none = Interval.undefined(0.95, "t")
    run = replace(result.curves[0], band=(none, result.curves[0].band[1]))
    value = curve(result, run).series[0]
    assert (value.low[0], value.high[0]) == (0.0, 0.0)
    assert (value.low[1], value.high[1]) == pytest.approx((-0.9, 1.1))


def test_every_step_needs_its_band() -> None:
    result = over_steps(1, 2)
    with pytest.raises(ValueError, match="argument 2 is longer"):
        curve(result, replace(result.curves[0], band=result.curves[0].band[:1]))


def test_curves_of_several_runs_are_numbered_and_named() -> None:
    result = over_steps(1, 2, runs=("x", "y"))
    first, second = drawn(result, 0), drawn(result, 1)
    assert first.name.endswith("-1")
    assert second.name.endswith("-2")
    assert (first.title[:3], second.title[:3]) == ("x, ", "y, ")


@pytest.mark.parametrize(
    ("steps", "scale"),
    [
        ((1, 30), "linear"),
        ((1, 31), "log"),
        ((2, 60), "linear"),
        ((2, 40, 61), "log"),
        ((0, 1, 100), "linear"),
        ((10, 1000, 299), "linear"),
    ],
)
def test_steps_that_differ_by_more_than_thirty_are_on_a_logarithmic_axis(
    steps: tuple[int, ...], scale: str
) -> None:
    assert drawn(over_steps(*steps)).x_scale == scale
