"""A plan: which questions may be asked together, what each computes, its headline and table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lmprobe import load_result, plan
from lmprobe.errors import InputError, LmprobeError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.plan import BasePlan, PlanQuestion, PlanResult, RowsPlan, TemplatesPlan
from lmprobe.results import Note, NoteKind
from lmprobe.sources.source import Sampling, table_of
from lmprobe.stats.base_uncertainty import reliability
from lmprobe.stats.planning import (
    VARIANCE_IS,
    Components,
    TemplatePlan,
    claimable_effect,
    sample_size,
    sentences_needed,
    templates_needed,
)
from tests.probing.made_rows import made_result, made_row

UP = Direction.TASK_TO_ATTRIBUTE
CELLS = np.random.default_rng(0).normal(0.1, 0.05, (6, 2, 4))
PILOT = made_result(made_row(CELLS))
COUNTS = np.array([[21.0, 0.0, 30.0, 4.0], [30.0, 0.0, 9.0, 14.0], [0.0, 0.0, 0.0, 0.0]])
GROUPS, TASKS = ("he", "she", "they"), ("cook", "vet", "nurse", "clerk")
BASE = table_of("counted", COUNTS, GROUPS, TASKS, sampling=Sampling())


class TestQuestions:
    def test_an_effect_is_planned_for_every_method(self) -> None:
        result = plan(0.5, confidence=0.9, group_share=0.3, power=0.7)
        assert (result.question, result.confidence) == (PlanQuestion.ROWS, 0.9)
        assert (result.power, plan(0.5, method="score").power) == (0.7, 0.8)
        methods = ["bernstein", "exact", "betting", "score", "bootstrap"]
        assert [row.method for row in result.rows] == list(VARIANCE_IS) == methods
        for row in result.rows:
            options = {"confidence": 0.9, "group_share": 0.3, "method": row.method}
            assert row.n == sample_size(0.5, **options)
            assert row.n_power == sample_size(0.5, **options, power=0.7)
            assert row.effect == 0.5
            assert row.variance_is == VARIANCE_IS[row.method]
        assert [note.kind for note in result.notes] == [NoteKind.METHOD, NoteKind.ASSUMPTION]

    def test_rows_have_an_effect_that_they_can_claim(self) -> None:
        for row in plan(rows=60).rows:
            effect = claimable_effect(60, method=row.method)
            assert (row.n, row.effect) == (60, effect if effect <= 1 else math.inf)
            assert row.n_power == sample_size(effect, method=row.method, power=0.8)
        # An effect as large as the largest cost is possible; one that is larger is not.
        assert plan(3.0, cost_bound=3.0, method="bernstein").rows[0].effect == 3.0
        assert claimable_effect(3) > 1
        (none,) = plan(rows=3, method="bernstein").rows
        assert (none.effect, none.n_power) == (math.inf, None)

    def test_a_variance_belongs_to_a_method(self) -> None:
        (row,) = plan(0.1, variance=0.1, method="score").rows
        assert row.n == sample_size(0.1, variance=0.1, method="score")
        with pytest.raises(InputError, match="each method: give `method`"):
            plan(0.1, variance=0.1)

    def test_a_pilot_plans_templates(self, tmp_path: Path) -> None:
        (tmp_path / "result.json").write_text(PILOT.to_json())
        expected = templates_needed(CELLS, 0.05, confidence=0.9)
        for pilot in (PILOT, tmp_path, str(tmp_path / "result.json")):
            result = plan(0.05, pilot=pilot, confidence=0.9)
            assert (result.question, result.effect) == (PlanQuestion.TEMPLATES, 0.05)
            (row,) = result.rows
            assert (row.base, row.direction) == ("labor", UP)
            assert row.plan.templates == expected.templates
            assert row.plan.tasks == expected.tasks
            assert row.plan.halfwidth == pytest.approx(expected.halfwidth)

    def test_families_of_the_pilot_are_its_units(self) -> None:
        families = ("a", "a", "b", "b", "c", "c")
        pilot = made_result(made_row(CELLS, families=families), families=families)
        (row,) = plan(0.05, pilot=pilot).rows
        assert row.plan.components.n_templates == 3

    def test_a_base_plans_sentences_of_what_was_ever_counted(self) -> None:
        counted = COUNTS[:2][:, [0, 2, 3]]
        result = plan(base=BASE)
        assert result.question is PlanQuestion.BASE
        for row, direction in zip(result.rows, DIRECTIONS, strict=True):
            shown = reliability(counted, direction, rng=np.random.default_rng(0)).proportional
            assert (row.base, row.direction) == ("counted", direction)
            assert (row.sentences, row.share) == (108, shown)
            assert row.needed == sentences_needed(counted, direction)

    @pytest.mark.parametrize(
        ("question", "message"),
        [
            ({}, "give `effect`, or `rows`"),
            ({"effect": 0.1, "rows": 100}, "give `effect`, or `rows`"),
            ({"pilot": PILOT, "rows": 100}, "give `effect`, or `rows`"),
            ({"base": BASE, "effect": 0.1}, "`base` plans sentences: give it without"),
            ({"base": BASE, "rows": 100}, "`base` plans sentences: give it without"),
            ({"base": BASE, "pilot": PILOT}, "`base` plans sentences: give it without"),
            ({"base": BASE, "method": "exact"}, "has its own variance: no `method`, no `variance`"),
            ({"base": BASE, "variance": 0.1}, "has its own variance: no `method`, no `variance`"),
            ({"effect": 0.1, "pilot": PILOT, "variance": 0.1}, "has its own variance"),
            ({"effect": 0.1, "power": 1.5}, "`power` must lie between 0 and 1"),
            ({"effect": 0.1, "method": "exct"}, 'no plan for "exct"; did you mean "exact"'),
            ({"effect": 0.1, "pilot": "missing.json"}, "missing.json: no such result file"),
            ({"effect": 0.1, "pilot": 3}, "a result, its JSON or its path is expected: found 3"),
            (
                {"effect": 0.1, "pilot": plan(0.5, method="score").to_json()},
                "the result of another job, 'plan'; expected 'probe'",
            ),
        ],
    )
    def test_mistakes(self, question: dict[str, Any], message: str) -> None:
        with pytest.raises(LmprobeError, match=message):
            plan(**question)

    @pytest.mark.parametrize("sampling", [None, Sampling(np.ones(COUNTS.shape))])
    def test_only_counted_sentences_can_be_planned(self, sampling: Sampling | None) -> None:
        base = table_of("weights", COUNTS, GROUPS, TASKS, sampling=sampling)
        with pytest.raises(InputError, match='"weights" is not known to be a table of counted'):
            plan(base=base)


def rows_plan(*rows: tuple[str, int, float], effect: float | None = None) -> PlanResult:
    planned = tuple(RowsPlan(*row, "of costs", 2 * row[1] if row[2] <= 1 else None) for row in rows)
    return PlanResult(PlanQuestion.ROWS, planned, effect)


def templates_plan(templates: int | None, tasks: int | None) -> PlanResult:
    parts = Components(0.1, 0.2, 0.3, 4, 5)
    row = TemplatesPlan("labor", UP, TemplatePlan(0.1, 0.9, parts, templates, tasks, 7, 0.25))
    return PlanResult(PlanQuestion.TEMPLATES, (row,), 0.1, 0.9)


def base_plan(*needed: int | None) -> PlanResult:
    rows = tuple(BasePlan("wikipedia", UP, 1200, number, 0.58) for number in needed)
    return PlanResult(PlanQuestion.BASE, rows)


@pytest.mark.parametrize(
    ("result", "headline"),
    [
        # The fewest rows that are guaranteed, an approximation only where there is nothing else.
        (
            rows_plan(("score", 8, 0.05), ("bernstein", 11_903, 0.05), ("exact", 1641, 0.05),
                      effect=0.05),
            "To claim a difference of 0.05 takes 1,641 rows (exact), 3,282 for a power of 0.8.",
        ),
        (
            rows_plan(("score", 800, 0.05), ("bootstrap", 700, 0.05), effect=0.05),
            "To claim a difference of 0.05 takes 700 rows (bootstrap), 1,400 for a power of 0.8.",
        ),
        (
            rows_plan(("score", 3160, 0.03), ("exact", 3160, 0.035), ("bernstein", 3160, 0.1)),
            "3,160 rows can show a difference of 0.0350 (exact), 6,320 for a power of 0.8.",
        ),
        (
            rows_plan(("exact", 2, math.inf), ("bernstein", 2, math.inf)),
            "No difference is large enough to be claimed with so few rows (2).",
        ),
        (
            templates_plan(9, 8),
            "What a probe needs to claim 0.1, from the variance of the pilot.",
        ),
        (
            base_plan(5000, 12_000, 7000),
            "About 12,000 sentences show 90 % of an amplification in every direction.",
        ),
        (
            base_plan(5000, None),
            "No number of sentences shows 90 % of an amplification in every direction.",
        ),
    ],
)  # fmt: skip
def test_the_headline(result: PlanResult, headline: str) -> None:
    (statement,) = result.page().headline
    assert statement.text == headline


@pytest.mark.parametrize(
    ("result", "rows", "title", "caption"),
    [
        (rows_plan(("exact", 9, 0.05), effect=0.05), [("exact", 9, 18, 0.05)], "to claim 0.05", ""),
        (
            rows_plan(("exact", 9, math.inf)),
            [("exact", 9, None, None)],
            "",
            "–: only a difference",
        ),
        (templates_plan(9, 8), [("labor", UP, 0.25, 9, 8, 7)], "to claim 0.1", ""),
        (
            templates_plan(None, 8),
            [("labor", UP, 0.25, None, 8, 7)],
            "to claim 0.1",
            "–: no number is enough",
        ),
        (base_plan(5000), [("wikipedia", UP, 1200, 0.58, 5000)], "", "Found: the share of"),
    ],
)
def test_the_table(result: PlanResult, rows: list[Any], title: str, caption: str) -> None:
    (table,) = result.tables()
    assert list(table.rows) == rows
    assert (table.title, bool(table.caption)) == (title, bool(caption))
    assert table.caption.startswith(caption)


def test_the_page() -> None:
    note = Note(NoteKind.METHOD, "normal")
    rows = (RowsPlan("exact", 9, 0.05, "x"),)
    page = PlanResult(PlanQuestion.ROWS, rows, 0.05, 0.9, (note,), {"seed": 3}).page()
    titles = ["Plan", "Assumptions and method", "Provenance"]
    assert [section.title for section in page.sections] == titles
    assert [section.title for section in page.sections if section.collapsed] == titles[1:]
    assert page.sections[2].facts == {"seed": "3"}
    assert page.notes == (note,)
    assert page.subtitle == "at a confidence of 0.9 and a power of 0.8"
    assert base_plan(5000).page().subtitle == "at a confidence of 0.95"


@pytest.mark.parametrize(
    "result",
    [
        rows_plan(("exact", 9, 0.05), ("bernstein", 9, math.inf), effect=0.05),
        templates_plan(None, 8),
        base_plan(5000, None),
    ],
)
def test_the_document_is_read_back(result: PlanResult) -> None:
    again = load_result(result.to_json())
    assert isinstance(again, PlanResult)
    assert (again.rows, again.question) == (result.rows, result.question)
    assert (again.effect, again.confidence) == (result.effect, result.confidence)
    assert again.power == result.power
    assert again.to_json() == result.to_json()


def test_a_document_with_a_missing_number_is_damaged() -> None:
    text = base_plan(5000).to_json().replace('"needed"', '"wanted"')
    with pytest.raises(LmprobeError, match="damaged result"):
        PlanResult.from_json(text)


def test_a_document_of_an_earlier_version_has_no_power() -> None:
    document = json.loads(rows_plan(("exact", 9, 0.05), effect=0.05).to_json())
    del document["power"], document["rows"][0]["n_power"]
    again = PlanResult.from_json(json.dumps(document))
    assert again.rows[0].n_power is None
    assert again.page().headline[0].text == "To claim a difference of 0.05 takes 9 rows (exact)."
