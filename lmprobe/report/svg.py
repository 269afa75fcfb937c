"""Parts of every picture as SVG: colours, text, axes, and the frame around them.

Orange and blue are told apart by nearly everybody, whatever their colour vision, and lie
at the two ends of the diverging scale; no meaning is carried by colour alone.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, singledispatch
from pathlib import Path
from textwrap import wrap

from markupsafe import Markup, escape

from lmprobe.results.content import Figure

# Each colour on a light and on a dark ground. The six series are colours of Okabe & Ito (2008),
# darkened for thin lines on a light ground and lightened on a dark one.
_COLOURS = {
    "page": ("#f7f7f5", "#12151b"),
    "surface": ("#ffffff", "#1a1f27"),
    "ink": ("#1b212c", "#e8eaee"),
    "muted": ("#59616f", "#a2aab8"),
    "faint": ("#e2e4e9", "#323945"),
    "plus": ("#b8480c", "#f5925a"),
    "minus": ("#0a63a5", "#66b3f0"),
    "even": ("#6b7280", "#9aa3b2"),
    "warning": ("#8a5a00", "#ecbb4a"),
    "series-1": ("#0072b2", "#5fb0ea"),
    "series-2": ("#d55e00", "#f5925a"),
    "series-3": ("#00805d", "#45c9a0"),
    "series-4": ("#a8528a", "#dd9ac6"),
    "series-5": ("#9a6a00", "#ecbb4a"),
    "series-6": ("#1b212c", "#e8eaee"),
}
LIGHT, DARK = ({name: pair[side] for name, pair in _COLOURS.items()} for side in (0, 1))
SERIES = 6

FONT = 13.0
"""The size of the text in a picture, in its own units."""
SMALL = 12.0
"""The size of the labels of points."""
_LETTER = 0.6
"""The width of a letter in units of its height; those of East Asian scripts have 1."""
_TICKS = 5

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@singledispatch
def draw(figure: Figure, *, standalone: bool) -> Markup:
    """Return the picture; each kind of figure registers the function that draws it."""
    raise TypeError(f"nothing draws a {type(figure).__name__}")


# ---- style ------------------------------------------------------------------------------------


@cache
def figure_sheet() -> str:
    """Return the style sheet of pictures, its colours as variables."""
    return Path(__file__).with_name("assets").joinpath("figure.css").read_text(encoding="utf-8")


@cache
def light_style() -> str:
    """Return the style of a picture for paper: the light colours alone."""
    return _written_out(LIGHT)


@cache
def figure_style() -> str:
    """Return the style of a picture that stands alone.

    Its colours are written out, because most programs other than browsers know no
    variables; a browser also gets the dark ones.
    """
    dark = _written_out(DARK)
    return f"{light_style()}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _written_out(palette: dict[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda name: palette[name[1]], figure_sheet())


# ---- elements ---------------------------------------------------------------------------------


def element(name: str, attributes: Mapping[str, str | float], *children: str) -> Markup:
    """Return one element; a plain string is escaped, `Markup` is taken as it is."""
    inside = Markup("").join(legible(child) for child in children)
    written = Markup("").join(
        Markup(' {}="{}"').format(key, _value(value)) for key, value in attributes.items()
    )
    # The names are ours, never a user's.
    opening = Markup(f"<{name}{written}")
    return opening + (Markup(">") + inside + Markup(f"</{name}>") if children else Markup("/>"))


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> Markup:
    """Return words at a place; `kind` is a class of the style sheet."""
    attributes: dict[str, str | float] = {"x": x, "y": y}
    if kind:
        attributes["class"] = kind
    if anchor != "start":
        attributes["text-anchor"] = anchor
    return element("text", attributes, words)


def fitted_text(
    words: str, room: float, attributes: Mapping[str, str | float], size: float = FONT
) -> Markup:
    """Return words cut to the room they have; then all of them are shown on hover."""
    written = shortened(words, room, size)
    return element("text", attributes, written, *([hover(words)] if written != words else []))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a straight line."""
    return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def dot(x: float, y: float, radius: float, kind: str, *children: str) -> Markup:
    """Return a filled circle."""
    return element("circle", {"cx": x, "cy": y, "r": radius, "class": kind}, *children)


def hover(words: str) -> Markup:
    """Return what is shown when the pointer rests on the element this is put into."""
    return element("title", {}, words)


def text_width(words: str, size: float = FONT) -> float:
    """Return about how wide the words are in a usual sans-serif font."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    return size * (_LETTER * (len(words) - wide) + 1.0 * wide)


def shortened(words: str, room: float, size: float = FONT) -> str:
    """Return the words, with an ellipsis in their middle where they do not fit.

    Names of models often differ only at their end.
    """
    if text_width(words, size) <= room:
        return words
    # No letter is narrower than this: more of them need not be measured.
    letters = int(max(room, 0) / (_LETTER * size))
    while True:
        front, back = words[: (letters + 1) // 2], words[len(words) - letters // 2 :]
        written = f"{front.rstrip()}…{back.lstrip()}"
        if letters <= 0 or text_width(written, size) <= room:
            return written
        letters -= 1


def legible(words: str) -> Markup:
    """Return the words escaped, without the characters that no XML file may hold."""
    if isinstance(words, Markup):
        return words
    return escape(_FORBIDDEN.sub("\ufffd", words))


def _value(value: str | float) -> Markup:
    if isinstance(value, str):
        return legible(value)
    written = f"{value:.2f}".rstrip("0").rstrip(".")
    return Markup("0" if written == "-0" else written)


# ---- the frame of a picture -------------------------------------------------------------------


def width_of(standalone: bool) -> float:
    """Return the width of a picture in its own units: inside a page it must suit a phone."""
    return 520.0 if standalone else 380.0


def picture(
    figure: Figure, size: tuple[float, float], *children: Markup, standalone: bool
) -> Markup:
    """Return the whole picture with its alternative text.

    A standalone picture brings its style and draws its title; one inside a page leaves
    both to the page.
    """
    width, height = size
    slug = re.sub(r"[^a-z0-9]+", "-", figure.name.lower()).strip("-") or "figure"
    attributes: dict[str, str | float] = {
        "class": "figure",
        "viewBox": f"0 0 {_value(width)} {_value(height)}",
        "role": "img",
        "aria-labelledby": f"{slug}-title {slug}-description",
    }
    if width > width_of(standalone):
        # Too wide to be shrunk: it keeps its size, and the page lets it scroll.
        attributes |= {"class": "figure wide", "width": width}
    front = [
        element("title", {"id": f"{slug}-title"}, figure.title),
        element("desc", {"id": f"{slug}-description"}, figure.alternative),
    ]
    if standalone:
        large = FONT * 1.15
        lines = wrap(figure.title, int((width - 24) / text_width("x", large)))
        head = 16 + 18.0 * len(lines)
        box: dict[str, str | float] = {"width": width, "height": height + head}
        view = {"viewBox": f"0 {_value(-head)} {_value(width)} {_value(height + head)}"}
        attributes = {"xmlns": "http://www.w3.org/2000/svg"} | attributes | view | box
        front.append(element("style", {}, Markup(figure_style())))
        front.append(element("rect", {"y": -head, **box, "class": "surface"}))
        for number, words in enumerate(lines):
            fitting = shortened(words, width - 24, large)
            front.append(text(12, 22 + 18 * number - head, fitting, "heading"))
    return element("svg", attributes, *front, *children)


# ---- axes -------------------------------------------------------------------------------------


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

    def ticks(self) -> tuple[float, ...]:
        """Return a few round numbers within the scale."""
        if self.log:
            decades = math.log10(self.high / self.low)
            numbers = _round_numbers(
                self.low,
                self.high,
                factors=(1, 2, 5) if decades <= 2.5 else (1,),
                step=max(1, math.ceil(decades / 8)),
            )
            return tuple(n for n in numbers if self.low * (1 - 1e-9) <= n <= self.high * (1 + 1e-9))
        step = step_of(self.high - self.low)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(round(number * step, 12) for number in range(first, last + 1))


def drawable(value: float, *, log: bool = False) -> bool:
    """Tell whether a number has a place on such a scale."""
    return math.isfinite(value) and (value > 0 or not log)


def scale(values: Iterable[float], start: float, stop: float, *, log: bool = False) -> Scale:
    """Return the scale that holds the values and ends at round numbers."""
    placed = [value for value in values if drawable(value, log=log)]
    if not placed:
        return Scale(1.0, 10.0, start, stop, log) if log else Scale(0.0, 1.0, start, stop)
    low, high = min(placed), max(placed)
    if log:
        numbers = _round_numbers(low, high)
        first = max(number for number in numbers if number <= low * (1 + 1e-9))
        last = min(number for number in numbers if number >= high * (1 - 1e-9))
        if first == last:
            first, last = first / 2, last * 2
        return Scale(first, last, start, stop, log=True)
    # A hair's breadth of difference is no range to draw: it would show rounding noise.
    if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
        room = max(abs(low) * 0.1, 1e-3)
        low, high = low - room, high + room
    step = step_of(high - low)
    ends = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return Scale(*ends, start, stop)


def step_of(span: float) -> float:
    """Return the round number (1, 2 or 5 times a power of ten) that divides a span.

    >>> step_of(0.9)
    0.2
    """
    rough = span / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    factor = next(factor for factor in (1, 2, 5, 10) if rough <= factor * power * (1 + 1e-9))
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


def x_axis(
    across: Scale,
    top: float,
    bottom: float,
    kind: str = "grid",
    *,
    whole: bool = False,
    label: Callable[[float], str] = tick_label,
) -> Iterator[Markup]:
    """Draw a line from top to bottom at every tick, and below it every number, or every second...

    One of them is zero, else the last. `whole`: between the first and the second of something
    there is nothing to name.
    """
    ticks = [tick for tick in across.ticks() if not whole or tick == int(tick)]
    places, words = [across(tick) for tick in ticks], [label(tick) for tick in ticks]
    wide = max(map(text_width, words), default=0.0) + 8
    closest = min((right - left for left, right in itertools.pairwise(places)), default=wide)
    stride = max(1, math.ceil(wide / closest))
    first = ticks.index(0) if 0 in ticks else len(ticks) - 1
    for number, (x, written) in enumerate(zip(places, words, strict=True)):
        yield line(x, top, x, bottom, kind)
        if (number - first) % stride == 0:
            yield text(x, bottom + 18, written, "muted", "middle")


def _round_numbers(
    low: float, high: float, *, factors: Sequence[int] = (1, 2, 5), step: int = 1
) -> list[float]:
    """Return the factors times the powers of ten around a range."""
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high)) + 1
    return [factor * 10.0**power for power in range(first, last + 1, step) for factor in factors]
