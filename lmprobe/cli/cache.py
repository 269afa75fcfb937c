"""`lmprobe cache`: shows or clears the scores kept from earlier runs."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

import typer

from lmprobe.cli.options import Json, Quiet
from lmprobe.errors import plural


class Action(StrEnum):
    """What to do with the cache."""

    ls = "ls"
    clear = "clear"


def command(
    action: Annotated[
        Action,
        typer.Argument(
            help="Show the contents, or remove them.", show_default=True, metavar="ls|clear"
        ),
    ] = Action.ls,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show or clear the scores kept from earlier runs.

    The cache is the folder $LMPROBE_CACHE, or the platform's cache folder. Entries never become
    outdated, so clearing it only frees space.

    Example: [bold]lmprobe cache clear[/bold]
    """
    from rich.console import Console

    from lmprobe.cli.output import note, show_json
    from lmprobe.io.files import cache_folder
    from lmprobe.models import cache
    from lmprobe.report.terminal import TerminalTable
    from lmprobe.results import Column, ColumnKind, Table

    folder = str(cache_folder())
    if action is Action.clear:
        files, size = cache.clear()
        if json:
            show_json({"folder": folder, "removed": files, "bytes": size})
        else:
            note(f"removed {plural(files, 'file')}, {plural(size, 'byte')}", quiet=quiet)
        return
    entries: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path, entry in cache.contents():
        # A damaged entry belongs to no model.
        name = "(damaged)" if entry is None else entry.model
        entries[name] += 1
        sizes[name] += path.stat().st_size
    lines = tuple((name, entries[name], sizes[name]) for name in sorted(entries))
    if json:
        keys = ("model", "templates", "bytes")
        models = [dict(zip(keys, line, strict=True)) for line in lines]
        show_json({"folder": folder, "models": models})
    elif not lines:
        typer.echo(f"No scores are kept in {folder} yet.")
    else:
        counts = (Column(name, ColumnKind.COUNT) for name in ("templates", "bytes"))
        title = f"Scores kept in {folder}"
        table = Table("cache", (Column("model"), *counts), lines, title=title)
        Console(highlight=False).print(TerminalTable(table))
