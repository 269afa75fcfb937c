"""A result in a notebook: its headline and first table, small, readable on light and dark.

Notebook viewers drop style sheets and scripts, so every style is written at its element and
inherits the colours of the page around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from lmprobe.plot.svg import legible
from lmprobe.results import Cell, Column, Page, Table, Tone, Verdict
from lmprobe.results.format import format_cell, plural

MOST_ROWS = 10

# Bright enough for a dark background, dark enough for a light one.
_COLOURS = {Tone.PLUS: "#c8571b", Tone.MINUS: "#2d7fc4", Tone.WARNING: "#a8741a"}
_MARKS = {Tone.PLUS: "▲ ", Tone.MINUS: "▼ ", Tone.EVEN: "● ", Tone.WARNING: "◆ "}
_CELL = "padding:.2em .8em .2em 0;border:0;border-bottom:1px solid rgba(128,128,128,.3)"


def notebook_html(page: Page, tables: Sequence[Table]) -> str:
    """Return a fragment of HTML that depends on nothing."""
    parts = [_element("strong", "", page.title)]
    parts += [_element("div", "", statement.text) for statement in page.headline]
    parts += [_table(table) for table in tables]
    parts.append(_element("div", "opacity:.7", "to_html() gives the whole report"))
    return str(_element("div", "line-height:1.4", Markup("").join(parts)))


def _table(table: Table) -> Markup:
    title = _element("div", "margin-top:.8em;font-weight:600", table.title) if table.title else ""
    heads = [_element("th", f"{_CELL};{_side(column)}", column.heading) for column in table.columns]
    rows = [_element("tr", "background:none", Markup("").join(heads))]
    for row in table.rows[:MOST_ROWS]:
        cells = [_cell(*pair) for pair in zip(row, table.columns, strict=True)]
        rows.append(_element("tr", "background:none", Markup("").join(cells)))
    style = "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums"
    left_out = len(table.rows) - MOST_ROWS
    more = _element("div", "opacity:.7", f"and {plural(left_out, 'row')} more")
    drawn = Markup(title) + _element("table", style, Markup("").join(rows))
    return drawn + (more if left_out > 0 else "")


def _cell(cell: Cell, column: Column) -> Markup:
    style, words = f"{_CELL};{_side(column)}", format_cell(cell, column)
    if isinstance(cell, Verdict):
        words = _MARKS[cell.tone] + words
        colour = _COLOURS.get(cell.tone)
        style += f";color:{colour}" if colour else ""
    return _element("td", style, words)


def _side(column: Column) -> str:
    return f"text-align:{'left' if column.kind.is_words else 'right'}"


def _element(tag: str, style: str, inside: str) -> Markup:
    """Return an element; words are escaped, the tag and the style are ours."""
    opening = f'<{tag} style="{style}">' if style else f"<{tag}>"
    return Markup(opening) + legible(inside) + Markup(f"</{tag}>")
