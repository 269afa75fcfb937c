"""Writes SVG: elements whose text and attributes are escaped, and the frame around a picture."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from textwrap import wrap

from markupsafe import Markup, escape

from lmprobe.report.theme import figure_style
from lmprobe.results.figure import Figure

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

FONT = 13.0
"""The size of the text in a picture, in its own units."""
SMALL = 12.0
"""The size of the labels of points."""


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


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a straight line."""
    return element("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "class": kind})


def dot(x: float, y: float, radius: float, kind: str, *children: str) -> Markup:
    """Return a filled circle."""
    return element("circle", {"cx": x, "cy": y, "r": radius, "class": kind}, *children)


def hover(words: str) -> Markup:
    """Return what is shown when the pointer rests on the element this is put into."""
    return element("title", {}, words)


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
        attributes, more = _alone(figure.title, attributes, size)
        front += more
    return element("svg", attributes, *front, *children)


def _alone(
    title: str, attributes: dict[str, str | float], size: tuple[float, float]
) -> tuple[dict[str, str | float], list[Markup]]:
    """Return what a picture needs outside a page: size, style, background, title."""
    width, height = size
    largest = FONT * 1.15
    lines = wrap(title, int((width - 24) / text_width("x", largest)))
    head = 16 + 18.0 * len(lines)
    box: dict[str, str | float] = {"width": width, "height": height + head}
    outer: dict[str, str | float] = {"xmlns": "http://www.w3.org/2000/svg"}
    view = {"viewBox": f"0 {_value(-head)} {_value(width)} {_value(height + head)}"}
    parts = [
        element("style", {}, Markup(figure_style())),
        element("rect", {"y": -head, **box, "class": "surface"}),
    ]
    for number, words in enumerate(lines):
        fitting = shortened(words, width - 24, largest)
        parts.append(text(12, 22 + 18 * number - head, fitting, "heading"))
    return outer | attributes | view | box, parts


_NARROWEST = 0.6
"""The width of a letter in units of its height; those of East Asian scripts have 1."""


def text_width(words: str, size: float = FONT) -> float:
    """Return about how wide the words are in a usual sans-serif font."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    return size * (_NARROWEST * (len(words) - wide) + 1.0 * wide)


def shortened(words: str, room: float, size: float = FONT) -> str:
    """Return the words, cut with an ellipsis where they do not fit."""
    if text_width(words, size) <= room:
        return words
    # No letter is narrower than this: what lies farther out need not be measured.
    kept = words[: int(max(room, 0) / (_NARROWEST * size)) + 1]
    while kept and text_width(kept + "…", size) > room:
        kept = kept[:-1]
    return kept.rstrip() + "…"


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
