"""The tables of a probe: which rows, columns and cells, in which order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.core.direction import DIRECTIONS
from lmprobe.inference.unevenness import Unevenness
from lmprobe.probing.groups import GroupedWord, words_table
from lmprobe.probing.result import Margin
from lmprobe.probing.tables import (
    direction_table,
    direction_tables,
    margin_tables,
    pair_table,
    part_table,
    probe_tables,
    robustness_table,
    unevenness_table,
    verdict_table,
)
from lmprobe.results import Estimate, Interval, Table, Verdict
from tests.probing.made_rows import made_result, made_row

FORWARD, BACKWARD = DIRECTIONS
NAN = np.nan
UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.9, "bootstrap-deviation"), 0.02)
PART = Estimate(0.25, Interval(0.2, 0.3, 0.95, "t"), Verdict.AMPLIFIES)
PLAIN = [[0.1, 0.2], [0.3, 0.4]]


def headings(table: Table, *, essential: bool | None = None) -> list[str]:
    columns = table.columns
    return [one.heading for one in columns if essential is None or one.essential is essential]


def test_a_direction_has_a_line_per_base() -> None:
    rows = [made_row(PLAIN, confidence=0.9), made_row(PLAIN, base="corpus")]
    table = direction_table(FORWARD, rows[:1], with_undefined=False)
    assert headings(table) == ["base", "value", "90% interval", "verdict"]
    assert table.rows == (("labor", pytest.approx(0.25), rows[0].interval, Verdict.AMPLIFIES),)
    assert len(direction_table(FORWARD, rows, with_undefined=False).rows) == 2


def test_a_corrected_value_stands_beside_the_value() -> None:
    rows = [made_row(PLAIN), made_row(PLAIN, base="corpus", corrected=0.125)]
    table = direction_table(FORWARD, rows, with_undefined=False)
    assert headings(table)[:4] == ["base", "value", "corrected", "95% interval"]
    assert [cells[2] for cells in table.rows] == [None, 0.125]
    assert [cells[3] for cells in table.rows] == [row.interval for row in rows]


def test_the_parts_follow_and_only_the_association_is_essential() -> None:
    rows = [
        made_row(PLAIN, association=PART, preference=replace(PART, value=0.5)),
        made_row(PLAIN, base="corpus"),
    ]
    table = direction_table(FORWARD, rows, with_undefined=True)
    parts = ["association", "association interval", "preference", "preference interval"]
    assert headings(table)[4:] == [*parts, "undefined"]
    assert headings(table, essential=False) == [*parts[1:], "undefined"]
    assert table.rows[0][4:] == (0.25, PART.interval, 0.5, PART.interval, "0 of 4")
    assert table.rows[1][4:] == (None, None, None, None, "0 of 4")
    one_part = direction_table(FORWARD, [made_row(PLAIN, association=PART)], with_undefined=False)
    assert headings(one_part)[4:] == parts[:2]


def test_undefined_pairs_are_counted_in_all_tables_if_any_has_some() -> None:
    some = made_row([[0.1, NAN], [0.3, NAN]], [[0.5, NAN], [0.5, NAN]])
    other = made_row(PLAIN, direction=BACKWARD)
    for table, count in zip(direction_tables([some, other]), ("2 of 4", "0 of 4"), strict=True):
        assert headings(table)[-1] == "undefined"
        assert table.rows[0][-1] == count
    for table in direction_tables([made_row(PLAIN), other]):
        assert "undefined" not in headings(table)


def test_a_narrow_table_has_the_verdicts_alone() -> None:
    row = made_row(PLAIN, association=PART, corrected=0.1)
    table = verdict_table(FORWARD, [row])
    assert headings(table) == ["base", "value", "corrected", "95% interval", "verdict"]


def test_bases_without_a_lean_have_tables_of_their_own() -> None:
    unknown = made_row(PLAIN, base="uniform", unevenness=UNEVEN, confidence=0.9)
    tables = direction_tables([made_row(PLAIN), unknown])
    assert [table.name for table in tables] == [
        "task_to_attribute", "task_to_attribute_unevenness",
    ]  # fmt: skip
    assert [table.rows[0][0] for table in tables] == ["labor", "uniform"]
    assert [len(table.rows) for table in tables] == [1, 1]
    table = unevenness_table(FORWARD, [unknown])
    assert headings(table) == ["base", "absolute", "90% interval", "p", "verdict"]
    assert table.rows == (("uniform", 0.2, UNEVEN.interval, 0.02, Verdict.UNEVEN),)


def test_each_crossed_attribute_has_its_own_tables() -> None:
    race, gender = made_row(PLAIN, base="r"), made_row(PLAIN, base="g")
    result = made_result(race, margins=(Margin("race", race), Margin("gender", gender)))
    tables = margin_tables(result)
    assert [(table.name, table.rows[0][0]) for table in tables] == [
        ("race_task_to_attribute", "r"), ("gender_task_to_attribute", "g"),
    ]  # fmt: skip
    assert [len(table.rows) for table in tables] == [1, 1]
    assert tables[0].title.startswith("race alone: task->attribute")


def test_words_are_listed_where_a_group_has_several() -> None:
    words = (
        GroupedWord("attribute", "men", "he", 0.75),
        GroupedWord("attribute", "men", "him", 0.25),
        GroupedWord("attribute", "women", "she", 1.0),
        # Another axis with a group of the same name has one word of its own.
        GroupedWord("task", "women", "nurse", 1.0),
    )
    result = made_result(made_row(PLAIN), words=words)
    table = probe_tables(result)[-1]
    assert (table.name, [cells[2] for cells in table.rows]) == ("words", ["he", "him"])
    single = replace(result, words=words[2:])
    assert [table.name for table in probe_tables(single)] == ["task_to_attribute"]
    assert headings(words_table(words), essential=False) == ["axis"]
    assert words_table(words).rows[1] == ("attribute", "men", "him", 0.25)


def test_the_parts_of_all_rows_forward_first() -> None:
    rows = [
        made_row(PLAIN, direction=BACKWARD, association=PART, confidence=0.9),
        made_row(PLAIN, association=PART, preference=replace(PART, value=0.5, corrected=0.75)),
        made_row(PLAIN, base="none"),
    ]
    table = part_table(rows)
    assert [cells[:4] for cells in table.rows] == [
        (FORWARD, "labor", "association", 0.25),
        (FORWARD, "labor", "preference", 0.75),
        (BACKWARD, "labor", "association", 0.25),
    ]
    assert headings(table)[4] == "90% interval", "of the first row"
    assert part_table(rows[2:]).rows == ()


def test_robustness_is_that_of_the_templates() -> None:
    cells = np.full((3, 2, 2), 0.1) * np.array([1.0, 4.0, -2.0])[:, None, None]
    row = made_row(cells)
    (line,) = robustness_table(FORWARD, [row]).rows
    # 0.1, 0.4 and -0.2: without one the mean is between -0.05 and 0.25.
    assert line[0] == "labor"
    assert line[1] == pytest.approx(np.std([0.1, 0.4, -0.2]))
    assert line[2] == "−0.0500 to +0.2500"
    assert line[3] == pytest.approx(1 / 3)


def test_pairs_come_by_size_and_undefined_ones_last() -> None:
    """By what the model says, or by the order of the words, the first would be he and cook."""
    rates = [[0.9, NAN], [0.2, 0.4]]
    cells: Any = [[[0.0, 0.1], [-0.3, 0.1]], [[0.1, 0.1], [-0.1, 0.2]]]
    table = pair_table([made_row(cells, rates, tasks=("cook", "nurse"))])
    found = [cells[2:] for cells in table.rows]
    assert [one[:2] for one in found] == [
        ("she", "cook"), ("she", "nurse"), ("he", "cook"), ("he", "nurse"),
    ]  # fmt: skip
    assert [one[2] for one in found[:3]] == pytest.approx([-0.2, 0.15, 0.05])
    assert np.isnan(found[3][2])
    # The model's mean over templates, the base rate, the lean.
    assert found[2][3:] == pytest.approx((0.95, 0.9, 1.0))
    assert found[0][3:] == pytest.approx((0.0, 0.2, 1.0))
