"""A report as one HTML file that needs no other file: to send, to print, to read offline."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lmprobe import __version__
from lmprobe.plot.draw import svg
from lmprobe.plot.svg import legible
from lmprobe.plot.theme import DARK, LIGHT, figure_sheet, variables
from lmprobe.report.html_table import table_view
from lmprobe.results import Figure, Note, Page, Section

_ASSETS = Path(__file__).parent / "assets"
LIMITS_TITLE = "What this measures, and what it does not"


def page_html(page: Page) -> str:
    """Return a whole report as one file: its own style and script, nothing loaded."""
    names = _Names()
    sections = [_section(section, names) for section in page.sections]
    if page.limits:
        limits: dict[str, Any] = {"id": names.new("limits"), "title": LIMITS_TITLE}
        sections.insert(min(1, len(sections)), limits)
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


class _Names:
    """The names that are taken on a page: an anchor must be unique."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, words: str) -> str:
        """Return a name like the words that nothing else has."""
        stem = re.sub("[^a-z0-9]+", "-", words.lower()).strip("-") or "part"
        name = next(
            name
            for number in itertools.count(1)
            if (name := stem if number == 1 else f"{stem}-{number}") not in self._taken
        )
        self._taken.add(name)
        return name


def _section(section: Section, names: _Names) -> dict[str, Any]:
    return {
        "id": names.new(section.name or section.title),
        "title": section.title,
        "text": section.text,
        "commands": section.commands,
        "facts": section.facts,
        "listing": section.items,
        "collapsed": section.collapsed,
        "searchable": section.searchable,
        "parts": [_section(part, names) for part in section.parts],
        "tables": [table_view(table, names.new(f"{table.name} table")) for table in section.tables],
        "figures": [_drawn(figure, names) for figure in section.figures],
        "notes": _by_topic(section.notes),
    }


def _drawn(figure: Figure, names: _Names) -> dict[str, Any]:
    named = replace(figure, name=names.new(f"figure-{figure.name}"))
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
    dark = f":root {{ {variables(DARK)} }}"
    return "\n".join(
        (
            f":root {{ {variables(LIGHT)} }}",
            f"@media screen and (prefers-color-scheme: dark) {{ {dark} }}",
            figure_sheet(),
            _asset("page.css"),
        )
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finished,
    )


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
