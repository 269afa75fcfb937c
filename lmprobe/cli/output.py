"""Where a command's words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lmprobe import __version__
from lmprobe.progress import Progress, silent

# A word of a file must not move the cursor, change colours or turn the writing round.
_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class _Console(Console):
    """A terminal that only lmprobe itself gives orders to."""

    def render_str(self, text: str, **settings: Any) -> Text:
        return super().render_str(_COMMANDING.sub("\ufffd", text), **settings)


def versions() -> dict[str, str]:
    """Return the versions of what decides the numbers, without importing any of it."""
    found = {"lmprobe": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "pandas"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def to_json(document: Any) -> str:
    """Return the JSON text of `document`; NaN and infinity become null."""
    return json.dumps(_clean(document), indent=2, ensure_ascii=False, allow_nan=False)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    if hasattr(value, "tolist"):
        return _clean(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show(*parts: Table | str) -> None:
    """Print tables and lines on standard output, at the width of the terminal."""
    console = _Console(highlight=False)
    for part in parts:
        console.print(part)


def show_json(document: Any) -> None:
    """Print one JSON document on standard output."""
    print(to_json(document))


def note(text: str, *, quiet: bool = False) -> None:
    """Tell the person something on standard error."""
    if not quiet:
        # A path must stay in one piece, to be copied.
        _Console(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str, unit: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Give a progress callback that draws a bar with its rate on standard error.

    Without a terminal, or when quiet, it draws nothing.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield silent
        return
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        job = bar.add_task(what, total=1, unit=unit, rate="")

        def update(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.1f} {unit}/s" if speed else ""
            bar.update(job, completed=done, total=total or done, rate=rate)

        yield update
