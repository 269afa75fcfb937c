"""How people read numbers, intervals and cells: every text form of an answer writes them so.

JSON and CSV carry the numbers themselves. The minus sign is U+2212.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from lmprobe.errors import plural as plural
from lmprobe.results.content import Cell, Column, ColumnKind, Table
from lmprobe.results.estimate import Estimate
from lmprobe.results.verdict import Interval, IntervalStatus, Verdict

DIGITS = 4
"""Decimals of a number, as the papers print them."""

UNDEFINED = "undefined"
"""What is written for 0/0."""

NOTHING = "–"
"""What is written where there is no number."""

_NO_INTERVAL = {
    IntervalStatus.UNDEFINED: "no interval",
    IntervalStatus.TOO_FEW_UNITS: "too few units",
    IntervalStatus.UNBOUNDED: "unbounded",
}

# Below this a difference from zero is an effect of rounding, not a result.
_NOISE = 1e-12
_MOST_DIGITS = 12
# A number nearer to zero than this is written with its power of ten, an end as zero.
_FINE = 7
# A share below this is written as being below it.
_LEAST_SHARE = 1e-6
# A column of a table has at most so many decimals, and no powers of ten.
_MOST_DECIMALS = 6


def format_number(value: float, digits: int = DIGITS, *, sign: bool = False) -> str:
    """Return a number with a true minus sign; `sign` also writes the plus.

    A small number that is not zero shows its first two digits rather than 0.0000.

    >>> format_number(-0.25), format_number(0.25, sign=True), format_number(-0.0)
    ('−0.2500', '+0.2500', '0.0000')
    >>> format_number(0.000012, sign=True), format_number(12345.678), format_number(2e-9)
    ('+0.000012', '12,345.7', '2.0e−09')
    """
    if math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "−∞" if value < 0 else "∞"
    size = abs(value)
    if size >= 1000:
        digits = min(digits, 1)
    elif _NOISE < size < 10.0**-_FINE:
        return _minus(f"{value:{'+' if sign else ''}.1e}")
    elif _NOISE < size < 0.5 * 10.0**-digits:
        digits = 1 - math.floor(math.log10(size))
    return _written(value, digits, sign=sign)


def format_signed(value: float, digits: int = DIGITS) -> str:
    """Return a number with its sign, plus included; zero has none."""
    return format_number(value, digits, sign=True)


def format_interval(interval: Interval) -> str:
    """Return the two ends, with as many digits as tell them apart, or why there are none.

    >>> format_interval(Interval(-0.1, 0.25, 0.95, "bootstrap"))
    '−0.1000 to +0.2500'
    >>> format_interval(Interval(0.123456, 0.123458, 0.95, "bootstrap"))
    '+0.1234560 to +0.1234580'
    >>> format_interval(Interval(0.00003, 0.01, 0.95, "bootstrap"))
    '+0.00003 to +0.01000'
    >>> format_interval(Interval.too_few_units(0.95, "bootstrap"))
    'too few units'
    """
    if not interval.bounded:
        return _NO_INTERVAL[interval.status]
    return format_range(interval.low, interval.high)


def format_range(low: float, high: float) -> str:
    """Return two ends, with as many digits as tell them apart; one may be infinite."""
    if math.isnan(low) or math.isnan(high):
        return UNDEFINED
    if high - low <= _NOISE:
        return f"exactly {format_signed(low)}"
    digits = _digits([abs(end) for end in (low, high) if math.isfinite(end)], high - low)
    return " to ".join(_written(end, digits, sign=True) for end in (low, high))


def describe_interval(interval: Interval) -> str:
    """Return the interval as part of a sentence: its confidence and its ends.

    >>> describe_interval(Interval(-0.1, 0.25, 0.95, "bootstrap"))
    '95% interval −0.1000 to +0.2500'
    """
    ends = format_interval(interval)
    if interval.bounded:
        return f"{format_percent(interval.confidence)} interval {ends}"
    return ends if interval.status is IntervalStatus.UNDEFINED else f"no interval: {ends}"


def describe_strength(strength: Estimate, base: str) -> str:
    """Return how many times as strong the links are as those of the base, as a sentence.

    An interval from no links at all to twice those of the base leaves it open.
    """
    ends = strength.interval
    level = f"{format_percent(ends.confidence)} interval"
    # A strength next to none is 0.00, not 0.00066.
    times, low, high = (
        _written(end, 2, sign=False) for end in (strength.value, ends.low, ends.high)
    )
    if ends.bounded and ends.low <= 0 and ends.high >= 2:
        return (
            f"How many times as strong its links are as those of {base} stays open: the {level} is "
            f"{low} to {high}."
        )
    sure = f" ({level} {low} to {high})" if ends.bounded else "; how sure that is stays open"
    return f"Its links are {times} times as strong as those of {base}{sure}."


def format_percent(share: float, digits: int = 3) -> str:
    """Return a share in percent: so many digits, more where 100% would be untrue.

    >>> format_percent(0.95), format_percent(0.0042), format_percent(0.9996), format_percent(1e-9)
    ('95%', '0.42%', '99.96%', '<0.0001%')
    """
    if not math.isfinite(share):
        return UNDEFINED
    if 0 < share < _LEAST_SHARE:
        return f"<{100 * _LEAST_SHARE:.4f}%"
    while share < 1 and digits < _MOST_DIGITS and float(f"{100 * share:.{digits}g}") >= 100:
        digits += 1
    written = f"{100 * share:.{digits}g}"
    # A share above ten is no share, but 1234% must not become 1.23e+03%.
    return _minus(f"{float(written):,.0f}" if "e+" in written else written) + "%"


def format_rounded(value: float) -> str:
    """Return a number with three digits, such as a ratio or a perplexity.

    >>> format_rounded(10.31563), format_rounded(2013456.0)
    ('10.3', '2,010,000')
    """
    if not math.isfinite(value):
        return format_number(value)
    rounded = float(f"{value:.3g}")
    return _minus(f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e12 else f"{rounded:.3g}")


def format_p_value(p: float) -> str:
    """Return a p-value with two digits, or that it is below 0.0001.

    >>> format_p_value(0.0312), format_p_value(2e-7)
    ('0.031', '<0.0001')
    """
    if math.isnan(p):
        return UNDEFINED
    return "<0.0001" if p < 0.0001 else f"{p:.2g}"


def format_count(number: float) -> str:
    """Return a whole number with a comma at every thousand."""
    if not math.isfinite(number):
        return format_number(number)
    return _minus(f"{number:,.0f}") if number == int(number) else format_number(number)


def every(number: int, noun: str) -> str:
    """Return all of so many things as people say it.

    >>> every(1, "row"), every(2, "row"), every(3, "row")
    ('the row', 'both rows', 'all 3 rows')
    """
    if number > 2:
        return f"all {plural(number, noun)}"
    return f"the {noun}" if number == 1 else f"both {noun}s"


def listed(parts: Iterable[str]) -> str:
    """Return the parts as an enumeration: a, b and c."""
    *front, last = [*parts] or [""]
    return f"{', '.join(front)} and {last}" if front else last


def format_table(table: Table) -> list[list[str]]:
    """Return the words of every cell, row by row; the numbers of a column share their decimals.

    A value has the decimals of its interval: more would say nothing.
    """
    columns = [[row[number] for row in table.rows] for number in range(len(table.columns))]
    digits = [_column_digits(*column) for column in zip(columns, table.columns, strict=True)]
    ends = [
        own
        for own, column, cells in zip(digits, table.columns, columns, strict=True)
        if column.kind is ColumnKind.INTERVAL
        and any(isinstance(cell, Interval) and cell.bounded for cell in cells)
    ]
    if ends:
        digits = [
            max(ends) if column.kind is ColumnKind.SIGNED else own
            for own, column in zip(digits, table.columns, strict=True)
        ]
    words = [
        [format_cell(cell, column, own) for cell in cells]
        for cells, column, own in zip(columns, table.columns, digits, strict=True)
    ]
    for number, column in enumerate(table.columns):
        if column.kind is ColumnKind.PERCENT:
            words[number] = _percents(columns[number], words[number])
    return [list(row) for row in zip(*words, strict=True)]


def _percents(cells: Iterable[Cell], words: list[str]) -> list[str]:
    """Return shares with the decimals of the one that has most, at most two.

    What would become 0% or 100% keeps its own.
    """
    digits = min(2, max((len(text.rstrip("%").partition(".")[2]) for text in words), default=0))
    same = []
    for cell, text in zip(cells, words, strict=True):
        share = float(cell) if isinstance(cell, int | float) else math.nan
        near = math.isnan(share) or (0 < abs(share) < 10.0 ** -(digits + 2))
        near = near or (share != 1 and f"{share:.{digits + 2}f}" == f"{1:.{digits + 2}f}")
        same.append(text if near else _minus(f"{100 * share:,.{digits}f}%"))
    return same


def format_cell(cell: Cell, column: Column, digits: int = DIGITS) -> str:
    """Return the words of a cell with so many decimals; where there is no number, a dash."""
    if cell is None:
        return "" if column.kind.is_words else NOTHING
    if isinstance(cell, Interval):
        if not cell.bounded or cell.status is IntervalStatus.UNDEFINED:
            return _NO_INTERVAL[cell.status]
        sign = column.kind is not ColumnKind.RANGE
        if cell.high - cell.low <= _NOISE:
            return f"exactly {_decimal(cell.low, digits, sign=sign)}"
        return " to ".join(_decimal(end, digits, sign=sign) for end in (cell.low, cell.high))
    if isinstance(cell, Verdict):
        return cell.label
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, int) and column.kind in (ColumnKind.TEXT, ColumnKind.NUMBER):
        return format_count(cell)
    if column.kind in _NUMBERS:
        return _NUMBERS[column.kind](float(cell))
    return _decimal(float(cell), digits, sign=column.kind is ColumnKind.SIGNED)


_NUMBERS: dict[ColumnKind, Callable[[float], str]] = {
    ColumnKind.PERCENT: format_percent,
    ColumnKind.P_VALUE: format_p_value,
    ColumnKind.COUNT: format_count,
}


def _column_digits(cells: Iterable[Cell], column: Column) -> int:
    """Return the decimals that tell the numbers of a column from zero, or ends from each other.

    Four as a rule, and at most six: what is smaller than that is written as zero with its sign.
    """
    sizes: list[float] = []
    for cell in cells:
        if isinstance(cell, Interval):
            sizes += [abs(cell.low), abs(cell.high), cell.high - cell.low]
        elif isinstance(cell, float) and column.kind not in _NUMBERS:
            sizes.append(abs(cell))
    small = [size for size in sizes if 10.0**-_MOST_DECIMALS <= size < 0.5 * 10.0**-DIGITS]
    if not small:
        return DIGITS
    return min(_MOST_DECIMALS, 1 - math.floor(math.log10(min(small))))


def _decimal(value: float, digits: int, *, sign: bool) -> str:
    """Return a number of a column, which has its sign even if all its decimals are zero."""
    written = _written(value, min(digits, 1) if abs(value) >= 1000 else digits, sign=sign)
    small = sign and abs(value) > _NOISE and not written.strip("0.,")
    return f"{'+' if value > 0 else '−'}{written}" if small else written


def _digits(sizes: list[float], width: float) -> int:
    """Return the decimals that tell two ends apart, and each of them from zero."""
    digits = DIGITS if max(sizes) < 1000 else 1
    if width < 10.0**-digits:
        return min(_MOST_DIGITS, 1 - math.floor(math.log10(width)))
    smallest = min(sizes)
    if 10.0**-_FINE <= smallest < 0.5 * 10.0**-digits:
        return -math.floor(math.log10(smallest))
    return digits


def _written(value: float, digits: int, *, sign: bool) -> str:
    """Return a number with so many decimals; what is written as zero has no sign."""
    if not math.isfinite(value):
        return format_number(value)
    written = f"{value:,.{digits}f}"
    if not written.strip("-0.,"):
        return written.lstrip("-")
    return _minus(("+" if sign and value > 0 else "") + written)


def _minus(written: str) -> str:
    return written.replace("-", "−")
