"""A plan: which questions may be asked together, and what each of them computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.errors import InputError
from lmprobe.inference.plan_result import PlanQuestion
from lmprobe.inference.planning import PLANNED, claimable_effect, sample_size
from lmprobe.probing import plan as module
from lmprobe.probing.plan import plan
from lmprobe.sources.table import Sampling, table_of
from tests.probing.made_rows import made_result, made_row

PILOT = made_result(made_row(np.random.default_rng(0).normal(0.1, 0.05, (6, 2, 4))))
COUNTS = np.array([[1.0, 0.0, 0.0, 0.0], [30.0, 0.0, 9.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
GROUPS, TASKS = ("he", "she", "they"), ("cook", "vet", "nurse", "clerk")
BASE = table_of("counted", COUNTS, GROUPS, TASKS, sampling=Sampling())


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"effect": 0.1, "rows": 100},
        {"pilot": PILOT},
        {"pilot": PILOT, "rows": 100},
        {"pilot": PILOT, "rows": 100, "effect": 0.1},
    ],
)
def test_an_effect_or_a_number_of_rows_is_needed(question: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="give `effect`, or `rows`"):
        plan(**question)


@pytest.mark.parametrize("more", [{"effect": 0.1}, {"rows": 100}, {"pilot": PILOT}])
def test_a_base_is_planned_alone(more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="`base` plans sentences: give it without"):
        plan(base=BASE, **more)


@pytest.mark.parametrize("what", [{"effect": 0.1, "pilot": PILOT}, {"base": BASE}])
@pytest.mark.parametrize(
    "fixed", [{"method": "bernstein"}, {"variance": 0.1}, {"method": "exact", "variance": 0.1}]
)
def test_a_pilot_and_a_base_have_their_own_variance(
    what: dict[str, Any], fixed: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match="has its own variance: no method, no variance"):
        plan(**what, **fixed)


def test_a_variance_needs_a_method() -> None:
    with pytest.raises(InputError, match="give a method too"):
        plan(0.1, variance=0.1)
    (row,) = plan(0.1, variance=0.1, method="score").rows
    assert row.n == sample_size(0.1, variance=0.1, method="score")


def test_an_effect_is_planned_for_every_method_or_for_one() -> None:
    found = plan(0.5, confidence=0.9, group_share=0.3)
    assert found.question is PlanQuestion.ROWS
    assert [row.method for row in found.rows] == list(PLANNED)
    for row in found.rows:
        options = {"confidence": 0.9, "group_share": 0.3, "method": row.method}
        assert row.n == sample_size(0.5, **options)
        assert row.effect == 0.5
    (only,) = plan(0.2, method="hoeffding").rows
    assert only.method == "hoeffding"


def test_rows_have_an_effect_that_they_can_claim() -> None:
    for row in plan(rows=60).rows:
        assert row.n == 60
        effect = claimable_effect(60, method=row.method)
        assert row.effect == (effect if effect <= 1 else math.inf)


def test_no_difference_is_larger_than_the_largest_cost() -> None:
    """An effect as large as the largest cost is possible; one that is larger is not."""
    assert plan(1.0, method="hoeffding").rows[0].effect == 1.0
    assert plan(3.0, cost_bound=3.0, method="hoeffding").rows[0].effect == 3.0
    assert claimable_effect(3, method="hoeffding") > 1
    assert plan(rows=3, method="hoeffding").rows[0].effect == math.inf


def test_a_pilot_plans_templates() -> None:
    found = plan(0.05, pilot=PILOT, confidence=0.9)
    assert found.question is PlanQuestion.TEMPLATES
    assert found.effect == 0.05
    (row,) = found.rows
    assert (row.base, row.direction) == ("labor", Direction.TASK_TO_ATTRIBUTE)


def test_a_base_plans_sentences_of_what_was_ever_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single sentence is enough to take part, and the seed is zero."""
    asked: list[tuple[Any, ...]] = []

    def reliable(counts: np.ndarray, direction: Direction, *, rng: np.random.Generator) -> Any:
        asked.append((counts, direction, rng.bit_generator.state))
        return type("Found", (), {"proportional": 0.25})()

    monkeypatch.setattr(module, "reliability", reliable)
    monkeypatch.setattr(module, "sentences_needed", lambda counts, direction: counts.size)
    found = plan(base=BASE)
    assert found.question is PlanQuestion.BASE
    kept = np.array([[1, 0, 0], [30, 9, 1]])
    assert [one[1] for one in asked] == list(DIRECTIONS)
    for counts, _, state in asked:
        np.testing.assert_array_equal(counts, kept)
        assert state == np.random.default_rng(0).bit_generator.state
    for row in found.rows:
        assert (row.base, row.sentences, row.found, row.needed) == ("counted", 41, 0.25, 6)


@pytest.mark.parametrize("sampling", [None, Sampling(np.ones(COUNTS.shape))])
def test_only_counted_sentences_can_be_planned(sampling: Sampling | None) -> None:
    base = table_of("weights", COUNTS, GROUPS, TASKS, sampling=sampling)
    with pytest.raises(InputError, match='"weights" is not known to be a table of counted sent'):
        plan(base=base)
