"""Writes SVG: elements whose text and attributes are escaped, and the frame round a picture."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from textwrap import wrap

from markupsafe import Markup, escape

from lmprobe.report.theme import figure_style

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

FONT = 12.0
"""The size of the text in a picture, in its own units."""


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


def picture(
    name: str,
    title: str,
    description: str,
    size: tuple[float, float],
    *children: Markup,
    standalone: bool,
) -> Markup:
    """Return the whole picture with its alternative text.

    A standalone picture brings its style and draws its title; one inside a page leaves
    both to the page.
    """
    width, height = size
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "figure"
    size_of_title = FONT * 1.15
    lines = wrap(title, int((width - 24) / text_width("x", size_of_title))) if standalone else []
    head = 16 + 18.0 * len(lines) if standalone else 0.0
    attributes: dict[str, str | float] = {
        "class": "figure",
        "viewBox": f"0 {_value(-head)} {_value(width)} {_value(height + head)}",
        "role": "img",
        "aria-labelledby": f"{slug}-title {slug}-description",
    }
    front = [
        element("title", {"id": f"{slug}-title"}, title),
        element("desc", {"id": f"{slug}-description"}, description),
    ]
    if standalone:
        outer: dict[str, str | float] = {"xmlns": "http://www.w3.org/2000/svg"}
        attributes = outer | attributes | {"width": width, "height": height + head}
        back: dict[str, str | float] = {
            "y": -head,
            "width": width,
            "height": height + head,
            "class": "surface",
        }
        front += [
            element("style", {}, Markup(figure_style())),
            element("rect", back),
            *(
                text(
                    12,
                    22 + 18 * number - head,
                    shortened(one, width - 24, size_of_title),
                    "heading",
                )
                for number, one in enumerate(lines)
            ),
        ]
    return element("svg", attributes, *front, *children)


def text_width(words: str, size: float = FONT) -> float:
    """Return about how wide the words are in a usual sans-serif font."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    return size * (0.6 * (len(words) - wide) + 1.0 * wide)


def shortened(words: str, room: float, size: float = FONT) -> str:
    """Return the words, cut with an ellipsis where they do not fit."""
    if text_width(words, size) <= room:
        return words
    kept = words
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
