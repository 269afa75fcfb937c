"""What a reader sees of a plan: the headline, empty cells and their caption, JSON and back."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lmprobe.core.direction import Direction
from lmprobe.inference.pilot import Components, TemplatePlan
from lmprobe.inference.plan_result import (
    BasePlan,
    PlanQuestion,
    PlanResult,
    RowsPlan,
    TemplatesPlan,
)
from lmprobe.results import Note, NoteKind

UP = Direction.TASK_TO_ATTRIBUTE
PARTS = Components(0.1, 0.2, 0.3, 4, 5)


def rows_plan(*rows: tuple[str, int, float], effect: float | None = None) -> PlanResult:
    found = tuple(RowsPlan(*row, "not used") for row in rows)
    return PlanResult(PlanQuestion.ROWS, found, effect)


def templates_plan(templates: int | None, tasks: int | None) -> PlanResult:
    plan = TemplatePlan(0.1, 0.9, PARTS, templates, tasks, 7, 0.25)
    return PlanResult(PlanQuestion.TEMPLATES, (TemplatesPlan("labor", UP, plan),), 0.1, 0.9)


def base_plan(*needed: int | None) -> PlanResult:
    rows = tuple(BasePlan("wikipedia", UP, 1200, 0.58, one) for one in needed)
    return PlanResult(PlanQuestion.BASE, rows)


def headline(result: PlanResult) -> str:
    (statement,) = result.page().headline
    return statement.text


class TestHeadline:
    def test_the_fewest_rows_that_are_guaranteed(self) -> None:
        plan = rows_plan(
            ("score", 800, 0.05), ("hoeffding", 23_612, 0.05), ("exact", 1641, 0.05), effect=0.05
        )
        assert headline(plan) == "A claim of 0.05 needs 1,641 rows (exact)."
        only = rows_plan(("score", 800, 0.05), ("bootstrap", 700, 0.05), effect=0.05)
        assert headline(only) == "A claim of 0.05 needs 700 rows (bootstrap)."

    def test_the_smallest_effect_of_given_rows(self) -> None:
        plan = rows_plan(("score", 3160, 0.03), ("exact", 3160, 0.035), ("hoeffding", 3160, 0.1))
        assert headline(plan) == "3,160 rows can claim 0.0350 (exact)."
        none = rows_plan(("exact", 2, math.inf), ("hoeffding", 2, math.inf))
        assert headline(none).startswith("No difference is large enough to be claimed")

    def test_a_pilot(self) -> None:
        assert headline(templates_plan(9, 8)).startswith("What a probe needs to claim 0.1")

    def test_the_direction_that_needs_most_sentences(self) -> None:
        assert headline(base_plan(5000, 12_000, 7000)).startswith("About 12,000 sentences show")
        assert headline(base_plan(5000, None)).startswith("No number of sentences shows 90 %")


class TestTable:
    def test_an_effect_is_in_the_title(self) -> None:
        assert rows_plan(("exact", 9, 0.05), effect=0.05).tables()[0].title == "to claim 0.05"
        assert rows_plan(("exact", 9, 0.05)).tables()[0].title == ""

    def test_a_caption_explains_empty_cells_where_there_are_any(self) -> None:
        full = rows_plan(("exact", 9, 0.05)).tables()[0]
        assert (full.rows, full.caption) == ((("exact", 9, 0.05),), "")
        empty = rows_plan(("exact", 9, 0.05), ("hoeffding", 9, math.inf)).tables()[0]
        assert empty.rows[1] == ("hoeffding", 9, None)
        assert empty.caption.startswith("Empty: only a difference larger than the largest cost")
        assert templates_plan(9, 8).tables()[0].caption == ""
        gap = templates_plan(None, 8).tables()[0]
        assert gap.rows == (("labor", UP, 0.25, None, 8, 7),)
        assert gap.caption.startswith("Empty: no number is enough")

    def test_what_a_base_shows_is_always_explained(self) -> None:
        for needed in (5000, None):
            (table,) = base_plan(needed).tables()
            assert table.rows == (("wikipedia", UP, 1200, 0.58, needed),)
            assert table.caption.startswith("Found: the share of an amplification")


def test_the_page_folds_the_provenance_away() -> None:
    note = Note(NoteKind.METHOD, "normal")
    rows = (RowsPlan("exact", 9, 0.05, "x"),)
    page = PlanResult(PlanQuestion.ROWS, rows, 0.05, 0.9, (note,), {"seed": 3}).page()
    assert [one.title for one in page.sections] == ["Plan", "Notes", "Provenance"]
    assert [one.title for one in page.sections if one.collapsed] == ["Provenance"]
    assert page.sections[2].facts == {"seed": "3"}
    assert page.notes == (note,)
    assert page.subtitle == "at a confidence of 0.9"


def test_the_confidence_is_95_percent_if_not_given() -> None:
    assert rows_plan(("exact", 9, 0.05)).page().subtitle == "at a confidence of 0.95"


@pytest.mark.parametrize(
    "plan",
    [
        rows_plan(("exact", 9, 0.05), ("hoeffding", 9, math.inf), effect=0.05),
        rows_plan(("exact", 9, 0.05)),
        templates_plan(None, 8),
        templates_plan(9, None),
        base_plan(5000, None),
    ],
)
def test_the_document_is_read_back(plan: PlanResult) -> None:
    document: dict[str, Any] = plan.body()
    again = PlanResult.from_body(document)
    assert again.rows == plan.rows
    assert (again.question, again.effect) == (plan.question, plan.effect)
    assert again.confidence == plan.confidence
    assert again.body() == document
