"""What the page of a sweep says of rows made by hand, and how much of them it draws."""

from __future__ import annotations

from typing import Any

import pytest

from lmprobe.core.direction import Direction
from lmprobe.results import Interval, Page, Section
from lmprobe.sweeping.page import _forests, _tasks, sweep_page
from lmprobe.sweeping.result import Curve, Order, SweepResult
from tests.made_up_sweeps import plain_row, plain_sweep


def section(page: Page, title: str) -> Section:
    (found,) = (one for one in page.sections if one.title == title)
    return found


def questions(count: int, models: int, **changes: Any) -> list[Any]:
    return [
        plain_row(f"m{model:02}", model / 100, base=f"base-{number}", **changes)
        for number in range(count)
        for model in range(models)
    ]


def test_1200_lines_of_forests_are_drawn_and_no_more() -> None:
    rows = questions(20, 60)
    drawn = _forests(plain_sweep(*rows))
    assert len(drawn.figures) == 20
    assert len(drawn.text) == 1
    more = _forests(plain_sweep(*rows, plain_row("m00", base="one more")))
    assert len(more.figures) == 20
    assert more.text[1].startswith("The first 20 of 21 questions are drawn")


def test_30000_cells_of_tasks_are_drawn_and_no_more() -> None:
    tasks = {f"task {number}": 0.1 for number in range(300)}
    rows = questions(1, 100, by_task=tasks)
    drawn = _tasks(plain_sweep(*rows))
    assert len(drawn.figures) == 1
    assert drawn.text == ()
    last = plain_row("m00", base="one more", by_task={"task": 0.1})
    more = _tasks(plain_sweep(*rows, last))
    assert len(more.figures) == 1
    assert more.text[0].startswith("The first 1 of 2 questions are drawn")


@pytest.mark.parametrize(("count", "collapsed"), [(40, False), (41, True)])
def test_tasks_of_more_than_forty_models_are_folded_away(count: int, collapsed: bool) -> None:
    assert _tasks(plain_sweep(*questions(1, count))).collapsed is collapsed


def sentences(result: SweepResult) -> list[str]:
    return [one.text for one in sweep_page(result).headline]


def test_the_title_compares_two_models_or_asks_of_one() -> None:
    one, two = plain_sweep(plain_row("a")), plain_sweep(plain_row("a"), plain_row("b"))
    assert sweep_page(one).title == "Does a exaggerate the base rates?"
    assert sweep_page(two).title == "2 models compared"
    assert sweep_page(two).subtitle == "2 models · 1 template set · 1 base"
    assert sentences(one) != []
    assert sentences(two) == []
    first = sweep_page(one).sections[0]
    assert first.searchable
    assert "rank" not in first.text[0]
    ranked = plain_sweep(plain_row("a"), plain_row("b"), groups=[["a", "b"]])
    assert "The rank is the range that the data allow" in sweep_page(ranked).sections[0].text[0]


def three(*groups: str) -> SweepResult:
    rows = [plain_row(name, number / 10) for number, name in enumerate("abc", start=1)]
    return plain_sweep(*rows, groups=[list(group) for group in groups])


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (three("abc"), "no two of 3 models can be told apart."),
        (three("a", "b", "c"), "from a (+0.1000) to c (+0.3000); all can be told apart."),
        (three("ab", "c"), "; 1 group of models that cannot be told apart."),
        (three("ab", "bc"), "; 2 groups of models that cannot be told apart."),
    ],
)
def test_a_question_has_a_sentence(result: SweepResult, said: str) -> None:
    (sentence,) = sentences(result)
    assert sentence.startswith("fitbert, labor, task->attribute: ")
    assert sentence.endswith(said)


@pytest.mark.parametrize("count", [6, 7])
def test_more_than_six_questions_share_a_sentence(count: int) -> None:
    rows = questions(count, 2)
    names = ("m00", "m01")
    made = plain_sweep(*rows, groups=[["m00"], ["m01"]])
    # The first question cannot tell its models apart.
    orders = (Order(made.questions[0], names, (names,)), *made.orders[1:])
    result = plain_sweep(*rows)
    said = sentences(SweepResult(result.rows, orders, (), (), result.provenance))
    if count == 6:
        assert len(said) == 6
    else:
        assert said == [
            "6 of 7 questions (template set, base, direction) tell some of 2 models apart.",
        ]


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
    assert second.endswith(
        "from +0.0100 at step 10 to +0.1000 at step 100, which cannot be told apart."
    )
    page = sweep_page(result)
    assert page.title == "3 checkpoints compared"
    assert len(section(page, "Over the training run").figures) == 2
