"""The colours and the style sheet of every picture, light and dark.

Orange and blue are told apart by nearly everybody, whatever their colour vision, and lie
at the two ends of the diverging scale; no meaning is carried by colour alone.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_SHEET = Path(__file__).with_name("assets") / "figure.css"

# The six series are colours of Okabe & Ito (2008), darkened for thin lines on a light ground
# and lightened on a dark one.
LIGHT = {
    "page": "#f7f7f5",
    "surface": "#ffffff",
    "ink": "#1b212c",
    "muted": "#59616f",
    "faint": "#e2e4e9",
    "plus": "#b8480c",
    "minus": "#0a63a5",
    "even": "#6b7280",
    "warning": "#8a5a00",
    "series-1": "#0072b2",
    "series-2": "#d55e00",
    "series-3": "#00805d",
    "series-4": "#a8528a",
    "series-5": "#9a6a00",
    "series-6": "#1b212c",
}
DARK = {
    "page": "#12151b",
    "surface": "#1a1f27",
    "ink": "#e8eaee",
    "muted": "#a2aab8",
    "faint": "#323945",
    "plus": "#f5925a",
    "minus": "#66b3f0",
    "even": "#9aa3b2",
    "warning": "#ecbb4a",
    "series-1": "#5fb0ea",
    "series-2": "#f5925a",
    "series-3": "#45c9a0",
    "series-4": "#dd9ac6",
    "series-5": "#ecbb4a",
    "series-6": "#e8eaee",
}
SERIES = 6


@cache
def figure_sheet() -> str:
    """Return the style sheet of pictures, its colours as variables."""
    return _SHEET.read_text(encoding="utf-8")


@cache
def figure_style() -> str:
    """Return the style of a picture that stands alone.

    Its colours are written out, because most programs other than browsers know no
    variables; a browser also gets the dark ones.
    """
    sheet = figure_sheet()
    return (
        f"{light_style()}\n@media (prefers-color-scheme: dark) {{\n{_written_out(sheet, DARK)}\n}}"
    )


@cache
def light_style() -> str:
    """Return the style of a picture for paper: the light colours alone."""
    return _written_out(figure_sheet(), LIGHT)


def variables(palette: dict[str, str]) -> str:
    """Return a palette as variables of a style sheet."""
    return " ".join(f"--{name}: {colour};" for name, colour in palette.items())


def _written_out(sheet: str, palette: dict[str, str]) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: palette[found[1]], sheet)
