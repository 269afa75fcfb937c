"""The result of a comparison: verdicts, JSON there and back, tables, figures and the page."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from lmprobe import ComparisonResult
from lmprobe.errors import DataFileError
from lmprobe.metrics.direction import DIRECTIONS, Direction
from lmprobe.probing.comparison import ComparisonRow
from lmprobe.probing.settings import CompareSettings
from lmprobe.report.terminal import table_text
from lmprobe.results import Interval, IntervalPlot, Note, NoteKind, Obstacle, Verdict
from lmprobe.stats.comparison import SMALLEST, TaskDifference
from lmprobe.stats.flips import Flips, FlipShare

FORWARD, BACKWARD = DIRECTIONS


def task(name: str, value: float, p: float = 0.01) -> TaskDifference:
    ends = Interval(value - 0.001, value + 0.001, 0.95, "bonferroni-t")
    return TaskDifference(name, value, p, p, p, ends)


def row(
    first: str = "a",
    second: str = "b",
    base: str = "labor",
    direction: Direction = FORWARD,
    value: float = 0.2,
    **options: Any,
) -> ComparisonRow:
    """Return a difference that can be claimed."""
    ends = Interval(value - 0.1, value + 0.1, options.pop("confidence", 0.95), "bootstrap")
    selected: dict[str, Any] = {"p_value": 0.01, "p_value_unadjusted": 0.01, "tasks": ()} | options
    return ComparisonRow(first, second, base, direction, (0.0, value), ends, **selected)


def result(*rows: ComparisonRow, **facts: Any) -> ComparisonResult:
    names = list(dict.fromkeys(name for row in rows for name in (row.first, row.second)))
    provenance = {
        "names": names,
        "given": names,
        "saved": [True] * len(names),
        "settings": CompareSettings().to_dict(),
    }
    return ComparisonResult(rows, provenance | facts)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, Verdict.HIGHER),
        ({"value": -0.2}, Verdict.LOWER),
        ({"foreign_lean": True}, Verdict.HIGHER),
        ({"value": -0.2, "foreign_lean": True}, Verdict.LOWER),
        ({"value": 0.05}, Verdict.UNDECIDED),
        # 1 - 0.75 is a number without rounding.
        ({"p_value": 0.25, "confidence": 0.75}, Verdict.HIGHER),
        ({"p_value": 0.06}, Verdict.UNDECIDED),
        ({"p_value": math.nan}, Verdict.UNDECIDED),
        ({"p_value": 0.06, "confidence": 0.9}, Verdict.HIGHER),
        ({"margin": 0.5, "p_equivalence": 0.25, "confidence": 0.75}, Verdict.EQUIVALENT),
        ({"margin": 0.5, "p_equivalence": 0.06}, Verdict.HIGHER),
        ({"margin": 0.5, "p_equivalence": math.nan}, Verdict.HIGHER),
    ],
)
def test_a_claim_needs_the_adjusted_p_value_and_the_interval(
    changes: dict[str, Any], verdict: Verdict
) -> None:
    assert row(**changes).verdict is verdict


def test_a_difference_that_no_table_shows_is_not_claimed() -> None:
    ends = Interval(SMALLEST / 2, 2 * SMALLEST, 0.95, "bootstrap")
    for value, verdict in (
        (SMALLEST, Verdict.HIGHER),
        (np.nextafter(SMALLEST, 0), Verdict.UNDECIDED),
    ):
        assert replace(row(), values=(0.0, value), interval=ends).verdict is verdict


numbers = st.floats(-1, 1)
intervals = st.one_of(
    st.tuples(numbers, numbers).map(lambda pair: Interval(min(pair), max(pair), 0.95, "bootstrap")),
    st.just(Interval.undefined(0.95, "bootstrap")),
    st.just(Interval.too_few_units(0.95, "bootstrap")),
    numbers.map(lambda low: Interval(low, math.inf, 0.95, "bernstein")),
)
p_values = st.floats(0, 1) | st.just(math.nan)


@given(
    st.builds(
        ComparisonRow,
        first=st.text(),
        second=st.text(),
        base=st.sampled_from(["labor", "our town, 2020"]),
        direction=st.sampled_from(Direction),
        values=st.tuples(numbers, numbers),
        interval=intervals,
        p_value=p_values,
        p_value_unadjusted=p_values,
        margin=st.just(0.1),
        p_equivalence=p_values,
        tasks=st.lists(
            st.builds(TaskDifference, st.text(), p_values, p_values, p_values, p_values), max_size=2
        ).map(tuple),
        corrected=st.none() | numbers,
        middle=st.none() | intervals,
        obstacle=st.none() | st.sampled_from(Obstacle),
        flips=st.none()
        | st.builds(
            Flips, p_values, intervals, st.builds(FlipShare, p_values, intervals), p_values
        ),
        foreign_lean=st.booleans(),
        notes=st.lists(st.builds(Note, st.sampled_from(NoteKind), st.text()), max_size=2).map(
            tuple
        ),
    )
)
def test_every_row_survives_json(row: ComparisonRow) -> None:
    result = ComparisonResult((row,), {"names": ["a", "b"]})
    again = ComparisonResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()


def test_documents_of_earlier_versions_and_without_rows() -> None:
    document = json.loads(result(row(tasks=(task("cook", 0.1),))).to_json())
    assert (document["schema"], document["kind"]) == ("lmprobe.result/3", "comparison")
    assert document["rows"][0]["p_equivalence"] is None
    # Names and keys of earlier versions.
    document["schema"] = "lmprobe.result/2"
    assert "flips" not in document["rows"][0]
    for key in ("corrected", "middle", "nearer", "obstacle"):
        del document["rows"][0][key]
    document["rows"][0]["verdict"] = "amplifies_more"
    del document["rows"][0]["tasks"][0]["interval"]
    (read,) = ComparisonResult.from_json(json.dumps(document)).rows[0].tasks
    assert (read.p_value, read.p_holm) == (0.01, 0.01)
    assert not read.interval.bounded
    document["rows"] = []
    with pytest.raises(DataFileError, match="it has no rows"):
        ComparisonResult.from_json(json.dumps(document))


WHOLE = """\
task->attribute: given the task, the model predicts the group
model  base     difference  95% interval           p  verdict
─────────────────────────────────────────────────────────────────────────
b      labor       +0.2000  +0.1000 to +0.3000  0.01  higher
c      labor       +0.2000  +0.1000 to +0.3000   0.9  not enough evidence
b      uniform     +0.2000  +0.1000 to +0.3000  0.01  higher
A difference is claimed only where the interval and the p-value, which is
adjusted for all comparisons, both say so.

Tasks that differ
model  task   base   direction        difference  interval            p (Holm)
──────────────────────────────────────────────────────────────────────────────
b      nurse  labor  task->attribute     +0.3000  +0.2990 to +0.3010      0.01
1 of 1 difference of tasks can be claimed, by a family-wise test; the intervals
cover all tasks at once
"""


def test_a_whole_terminal() -> None:
    rows = row(tasks=(task("nurse", 0.3),)), row(second="c", p_value=0.9), row(base="uniform")
    text = "\n".join(map(table_text, result(*rows).tables()))
    assert "\n".join(map(str.rstrip, text.splitlines())) + "\n" == WHOLE


def said(*rows: ComparisonRow) -> list[str]:
    return [statement.text for statement in result(*rows).page().headline]


@pytest.mark.parametrize(
    ("values", "middle", "claim"),
    [
        ((0.1, 0.4), 0.25, "b exaggerates the links more than a"),
        ((0.4, 0.1), 0.25, "a exaggerates the links more than b"),
        ((0.4, -0.1), 0.15, "a exaggerates the links more than b"),
        ((-0.1, -0.4), -0.25, "b weakens the links more than a"),
        ((-0.4, -0.1), -0.25, "a weakens the links more than b"),
        # The mean of both may be on either side of the base.
        ((-0.1, 0.2), 0.05, "the value of b is higher than that of a"),
        ((0.2, -0.1), 0.05, "the value of b is lower than that of a"),
    ],
)
def test_the_model_that_is_farther_from_the_base_is_named(
    values: tuple[float, float], middle: float, claim: str
) -> None:
    ends = Interval(middle - 0.1, middle + 0.1, 0.95, "bootstrap")
    made = replace(row(value=values[1] - values[0]), values=values, middle=ends)
    assert said(made) == [f"Against labor: given the task, {claim}."]
    both = said(made, replace(made, direction=BACKWARD))
    assert both == [f"Against labor, {claim}, in both directions."]
    foreign = said(replace(made, foreign_lean=True))
    assert ("links" in foreign[0]) is False


def test_a_base_that_tells_models_apart_comes_first_and_its_tasks_are_named() -> None:
    alike = row(p_value=0.9)
    moved = row(base="town", tasks=(task("cook", 0.1), task("vet", -0.3), task("nurse", 0.2, 0.9)))
    assert said(alike, moved) == [
        "Against town: given the task, the value of b is higher than that of a.",
        "Against labor: given the task, b shows no clear difference from a.",
        "Against town, given the task, they differ most in vet (−30.0 points) and cook (+10.0).",
    ]
    apart = replace(row(), obstacle=Obstacle.UNINFORMED)
    (why,) = said(apart, replace(apart, direction=BACKWARD))
    assert why == f"Against labor, b and a are not compared: {Obstacle.UNINFORMED.reason}."
    many = said(*(row(base=f"base {number}") for number in range(7)))
    assert many[-1] == "The table has 3 more comparisons."


def flips(value: float, clear: float) -> Flips:
    ends = [Interval(share / 2, 2 * share, 0.95, "bootstrap") for share in (value, clear)]
    return Flips(value, ends[0], FlipShare(clear, ends[1]), 0.05)


FLIPS = """\
Flips
direction         flips  95% interval       clear  95% interval
───────────────────────────────────────────────────────────────────
task->attribute  0.2000  0.1000 to 0.4000  0.0600  0.0300 to 0.1200
attribute->task  0.1000  0.0500 to 0.2000  0.0400  0.0200 to 0.0800
The share of the cells (template and task) in which the favoured group changes;
clear where in both models it leads by more than 0.05 from even.
"""


def test_flips_have_a_table_that_bases_with_the_same_words_share() -> None:
    forward, back = flips(0.2, 0.06), flips(0.1, 0.04)
    rows = [
        row(base=base, direction=direction, flips=share)
        for base in ("labor", "town")
        for direction, share in ((FORWARD, forward), (BACKWARD, back))
    ]
    table = result(*rows).table("flips")
    assert "\n".join(map(str.rstrip, table_text(table).splitlines())) + "\n" == FLIPS
    other = result(*rows, row(base="city", flips=back)).table("flips")
    assert [cells[0] for cells in other.rows] == ["town", "town", "city"]
    frame = result(*rows).to_frame()
    assert frame.flips.tolist() == [0.2, 0.1, 0.2, 0.1]
    assert frame.flips_clear_high.tolist() == [0.12, 0.08, 0.12, 0.08]
    assert result(row()).to_frame().flips.tolist() == [None]
    sections = [section.title for section in result(*rows).page().sections]
    assert sections[:3] == ["Differences", "With their intervals", "Flips"]
    assert "Flips" not in [section.title for section in result(row()).page().sections]


def test_the_finding_names_clear_flips_that_the_mean_hides() -> None:
    many, few = flips(0.2, 0.06), flips(0.2, 0.015)
    hidden = (
        "The mean hides flips: given the task, b and a favour different groups in 20% of the "
        "cells, in 6% clearly."
    )
    cases: list[dict[str, Any]] = [{"p_value": 0.9}, {"margin": 0.5, "p_equivalence": 0.01}]
    for options in cases:
        made = row(flips=many, **options)
        # Said once for all bases.
        assert said(made, replace(made, base="town"))[-1] == hidden
        assert hidden not in said(replace(made, flips=few))
        assert hidden not in said(replace(made, obstacle=Obstacle.NO_LEAN))
    assert hidden not in said(row(flips=many))


def test_a_table_names_the_models_where_there_are_several_pairs() -> None:
    (two,) = result(row(confidence=0.9), row(direction=BACKWARD, value=0.3)).tables()
    assert [cells[:3] for cells in two.rows] == [
        ("labor", FORWARD, 0.2),
        ("labor", BACKWARD, 0.3),
    ]
    (three,) = result(row(), row(second="c", value=0.4)).tables()
    assert [cells[:2] for cells in three.rows] == [("b", "labor"), ("c", "labor")]
    complete = result(row(), row(second="c"), row("b", "c"))
    pairs = ["b minus a", "c minus a", "c minus b"]
    assert [cells[0] for cells in complete.tables()[0].rows] == pairs
    (figure,) = [figure for figure in complete.figures() if isinstance(figure, IntervalPlot)]
    assert [(line.label, line.value) for line in figure.lines] == [(pair, 0.2) for pair in pairs]


def test_five_tasks_of_each_direction_that_can_be_claimed_are_shown_the_largest_first() -> None:
    many = tuple(task(f"t{number}", (-1) ** number * (0.4 + number / 10)) for number in range(6))
    few = (task("u0", 0.03), task("u1", 0.05), task("unclear", 0.9, 0.06))
    rows = row(tasks=many), row(second="c", direction=BACKWARD, tasks=few)
    table = result(*rows).tables()[-1]
    assert [cells[:2] for cells in table.rows] == [
        *(("b", f"t{number}") for number in (5, 4, 3, 2, 1)), ("c", "u1"), ("c", "u0"),
    ]  # fmt: skip
    assert table.caption.startswith("8 of 9 differences of tasks can be claimed")
    assert result(row(tasks=few[2:])).tables()[-1].name == "differences"


def test_the_command_has_the_templates_and_bases_of_what_was_not_saved() -> None:
    probes = [
        {"templates": {"name": "fitbert"}, "bases": ["labor"]},
        {"templates": {"name": "neutral"}, "bases": ["uniform", "town"]},
    ]
    settings = CompareSettings(pairs="all").to_dict()
    facts: dict[str, Any] = {"given": ["old.json", "bert"], "settings": settings, "probes": probes}
    for saved, options in (
        ([True, False], "--templates neutral --base uniform --base town.csv --pairs all"),
        ([True, True], "--pairs all"),
    ):
        page = result(row(), **facts, saved=saved).page()
        (command,) = [command for section in page.sections for command in section.commands]
        assert command == f"lmprobe compare old.json bert {options}"
