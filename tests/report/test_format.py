"""Numbers as people read them: one minus sign, no zero with a sign, no width that is not there."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, strategies as st

from lmprobe.metrics.direction import Direction
from lmprobe.results import Column, ColumnKind, Interval, Table, Verdict
from lmprobe.results.format import (
    describe_interval,
    format_cell,
    format_count,
    format_interval,
    format_number,
    format_p_value,
    format_percent,
    format_signed,
    format_table,
    listed,
    plural,
)

FINITE = st.floats(-1e6, 1e6)


def read(words: str) -> float:
    return float(words.replace("−", "-").replace(",", ""))


def interval(low: float, high: float) -> Interval:
    return Interval(low, high, 0.95, "bootstrap")


@given(FINITE)
def test_a_number_is_read_back_within_its_digits(value: float) -> None:
    words = format_signed(value)
    assert "-" not in words
    assert abs(read(words) - value) <= max(0.5001 * 10.0 ** -len(words.partition(".")[2]), 1e-12)
    # Zero has no sign, and nothing but zero is written as zero.
    assert (words == "0.0000") == (abs(value) <= 1e-12)
    assert words.startswith(("+", "−")) == (words != "0.0000")


@given(FINITE, st.floats(0, 1))
def test_two_ends_are_told_apart(low: float, width: float) -> None:
    high = low + width
    words = format_interval(interval(low, high))
    assert "-" not in words
    assert not re.search(r"[+−]0\.0*( |$)", words)
    if high - low > 1e-11 * max(1.0, abs(low)):
        first, _, second = words.partition(" to ")
        assert read(first) < read(second)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (-0.00001, 0.00001, "−0.000010 to +0.000010"),
        (0.1, 0.1, "exactly +0.1000"),
        (0.0, 0.0, "exactly 0.0000"),
        (-math.inf, 0.02, "−∞ to +0.0200"),
        (-1e-17, 0.01, "0.0000 to +0.0100"),
        (12000.0, 13000.0, "+12,000.0 to +13,000.0"),
    ],
)
def test_ends_that_are_hard_to_write(low: float, high: float, words: str) -> None:
    assert format_interval(interval(low, high)) == words


def test_every_status_has_one_wording() -> None:
    assert format_interval(Interval.undefined(0.95, "bootstrap")) == "no interval"
    assert format_interval(Interval.too_few_units(0.95, "bootstrap")) == "too few units"
    assert format_interval(interval(-math.inf, math.inf)) == "unbounded"
    assert describe_interval(Interval.too_few_units(0.95, "x")) == "no interval: too few units"
    assert describe_interval(interval(0.1, 0.2)) == "95% interval +0.1000 to +0.2000"


@pytest.mark.parametrize(
    ("kind", "cell", "words"),
    [
        (ColumnKind.TEXT, "labor", "labor"),
        (ColumnKind.TEXT, None, ""),
        (ColumnKind.NUMBER, None, "–"),
        (ColumnKind.NUMBER, math.nan, "undefined"),
        (ColumnKind.NUMBER, -0.00000000013, "0.0000"),
        (ColumnKind.INTERVAL, Interval(0.1, 0.25, 0.95, "t"), "+0.1000 to +0.2500"),
        (ColumnKind.RANGE, Interval(0.1, 0.25, 0.95, "t"), "0.1000 to 0.2500"),
        (ColumnKind.DIRECTION, Direction.TASK_TO_ATTRIBUTE, "task->attribute"),
        (ColumnKind.SIGNED, 0.25, "+0.2500"),
        (ColumnKind.PERCENT, 0.123456, "12.3%"),
        (ColumnKind.P_VALUE, 0.04321, "0.043"),
        (ColumnKind.COUNT, 11903, "11,903"),
        (ColumnKind.VERDICT, Verdict.HIGHER, "higher"),
        (ColumnKind.NUMBER, -math.inf, "−∞"),
    ],
)
def test_a_cell_is_written_by_its_column(kind: ColumnKind, cell: object, words: str) -> None:
    assert format_cell(cell, Column("x", kind)) == words  # type: ignore[arg-type]


values = st.floats(-2, 2) | st.floats(-1e-6, 1e-6)


@given(st.lists(st.tuples(values, values, values), min_size=1, max_size=6))
def test_numbers_of_a_column_share_their_decimals_and_have_no_powers_of_ten(
    rows: list[tuple[float, float, float]],
) -> None:
    cells = tuple((value, Interval(min(ends), max(ends), 0.95, "t")) for value, *ends in rows)
    columns = Column("value", ColumnKind.SIGNED), Column("interval", ColumnKind.INTERVAL)
    written = format_table(Table("t", columns, cells))
    numbers = [
        word for row in written for cell in row for word in cell.split() if word[-1].isdigit()
    ]
    assert not any("e" in number for number in numbers)
    # Zero may be written without a sign, but has the decimals of the others.
    assert len({len(number.partition(".")[2]) for number in numbers}) == 1
    places = len(numbers[0].partition(".")[2])
    for (value, _), (first, _) in zip(cells, written, strict=True):
        assert read(first) == pytest.approx(value, abs=0.5001 * 10.0**-places)


def test_a_value_has_the_decimals_that_tell_the_ends_of_its_interval() -> None:
    columns = Column("value", ColumnKind.SIGNED), Column("interval", ColumnKind.INTERVAL)
    fine = Table("t", columns, ((0.00002, Interval(0.00001, 0.00003, 0.95, "t")),))
    assert format_table(fine) == [["+0.000020", "+0.000010 to +0.000030"]]
    coarse = Table("t", columns, ((0.000001, Interval(-0.0002, 0.0002, 0.95, "t")),))
    assert format_table(coarse) == [["+0.0000", "−0.0002 to +0.0002"]]


def test_shares_counts_and_p_values() -> None:
    shares = [format_percent(share) for share in (1.0, 0.9999, 0.5, 0.0)]
    assert shares == ["100%", "99.99%", "50%", "0%"]
    assert format_percent(math.nan) == "undefined"
    assert format_p_value(0.00005) == "<0.0001"
    assert format_p_value(1.0) == "1"
    assert format_count(-1234567) == "−1,234,567"
    assert [plural(number, "template") for number in (0, 1)] == ["0 templates", "1 template"]
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert format_number(-0.00001) == "−0.000010"


def test_the_shares_of_a_column_have_the_same_decimals() -> None:
    """But none becomes 0% or 100% by that."""
    cells = (0.922, 0.71, 1.0, 0.9996, 0.99999, 1e-9, 0.0, math.nan, None)
    table = Table("x", (Column("share", ColumnKind.PERCENT),), tuple((cell,) for cell in cells))
    assert [row[0] for row in format_table(table)] == [
        "92.20%", "71.00%", "100.00%", "99.96%", "99.999%", "<0.0001%", "0.00%", "undefined", "–",
    ]  # fmt: skip
