"""The axis of a picture: where a number lies, and which numbers are written beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps the numbers `low` to `high` to the places `start` to `stop`."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a number."""
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (here - low) / (high - low) * (self.stop - self.start)

    def ticks(self, wanted: int = 5) -> tuple[float, ...]:
        """Return about `wanted` round numbers within the scale."""
        if self.log:
            return _powers(self.low, self.high)
        step = step_of(self.high - self.low, wanted)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(round(number * step, 12) for number in range(first, last + 1))


def drawable(value: float, *, log: bool) -> bool:
    """Tell whether a number has a place on such a scale."""
    return math.isfinite(value) and (value > 0 or not log)


def scale(
    values: Iterable[float], start: float, stop: float, *, log: bool = False, wanted: int = 5
) -> Scale:
    """Return the scale that holds the values and ends at round numbers."""
    known = [value for value in values if drawable(value, log=log)]
    if not known:
        return Scale(1.0, 10.0, start, stop, log) if log else Scale(0.0, 1.0, start, stop)
    low, high = min(known), max(known)
    if log:
        return Scale(*_whole_decades(low, high), start, stop, log=True)
    # A hair's breadth of difference is no range to draw: it would show rounding noise.
    if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
        room = max(abs(low) * 0.1, 1e-3)
        low, high = low - room, high + room
    step = step_of(high - low, wanted)
    return Scale(
        math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, stop
    )


def step_of(span: float, wanted: int) -> float:
    """Return the round number (1, 2 or 5 times a power of ten) that divides a span.

    >>> step_of(0.9, 5)
    0.2
    """
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    factor = next(one for one in (1, 2, 5, 10) if rough <= one * power * (1 + 1e-9))
    return factor * power


def tick_label(value: float) -> str:
    """Return a number as an axis writes it: no trailing zeros, a true minus sign.

    >>> tick_label(-0.5), tick_label(20000.0)
    ('−0.5', '20,000')
    """
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e7:
        mantissa, power = f"{value:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}".replace("-", "−")
    decimals = max(0, 6 - math.floor(math.log10(abs(value))))
    written = f"{value:,.{decimals}f}"
    return (written.rstrip("0").rstrip(".") if decimals else written).replace("-", "−")


def _whole_decades(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a log scale: round numbers just outside."""
    below = [one for one in _round_numbers(low) if one <= low * (1 + 1e-9)]
    above = [one for one in _round_numbers(high) if one >= high * (1 - 1e-9)]
    ends = max(below), min(above)
    return ends if ends[0] < ends[1] else (ends[0] / 2, ends[1] * 2)


def _round_numbers(near: float) -> list[float]:
    power = math.floor(math.log10(near))
    return [factor * 10.0**place for place in (power, power + 1) for factor in (1, 2, 5)]


def _powers(low: float, high: float) -> tuple[float, ...]:
    decades = math.log10(high / low)
    factors = (1, 2, 5) if decades <= 2.5 else (1,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, math.ceil(decades / 8))
    found = (factor * 10.0**power for power in range(first, last + 1, every) for factor in factors)
    return tuple(one for one in found if low * (1 - 1e-9) <= one <= high * (1 + 1e-9))
