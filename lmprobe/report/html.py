"""A report as one HTML file that needs no other file: to send, to print, to read offline."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lmprobe import __version__
from lmprobe.report.charts import svg
from lmprobe.report.svg import DARK, LIGHT, element, figure_sheet, legible
from lmprobe.results import (
    Cell,
    Column,
    ColumnKind,
    Figure,
    Note,
    Page,
    Section,
    Table,
    Tone,
    Verdict,
)
from lmprobe.results.format import format_table, plural

MOST_ROWS = 2000
"""A page with more lines than this is slow; the CSV has them all."""

_MOST_FILTERED = 12
"""A column with more different words than this is searched, not chosen from a list."""


def table_view(table: Table, name: str) -> dict[str, Any]:
    """Return the table as a template reads it; `name` is unique on the page."""
    words = format_table(table)
    rows = [_row(table, *row) for row in zip(table.rows[:MOST_ROWS], words, strict=False)]
    return {
        "id": name,
        "label": table.title or table.name.replace("_", " "),
        "title": table.title,
        "caption": table.caption,
        "columns": [
            {"heading": column.heading, "kind": _class(column).replace("verdict", "")}
            for column in table.columns
        ],
        "rows": rows,
        # The first column names its row, if it holds words.
        "named": bool(table.columns) and table.columns[0].kind is ColumnKind.TEXT,
        "layout": _narrow_layout(table),
        "filters": _filters(table, words),
        "example": _example(table, words),
        "shown": f"{len(rows):,}",
        "total": plural(len(table.rows), "row"),
        "total_rows": len(table.rows),
        "left_out": len(table.rows) - len(rows),
    }


def _row(table: Table, row: tuple[Cell, ...], words: list[str]) -> list[dict[str, str]]:
    tones = _tones(table, row)
    return [
        {"words": text, "kind": " ".join(filter(None, (_class(column), tone)))}
        for text, column, tone in zip(words, table.columns, tones, strict=True)
    ]


def _tones(table: Table, row: tuple[Cell, ...]) -> list[str]:
    """Return the colour of each cell.

    A signed number takes the tone of the verdict that follows it. In a table without
    verdicts its sign decides; in one with them a number that none follows stays plain.
    """
    judged = any(column.kind is ColumnKind.VERDICT for column in table.columns)
    tones, following = [], ""
    for cell, column in reversed(list(zip(row, table.columns, strict=True))):
        tone = ""
        if isinstance(cell, Verdict):
            tone = following = cell.tone.value
        elif column.kind is ColumnKind.SIGNED and cell is not None:
            tone = following if judged else _sign(cell)
            following = ""
        tones.append(tone)
    return tones[::-1]


def _sign(cell: Cell) -> str:
    if not isinstance(cell, int | float) or cell == 0 or cell != cell:
        return ""
    return Tone.PLUS.value if cell > 0 else Tone.MINUS.value


def _narrow_layout(table: Table) -> str:
    """Return the class that says what becomes of the table on a phone.

    A few columns with a verdict share two lines per row; many become a line per cell with
    its heading before it; other tables only get smaller.
    """
    if len(table.columns) > 4:
        return "labelled"
    judged = any(column.kind is ColumnKind.VERDICT for column in table.columns)
    return "stack" if judged else "tight"


def _class(column: Column) -> str:
    if column.kind.is_words:
        return "" if column.kind is ColumnKind.TEXT else column.kind.value
    return "number" if column.kind.is_number else "range"


def _filters(table: Table, words: list[list[str]]) -> list[dict[str, Any]]:
    """Return the choices of every column with a few different words."""
    filters = []
    for number, column in enumerate(table.columns):
        choices = dict.fromkeys(row[number] for row in words)
        few = 1 < len(choices) <= _MOST_FILTERED and len(choices) < len(words)
        if column.kind.is_words and few:
            options = [*filter(None, choices)]
            filters.append({"column": number, "heading": column.heading, "options": options})
    return filters


def _example(table: Table, words: list[list[str]]) -> str:
    """Return what one could search for: a word of a column with too many for a list."""
    for number, column in enumerate(table.columns):
        many = len({row[number] for row in words}) > _MOST_FILTERED
        if column.kind is ColumnKind.TEXT and many and 0 < len(words[0][number]) <= 40:
            return f", for example {words[0][number]}"
    return ""


_ASSETS = Path(__file__).parent / "assets"
LIMITS_TITLE = "What this measures, and what it does not"


def page_html(page: Page) -> str:
    """Return a whole report as one file: its own style and script, nothing loaded."""
    anchors: set[str] = set()
    sections = [_section(section, anchors) for section in page.sections]
    if page.limits:
        limits: dict[str, Any] = {"id": _anchor("limits", anchors), "title": LIMITS_TITLE}
        limits["collapsed"] = False
        closed = (number for number, part in enumerate(page.sections) if part.collapsed)
        sections.insert(next(closed, len(sections)), limits)
    style, script = _style(), _asset("tables.js")
    template = _environment().get_template("page.html")
    text = template.render(
        page=page,
        sections=sections,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        version=__version__,
    )
    # The macros above the page leave empty lines.
    return text.lstrip()


def _anchor(words: str, anchors: set[str]) -> str:
    """Return an anchor like the words that nothing else on the page has, and take it."""
    stem = re.sub("[^a-z0-9]+", "-", words.lower()).strip("-") or "part"
    numbered = (f"{stem}-{number}" for number in itertools.count(2))
    name = next(name for name in itertools.chain([stem], numbered) if name not in anchors)
    anchors.add(name)
    return name


def _section(section: Section, anchors: set[str]) -> dict[str, Any]:
    return {
        "id": _anchor(section.name or section.title, anchors),
        "title": section.title,
        "text": section.text,
        "commands": section.commands,
        "facts": section.facts,
        "listing": section.items,
        "collapsed": section.collapsed,
        "searchable": section.searchable,
        "parts": [_section(part, anchors) for part in section.parts],
        "tables": [
            table_view(_titled(table, section), _anchor(f"{table.name} table", anchors))
            for table in section.tables
        ],
        "figures": [_drawn(figure, anchors) for figure in section.figures],
        "notes": _by_topic(section.notes),
    }


def _titled(table: Table, section: Section) -> Table:
    """Return the table without its title where the section has the same one above it."""
    return replace(table, title="") if table.title == section.title else table


def _drawn(figure: Figure, anchors: set[str]) -> dict[str, Any]:
    named = replace(figure, name=_anchor(f"figure-{figure.name}", anchors))
    return {"title": figure.title, "svg": Markup(svg(named, standalone=False))}


def _by_topic(notes: tuple[Note, ...]) -> dict[str, list[Note]]:
    """Return the notes under their headings, each once, in the order they came."""
    topics: dict[str, list[Note]] = {}
    for note in dict.fromkeys(notes):
        topics.setdefault(note.kind.topic, []).append(note)
    return topics


@cache
def _style() -> str:
    """Return the style of a page: both palettes as variables, paper always light."""
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in palette.items())
        for palette in (LIGHT, DARK)
    )
    variables = f":root {{ {light} }}"
    at_night = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return "\n".join((variables, at_night, figure_sheet(), _asset("page.css")))


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finished,
    )
    environment.filters["marked"] = _marked
    return environment


# A browser would end a line before the > of an arrow, and between -- and the name of an option.
_UNBROKEN = re.compile(r"\w+-&gt;\w+|--\w[\w-]*")
_CODE = re.compile("`([^`]+)`")


def _marked(words: str) -> Markup:
    """Return the words escaped: code as code, each direction and option on one line."""
    text = _CODE.sub(r"<code>\1</code>", str(legible(words)))
    return Markup(_UNBROKEN.sub(r'<span class="unbroken">\g<0></span>', text))


def _finished(value: Any) -> Any:
    """Take out of every word what no document may hold, such as a zero byte."""
    return legible(value) if isinstance(value, str) else value


def _policy(style: str, script: str) -> str:
    """Return what the page may load and run: its own style and script, nothing else.

    So even a word that slipped through the escaping could do nothing.
    """
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


MOST_ROWS_OF_NOTEBOOK = 10

# Bright enough for a dark background, dark enough for a light one.
_COLOURS = {Tone.PLUS: "#c8571b", Tone.MINUS: "#2d7fc4", Tone.WARNING: "#a8741a"}
_MARKS = {Tone.PLUS: "▲ ", Tone.MINUS: "▼ ", Tone.EVEN: "● ", Tone.WARNING: "◆ "}
_CELL = "padding:.2em .8em .2em 0;border:0;border-bottom:1px solid rgba(128,128,128,.3)"


def notebook_html(page: Page, tables: Sequence[Table]) -> str:
    """Return a fragment of HTML that depends on nothing."""
    first, *rest = [statement.text for statement in page.headline] or [page.title]
    parts = [element("strong", {}, first), *(element("div", {}, text) for text in rest)]
    parts += [_table(table.without_details()) for table in tables if not table.detail]
    parts.append(_styled("div", "opacity:.7", "to_html() gives the whole report"))
    return str(_styled("div", "line-height:1.4", *parts))


def _table(table: Table) -> Markup:
    heads = [_styled("th", f"{_CELL};{_side(column)}", column.heading) for column in table.columns]
    rows = [_styled("tr", "background:none", *heads)]
    shown = zip(table.rows[:MOST_ROWS_OF_NOTEBOOK], format_table(table), strict=False)
    for row, words in shown:
        cells = [_cell(*cell) for cell in zip(row, words, table.columns, strict=True)]
        rows.append(_styled("tr", "background:none", *cells))
    style = "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums"
    drawn = _styled("table", style, *rows)
    if table.title:
        drawn = _styled("div", "margin-top:.8em;font-weight:600", table.title) + drawn
    left_out = len(table.rows) - MOST_ROWS_OF_NOTEBOOK
    if left_out > 0:
        drawn += _styled("div", "opacity:.7", f"and {plural(left_out, 'row')} more")
    return drawn


def _cell(cell: Cell, words: str, column: Column) -> Markup:
    style = f"{_CELL};{_side(column)}"
    if isinstance(cell, Verdict):
        words = _MARKS[cell.tone] + words
        colour = _COLOURS.get(cell.tone)
        style += f";color:{colour}" if colour else ""
    return _styled("td", style, words)


def _side(column: Column) -> str:
    return f"text-align:{'left' if column.kind.is_words else 'right'}"


def _styled(tag: str, style: str, *children: str) -> Markup:
    return element(tag, {"style": style}, *children)
