"""The frame of every page: one file, its own style, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lmprobe import __version__
from lmprobe.report import words
from lmprobe.report.svg import legible
from lmprobe.report.theme import asset, page_style


def render(template: str, context: Mapping[str, Any], *, script: str | None = None) -> str:
    """Return the page that a template of `assets/` makes of the context.

    The page's policy forbids the browser to load or run anything but its own style and script,
    so even a word that slipped through the escaping could do nothing.
    """
    style = page_style()
    code = asset(script) if script else ""
    page = _environment().get_template(template)
    return page.render(
        **context,
        style=Markup(style),
        script=Markup(code),
        policy=_policy(style, code),
        version=__version__,
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finished,
    )
    environment.filters |= {
        "arrow": arrow,
        "ends": words.ends,
        "kind": words.kind,
        "leaning": _leaning,
        "number": words.number,
        "percent": words.percent,
        "short": lambda verdict: verdict.removesuffix(" either way"),
        "signed": words.signed,
    }
    return environment


def arrow(direction: str) -> str:
    """Return a direction as people read it: task → attribute."""
    return direction.replace("->", " → ")


def _finished(value: Any) -> Any:
    """Take out of every word what no document may hold, such as a zero byte."""
    return legible(value) if isinstance(value, str) else value


def _leaning(lean: float) -> str:
    return {1.0: "+", -1.0: "−", 0.0: "0"}.get(lean, "undefined")


def _policy(style: str, script: str) -> str:
    allowed = f"script-src {_hash(script)}; " if script else ""
    return (
        f"default-src 'none'; style-src {_hash(style)}; {allowed}"
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
