"""What a probe found, in sentences: against a slow loop, and in every kind of case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import lmprobe
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.results import Estimate, Interval, Note, NoteKind, Obstacle, Verdict
from lmprobe.results.moves import Moves
from lmprobe.stats.verdicts import Robustness, Unevenness
from tests.probing.made_rows import made_result, made_row

FORWARD, BACKWARD = DIRECTIONS
PLAIN = [[0.1, 0.2], [0.3, 0.4]]
CLAIMED = "exaggerates the links in labor (Table of labor)"


def said(*rows: Any, **options: Any) -> list[str]:
    return [statement.text for statement in made_result(*rows, **options).page().headline]


def strong(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, Interval(low, high, 0.95, "bootstrap"), Verdict.AMPLIFIES)


# ---- who was compared with what ---------------------------------------------------------------


def test_directions_that_agree_share_a_sentence_and_others_do_not() -> None:
    rows = made_row(PLAIN), made_row(PLAIN, direction=BACKWARD)
    assert said(*rows)[0] == f"made up {CLAIMED}, in both directions."
    low = made_row(PLAIN, direction=BACKWARD, interval=Interval(-0.3, -0.1, 0.95, "t"))
    both = f"Given the task, made up {CLAIMED}; given the group, it weakens the links in labor."
    assert said(rows[0], low)[0] == both
    assert said(rows[0])[0] == f"Given the task, made up {CLAIMED}."
    slots = {"templates": {"name": "x", "sha256": "a", "task": "job", "attribute": "name"}}
    assert "given the name, it weakens" in said(rows[0], low, facts=slots)[0]
    slots["templates"] |= {"own_words": {"attributes": {"man": "man"}}}
    assert "given the group, it weakens" in said(rows[0], low, facts=slots)[0]


@pytest.mark.parametrize("obstacle", Obstacle)
def test_what_forbids_a_verdict_is_the_first_thing_said(obstacle: Obstacle) -> None:
    rows = [made_row(PLAIN, direction=way, obstacle=obstacle) for way in DIRECTIONS]
    (first, *others) = said(*rows)
    assert first == f"No verdict on made up against labor (Table of labor): {obstacle.reason}."
    assert not any("times as strong" in text or "example" in text for text in others)
    again = [replace(row, base="other") for row in rows]
    assert said(*rows, *again)[-1] == "Nor is there a verdict against other."
    single = made_row(PLAIN, interval=Interval.too_few_units(0.95, "t"))
    assert said(single)[0].endswith(": too few templates or tasks for an interval.")


def test_a_base_with_links_of_its_own_leads_and_others_follow() -> None:
    uniform = made_row(PLAIN, base="uniform", lean_source="labor")
    sentences = said(uniform, made_row(PLAIN))
    assert sentences[0].endswith(f"{CLAIMED}.")
    departs = "Given the task, the model departs from uniform the way labor does."
    assert sentences[-1].startswith(departs)
    many = said(made_row(PLAIN), *(made_row(PLAIN, base=f"base {n}") for n in range(5)))
    assert many[-1] == "The table has 2 more bases."
    # Without a strength, how far the shares are from those of the base.
    assert said(made_row(PLAIN))[1] == "Shares are 25 points from those of labor on average."


def test_without_a_lean_the_size_and_its_p_value_are_said() -> None:
    uneven = Unevenness(0.2, Interval(0.1, 0.3, 0.95, "bootstrap-deviation"), 0.02)
    text, shares = said(made_row(PLAIN, base="uniform", unevenness=uneven))
    away = "points from uniform (Table of uniform) on average, which chance hardly explains"
    assert text.endswith(f"{away} (p 0.02).")
    assert shares.startswith("Farthest from uniform (share in uniform → in the model): ")
    unclear = replace(uneven, p_value=0.4)
    rows = [
        made_row(PLAIN, base="uniform", unevenness=test, direction=way, obstacle=Obstacle.NO_LEAN)
        for test, way in ((uneven, FORWARD), (unclear, BACKWARD))
    ]
    text, *others = said(*rows)
    assert "explains (p 0.02); given the group, it shows no difference between the groups" in text
    assert "no verdict" not in text
    assert others[0].startswith("No lean is known for these words against uniform: this is how")


# ---- how sure, and what the verdict does not say -----------------------------------------------


def test_a_strength_with_its_interval_and_one_that_stays_open() -> None:
    certain = said(made_row(PLAIN, strength=strong(1.5, 1.25, 1.75)))
    assert certain[1] == (
        "Its links are 1.50 times as strong as those of labor (95% interval 1.25 to 1.75)."
    )
    faint = said(made_row(PLAIN, strength=strong(0.0007, -0.5, 0.5)))
    assert faint[1].startswith("Its links are 0.00 times as strong")
    wide = said(made_row(PLAIN, strength=strong(1.5, -34.0, 37.0)))
    assert wide[1].startswith("How many times as strong its links are")
    assert wide[1].endswith("stays open: the 95% interval is −34.00 to 37.00.")


def test_a_verdict_that_hangs_on_single_families_says_so() -> None:
    flips = {"families": 1, "of_families": 3, "tasks": 0, "of_tasks": 2}
    fragile = Robustness(0.1, (-0.05, 0.25), 1 / 3, 1 / 3, flips)
    text = said(made_row(PLAIN, robustness=fragile))[-1]
    assert text == (
        "Given the task, the verdict against labor is fragile: leaving out one family can change "
        "it (true of 1 of 3 families of sentences)."
    )
    undecided = Interval(-0.1, 0.3, 0.95, "t")
    assert "fragile" not in repr(said(made_row(PLAIN, robustness=fragile, interval=undecided)))


def test_a_small_mass_is_not_said_of_shares_that_mean_nothing() -> None:
    tiny = (Note(NoteKind.MASS, "it is tiny"),)
    assert "tiny" not in repr(said(made_row(PLAIN, notes=tiny, obstacle=Obstacle.UNINFORMED)))


@pytest.mark.parametrize("kind", [NoteKind.MASS, NoteKind.BASE, NoteKind.PREFERENCE])
def test_what_changes_the_reading_is_said_and_assumptions_are_not(kind: NoteKind) -> None:
    notes = Note(kind, "it is tiny"), Note(NoteKind.ASSUMPTION, "rows are independent")
    sentences = said(made_row(PLAIN, notes=notes))
    assert sentences[-1] == "Given the task, it is tiny."
    assert "independent" not in repr(sentences)
    both = said(*(made_row(PLAIN, notes=notes, direction=way) for way in DIRECTIONS))
    if kind is not NoteKind.MASS:
        assert [text for text in both if "tiny" in text] == ["It is tiny."]


# ---- which tasks moved ------------------------------------------------------------------------


shares = arrays.arrays(np.float64, (2, 5), elements=st.floats(0, 1))
leans = arrays.arrays(np.float64, (2, 5), elements=st.sampled_from([-1.0, 0.0, 1.0, np.nan]))


@given(shares, shares, leans, st.sampled_from(Direction))
def test_the_farthest_moves_by_a_loop(base: Any, model: Any, lean: Any, way: Direction) -> None:
    attributes, tasks = ("he", "she"), tuple("abcde")
    moved = {}
    for number, task in enumerate(tasks):
        pairs = [
            model[group, number] - base[group, number]
            for group in range(2)
            if lean[group, number] > 0
        ]
        moved[task] = max(pairs, key=abs, default=0.0)
    moves = Moves(way, attributes, tasks, base, model, lean)
    for sign, named in ((1, moves.beyond()), (-1, moves.back())):
        expected = sorted(
            (task for task in tasks if sign * moved[task] > 1e-9),
            key=lambda task: -sign * moved[task],
        )
        assert len(named) == min(3, len(expected))
        for move, task in zip(named, expected, strict=False):
            own = move.given if way is FORWARD else move.predicted
            assert moved[own] == pytest.approx(moved[task])
            group = attributes.index(move.predicted if way is FORWARD else move.given)
            number = tasks.index(own)
            assert (move.base, move.model) == (base[group, number], model[group, number])


def test_an_example_is_the_task_nearest_to_the_mean_of_the_group_that_the_base_leans_to() -> None:
    lean = np.array([[-1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
    base = np.array([[0.2, 0.7, 0.4], [0.8, 0.3, 0.6]])
    moved = np.array([0.02, 0.10, 0.30])
    model = base + lean * moved
    moves = Moves(FORWARD, ("he", "she"), ("nurse", "pilot", "cook"), base, model, lean)
    assert str(moves.example(0.14)) == "pilot (he 70% → 80%)"
    # It is one of those that moved farthest, which explain the arrow in its place.
    assert [*moves.sentences(0.14, "the base", "the model")] == [
        "Farthest beyond the base (share in the base → in the model): cook (she 60% → 90%), "
        "pilot (he 70% → 80%), nurse (she 80% → 82%). None moves back."
    ]
    lean, base = (np.hstack([table, table[:, :1]]) for table in (lean, base))
    model = base + lean * [0.02, 0.10, 0.30, 0.01]
    moves = Moves(FORWARD, ("he", "she"), ("nurse", "pilot", "cook", "chef"), base, model, lean)
    example, beyond = moves.sentences(0.0, "the base", "the model")
    assert example == (
        "A typical example, chef: the share of “she” is 80% in the base and 81% in the model."
    )
    assert beyond.startswith("Farthest beyond the base: cook (she 60% → 90%), pilot (he")


def test_an_example_moves_the_way_of_the_value() -> None:
    lean = np.array([[-1.0, 1.0], [1.0, -1.0]])
    base = np.full((2, 2), 0.5)
    moves = Moves(FORWARD, ("he", "she"), ("nurse", "pilot"), base, base + lean * [-0.1, 0.4], lean)
    assert [str(moves.example(value)) for value in (0.05, -0.4)] == [
        "pilot (he 50% → 90%)", "nurse (she 50% → 40%)",
    ]  # fmt: skip


# ---- the whole screen -------------------------------------------------------------------------


def test_the_first_command_fills_one_screen_and_names_occupations(command: Any) -> None:
    code, out, err = command("run")("--base", "labor", "--base", "uniform")
    lines = [*out.splitlines(), *err.splitlines()]
    assert code == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert out.splitlines()[0].startswith("reference:amplified exaggerates the links in labor")
    assert "Its links are 1.74 times as strong" in out
    assert "association" not in out
    assert "preference" not in out


def test_every_form_begins_with_the_same_sentences(tmp_path: Any) -> None:
    result = lmprobe.probe("reference:amplified", base="labor", tasks=["nurse", "mover", "cook"])
    first = result.page().headline[0].text
    assert result.to_markdown().index(first[:40]) < result.to_markdown().index("| --")
    assert result.to_html().index(first[:40]) < result.to_html().index("<table")
    assert first[:40] in result._repr_html_()
    assert first in repr(result).replace("\n", " ")
    assert str(result).startswith(first[:40])
    assert "association" not in str(result)
