"""The tables, figures and sentences of a comparison, from rows written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from lmprobe.core.direction import DIRECTIONS, Direction
from lmprobe.inference.comparison import TaskDifference
from lmprobe.probing.comparison import ComparisonResult, ComparisonRow
from lmprobe.probing.comparison_page import (
    _first_rows,
    _minuend,
    _notes,
    _sentence,
    compare_again,
    comparison_page,
    difference_figures,
    direction_tables,
    moved_tasks,
)
from lmprobe.probing.settings import CompareSettings
from lmprobe.results import Interval, Note, NoteKind, Verdict

FORWARD, BACKWARD = DIRECTIONS


def task(name: str, value: float, p: float = 0.01) -> TaskDifference:
    ends = Interval(value - 0.001, value + 0.001, 0.95, "bonferroni-t")
    return TaskDifference(name, value, p, p, p, ends, 9)


def row(
    first: str = "a",
    second: str = "b",
    base: str = "labor",
    direction: Direction = FORWARD,
    value: float = 0.2,
    **options: Any,
) -> ComparisonRow:
    """Return a difference that can be claimed."""
    ends = Interval(value - 0.1, value + 0.1, options.pop("confidence", 0.95), "t")
    chosen: dict[str, Any] = {"p_value": 0.01, "p_value_unadjusted": 0.01, "tasks": ()} | options
    return ComparisonRow(first, second, base, direction, (0.0, value), value, ends, **chosen)


def result(*rows: ComparisonRow, names: tuple[str, ...] = ("a", "b")) -> ComparisonResult:
    facts = {
        "names": names,
        "given": list(names),
        "saved": [True] * len(names),
        "settings": CompareSettings().to_dict(),
    }
    return ComparisonResult(rows, facts)


def test_each_direction_has_the_table_of_its_rows() -> None:
    rows = row(), row(direction=BACKWARD, value=0.3), row(base="uniform")
    first, second = direction_tables(result(*rows))
    assert (first.name, second.name) == ("task_to_attribute", "attribute_to_task")
    assert [cells[:2] for cells in first.rows] == [("labor", 0.2), ("uniform", 0.2)]
    assert [cells[:2] for cells in second.rows] == [("labor", 0.3)]
    (only,) = direction_tables(result(row(direction=BACKWARD)))
    assert only.name == "attribute_to_task"


def test_a_table_names_the_models_where_there_are_several_pairs() -> None:
    (two,) = direction_tables(result(row(confidence=0.9)))
    assert [column.heading for column in two.columns] == [
        "base", "difference", "90% interval", "p", "verdict",
    ]  # fmt: skip
    assert [column.heading for column in two.columns if not column.essential] == ["p"]
    (three,) = direction_tables(result(row(), row(second="c", value=0.4)))
    assert [column.heading for column in three.columns][:3] == ["model", "base", "difference"]
    assert [cells[:3] for cells in three.rows] == [("b", "labor", 0.2), ("c", "labor", 0.4)]
    (every,) = direction_tables(result(row(), row(second="c"), row("b", "c")))
    names = [cells[0] for cells in every.rows]
    assert names == ["b minus a", "c minus a", "c minus b"]


def test_tasks_that_moved_are_those_that_can_be_claimed_the_largest_first() -> None:
    tasks = (task("cook", 0.1), task("nurse", -0.3), task("vet", 0.2), task("clerk", 0.9, 0.06))
    (table,) = moved_tasks(result(row(tasks=tasks)))
    assert [cells[:2] for cells in table.rows] == [
        ("nurse", "labor"), ("vet", "labor"), ("cook", "labor"),
    ]  # fmt: skip
    assert [column.heading for column in table.columns][:3] == ["task", "base", "direction"]
    assert [column.heading for column in table.columns if not column.essential] == ["p (Holm)"]
    assert table.rows[0][3] == -0.3
    assert table.caption.startswith("3 of 4 differences of tasks can be claimed")
    assert "largest" not in table.caption
    # At the level itself, and at that of another confidence.
    assert len(moved_tasks(result(row(tasks=(task("cook", 0.1, 0.05),))))) == 1
    assert moved_tasks(result(row(tasks=(task("cook", 0.1, 0.06),)))) == ()
    loose = row(tasks=(task("cook", 0.1, 0.06),), confidence=0.9)
    assert len(moved_tasks(result(loose))) == 1


def test_five_tasks_of_each_direction_are_shown() -> None:
    many = tuple(task(f"t{number}", 0.9 - number / 10) for number in range(6))
    few = tuple(task(f"u{number}", 0.09 - number / 100) for number in range(5))
    (table,) = moved_tasks(result(row(tasks=many), row(direction=BACKWARD, tasks=few)))
    assert [cells[0] for cells in table.rows] == [f"{one}{n}" for one in "tu" for n in range(5)]
    assert [cells[2] for cells in table.rows] == [FORWARD] * 5 + [BACKWARD] * 5
    assert table.caption.startswith("11 of 11 differences")
    assert table.caption.endswith("; the largest of each direction")
    (all_of_them,) = moved_tasks(result(row(tasks=many[:5]), row(direction=BACKWARD, tasks=few)))
    assert "largest" not in all_of_them.caption


def test_tasks_of_several_pairs_name_the_model() -> None:
    rows = row(tasks=(task("cook", 0.1),)), row(second="c", tasks=(task("vet", 0.2),))
    (table,) = moved_tasks(result(*rows))
    assert [column.heading for column in table.columns][:2] == ["model", "task"]
    assert [cells[:2] for cells in table.rows] == [("c", "vet"), ("b", "cook")]


def test_two_models_share_a_figure_for_all_bases() -> None:
    rows = row(), row(base="uniform", value=-0.3), row(direction=BACKWARD)
    first, second = difference_figures(result(*rows))
    assert (first.name, second.name) == (
        "differences-task_to_attribute", "differences-attribute_to_task",
    )  # fmt: skip
    assert first.title == "task->attribute: difference from a"
    assert [(line.label, line.value) for line in first.lines] == [("labor", 0.2), ("uniform", -0.3)]
    assert [line.tone for line in first.lines] == ["plus", "minus"]
    assert first.alternative.startswith("labor: +0.2000, ")


def test_several_models_have_a_figure_for_each_base() -> None:
    rows = row(), row(second="c"), row(base="uniform"), row(second="c", base="uniform")
    labor, uniform = difference_figures(result(*rows))
    assert labor.name == "differences-labor-task_to_attribute"
    assert uniform.title == "task->attribute, uniform: difference from a"
    assert [line.label for line in labor.lines] == ["b", "c"]
    # One base needs no name in the title.
    (only,) = difference_figures(result(*rows[:2]))
    assert only.name == "differences-task_to_attribute"
    assert only.title == "task->attribute: difference from a"
    (every,) = difference_figures(result(row(), row(second="c"), row("b", "c")))
    assert every.title == "task->attribute: difference"
    assert [line.label for line in every.lines] == ["b minus a", "c minus a", "c minus b"]


def test_the_title_names_two_models_and_counts_more() -> None:
    assert comparison_page(result(row())).title == "b compared with a"
    three = result(row(), row(second="c"), names=("a", "b", "c"))
    assert comparison_page(three).title == "3 models compared"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row()], "b minus that of a"),
        ([row(), row(second="c")], "each model minus that of a"),
        ([row(), row("b", "c")], "the first model named minus that of the second"),
    ],
)
def test_the_page_says_what_is_subtracted(rows: list[ComparisonRow], words: str) -> None:
    assert _minuend(rows) == words


def test_a_headline_has_four_rows_those_that_say_something() -> None:
    undecided = [row(base=f"u{number}", p_value=0.9) for number in range(5)]
    decided = [row(base=f"d{number}") for number in range(5)]
    assert _first_rows((*undecided, *decided)) == decided[:4]
    assert _first_rows((*undecided, decided[0])) == decided[:1]
    assert _first_rows(tuple(undecided)) == undecided[:4]


@pytest.mark.parametrize(
    ("options", "verdict", "sentence"),
    [
        ({}, Verdict.AMPLIFIES_MORE, "b amplifies labor more than a (task->attribute)."),
        (
            {"p_value": 0.9},
            Verdict.UNDECIDED,
            "b shows no clear difference from a, against labor (task->attribute).",
        ),
        (
            {"margin": 0.5, "p_equivalence": 0.01},
            Verdict.EQUIVALENT,
            "b differs from a by less than the margin, against labor (task->attribute).",
        ),
    ],
)
def test_the_sentence_of_a_row(options: dict[str, Any], verdict: Verdict, sentence: str) -> None:
    one = row(**options)
    assert one.verdict is verdict
    assert _sentence(one) == sentence


def test_notes_appear_once_and_assumptions_first() -> None:
    base, assumed = Note(NoteKind.BASE, "few"), Note(NoteKind.ASSUMPTION, "templates")
    other = Note(NoteKind.LEFT_OUT, "vet")
    found = _notes(result(row(notes=(base, assumed)), row(notes=(other, assumed))))
    assert found == (assumed, base, other)
    names = [section.name for section in comparison_page(result(row(notes=(base,)))).sections]
    assert "notes" in names
    assert "notes" not in [section.name for section in comparison_page(result(row())).sections]


def test_the_page_says_so_where_no_task_moved() -> None:
    def tasks(one: ComparisonRow) -> Any:
        (found,) = [s for s in comparison_page(result(one)).sections if s.name == "tasks"]
        return found

    assert tasks(row()).text == ("No single task differs by a family-wise test.",)
    assert tasks(row(tasks=(task("cook", 0.1),))).text == ()


def test_the_command_has_the_templates_and_bases_of_what_was_not_saved() -> None:
    facts: dict[str, Any] = {
        "given": ["old.json", "bert-base"],
        "saved": [True, False],
        "settings": CompareSettings(pairs="all").to_dict(),
        "probes": [
            {"templates": {"name": "fitbert"}, "bases": ["labor"]},
            {"templates": {"name": "neutral"}, "bases": ["uniform", "town"]},
        ],
    }
    assert compare_again(facts) == (
        "lmprobe compare old.json bert-base --templates neutral --base uniform --base town.csv "
        "--pairs all"
    )
    assert compare_again(facts | {"saved": [True, True]}) == (
        "lmprobe compare old.json bert-base --pairs all"
    )


def test_a_row_says_by_default_that_the_lean_is_that_of_the_base() -> None:
    assert row().foreign_lean is False
    assert row().verdict is Verdict.AMPLIFIES_MORE
    assert row().margin is None


def test_an_empty_comparison_is_no_result() -> None:
    with pytest.raises(ValueError, match="it has no rows"):
        ComparisonResult.from_body({"rows": [], "provenance": {}})
