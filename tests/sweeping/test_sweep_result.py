"""What a sweep found: orders, short names, letters, the tidy frame, JSON, tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmprobe.results import Estimate, Interval, Table
from lmprobe.sweeping.page import all_rows
from lmprobe.sweeping.result import Failure, Order, SweepResult, TrainingCurve
from tests.made_up_sweeps import plain_row, plain_sweep

QUESTION = plain_row("a").question
PART = Estimate(0.5, Interval(0.25, 0.75, 0.95, "t"), plain_row("a").estimate.verdict)


def test_two_models_are_separated_if_no_group_has_both() -> None:
    order = Order(QUESTION, ("a", "b", "c"), (("a", "b"), ("b", "c")))
    assert order.separates("a", "c")
    assert not order.separates("a", "b")
    assert [order.letters(model) for model in "abc"] == ["a", "ab", "b"]


def test_letters_go_on_after_z() -> None:
    groups = tuple((f"m{number}",) for number in range(703))
    order = Order(QUESTION, (), groups)
    letters = [order.letter(groups[number]) for number in (0, 25, 26, 51, 52, 701, 702)]
    assert letters == ["a", "z", "aa", "az", "ba", "zz", "aaa"]


def test_rows_of_a_question_by_value_or_by_the_order() -> None:
    other = plain_row("a", base="uniform")
    rows = [plain_row("a", 0.3), plain_row("b", 0.1), plain_row("c", 0.2)]
    result = plain_sweep(*rows, other)
    assert result.of(QUESTION) == tuple(rows)
    assert result.questions == (QUESTION, other.question)
    assert [row.model for row in result.by_value(QUESTION)] == ["b", "c", "a"]
    ranked = replace(result, orders=(Order(QUESTION, ("c", "b"), (("c",), ("b",))),))
    # A model that took no part in the order comes last.
    assert [row.model for row in ranked.by_value(QUESTION)] == ["c", "b", "a"]
    assert [row.model for row in ranked.by_value(other.question)] == ["a"]


@pytest.mark.parametrize(("models", "over_steps"), [(("a",), False), (("a", "b"), True)])
def test_models_are_steps_if_all_are_of_one_run(models: tuple[str, ...], over_steps: bool) -> None:
    """Then they are listed by step, else by value."""
    rows = [plain_row("a", 0.3, step=1), plain_row("b", 0.1, step=2)]
    result = plain_sweep(*rows, curves=[TrainingCurve(QUESTION, "r", models, (), {})])
    assert result.over_steps is over_steps
    assert column(result.tables()[0], "model") == (["a", "b"] if over_steps else ["b", "a"])


@pytest.mark.parametrize(
    ("models", "short"),
    [
        (["acme/bert", "acme/roberta"], ["acme/bert", "acme/roberta"]),
        (["runs/a/last", "runs/b/last"], ["a/last", "b/last"]),
        (["/runs/a/x", "x"], ["a/x", "x"]),
        (["one/a/b/c", "two/a/b/c"], ["one/a/b/c", "two/a/b/c"]),
        (["a/b/c", "bc"], ["c", "bc"]),
    ],
)
def test_short_names_tell_models_apart(models: list[str], short: list[str]) -> None:
    assert list(plain_sweep(*map(plain_row, models)).short_names.values()) == short


def test_the_frame_has_a_line_per_row() -> None:
    rows = (plain_row("a", 0.25, ranks=(2, 5), step=7), plain_row("b", association=PART))
    first, second = plain_sweep(*rows).to_frame().to_dict("records")
    assert (first["rank_low"], first["rank_high"], first["step"]) == (2, 5, 7)
    assert (first["low"], first["high"]) == (0.2, 0.3)
    assert np.isnan(second["rank_low"])
    assert second["association"] == 0.5
    assert np.isnan(first["association"])


def test_json_comes_back_whole() -> None:
    full = plain_row(
        "a", association=PART, preference=PART, perplexity=12.5, step=3, ranks=(1, 2),
        by_task={"nurse": 0.5, "baker": None},
    )  # fmt: skip
    curve = TrainingCurve(
        QUESTION, "run", ("a",), (Interval(0.0, 1.0, 0.95, "t"),), {"planted": 0.5}
    )
    result = replace(
        plain_sweep(full, plain_row("b"), groups=[["a", "b"]], curves=[curve]),
        failures=(Failure("c", "fitbert", "no model"),),
    )
    again = SweepResult.from_json(result.to_json())
    assert again.to_json() == result.to_json()
    for part in ("rows", "orders", "curves", "failures"):
        assert getattr(again, part) == getattr(result, part)
    assert again.tables()[-1].rows == (("c", "fitbert", "no model"),)


def column(table: Table, heading: str) -> list[Any]:
    (place,) = (n for n, column in enumerate(table.columns) if column.heading == heading)
    return [row[place] for row in table.rows]


def test_ranks_letters_associations_and_perplexities_are_cells() -> None:
    rows = [
        plain_row("a", 0.1, ranks=(1, 2), association=PART, perplexity=5.1234),
        plain_row("b", 0.2, ranks=(1, 3), perplexity=99.94),
        plain_row("c", 0.3, ranks=(3, 3), perplexity=1234.5),
        plain_row("d", 0.4),
    ]
    table = all_rows(plain_sweep(*rows, groups=[["a", "b"], ["b", "c"]]))
    assert column(table, "rank") == ["1–2", "1–3", 3, None]
    assert column(table, "group") == ["a", "ab", "b", None]
    assert column(table, "association") == [0.5, None, None, None]
    assert column(table, "perplexity") == ["5.1", "99.9", "1,234.5", None]
