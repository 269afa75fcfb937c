"""Which tables of base rates are years of one series, from rows written by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lmprobe.core.direction import Direction
from lmprobe.inference.unevenness import Unevenness
from lmprobe.probing.result import ProbeResult
from lmprobe.probing.years import years_section
from lmprobe.results import Interval
from tests.probing.made_rows import made_result, made_row

UNEVEN = Unevenness(0.2, Interval(0.1, 0.3, 0.9, "bootstrap-deviation"), 0.02)


def result(facts: dict[str, dict[str, Any]], **options: Any) -> ProbeResult:
    rows = [
        made_row([[0.1 * number, 0.2], [0.3, 0.4]], base=base, **options)
        for number, base in enumerate(facts)
    ]
    return made_result(*rows, facts={"bases": facts})


TWO = {"b": {"year": 2016, "series": "CPS"}, "a": {"year": 2013, "series": "CPS"}}


def test_two_years_of_one_series_are_a_line_in_their_order() -> None:
    whole = result(TWO, direction=Direction.ATTRIBUTE_TO_TASK)
    (section,) = years_section(whole)
    (figure,) = section.figures
    assert figure.name == "years-attribute_to_task"
    (line,) = figure.series  # type: ignore[union-attr]
    assert (line.name, line.x, line.labels) == ("CPS", (2013.0, 2016.0), ("a", "b"))
    assert line.y == (whole.rows[1].value, whole.rows[0].value)
    assert (line.low, line.high) == ((0.1, 0.1), (0.3, 0.3))
    assert figure.alternative == "CPS 2013 +0.2500 and CPS 2016 +0.2250."


@pytest.mark.parametrize(
    "other",
    [
        {"year": 2013, "series": None},
        {"year": None, "series": "CPS"},
        {"year": "2013", "series": "CPS"},
        {"year": 2013, "series": "ACS"},
        # The same year twice is no change.
        {"year": 2016, "series": "CPS"},
        {},
    ],
)
def test_anything_else_is_no_change_over_the_years(other: dict[str, Any]) -> None:
    assert years_section(result(TWO | {"a": other})) == ()


def test_a_base_without_a_lean_has_no_value_to_draw() -> None:
    whole = result(TWO)
    rows = tuple(replace(row, unevenness=UNEVEN) for row in whole.rows)
    assert years_section(replace(whole, rows=rows)) == ()


def test_an_interval_without_an_end_leaves_the_line_without_bars() -> None:
    whole = result(TWO)
    first = replace(whole.rows[0], interval=Interval(-math.inf, 0.3, 0.95, "bernstein"))
    (section,) = years_section(replace(whole, rows=(first, *whole.rows[1:])))
    (line,) = section.figures[0].series  # type: ignore[union-attr]
    assert (line.low, line.high) == ((), ())
