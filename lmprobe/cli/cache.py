"""`lmprobe cache`: shows or clears the scores kept from earlier runs."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Annotated

import typer

from lmprobe.cli.options import Json, Quiet


class Action(StrEnum):
    """What to do with the cache."""

    ls = "ls"
    clear = "clear"


def command(
    action: Annotated[
        Action, typer.Argument(help="Show the contents, or remove them.", show_default=True)
    ] = Action.ls,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show or clear the scores kept from earlier runs.

    The cache is the folder $LMPROBE_CACHE, or the platform's cache folder. Entries never become
    outdated, so clearing it only frees space.

    Example: [bold]lmprobe cache clear[/bold]
    """
    from lmprobe.cli.output import note, show_json
    from lmprobe.io.folders import cache_folder
    from lmprobe.models import cache

    if action is Action.clear:
        files, size = cache.clear()
        document = {"folder": str(cache_folder()), "removed": files, "bytes": size}
        if json:
            show_json(document)
        else:
            note(f"removed {files} files, {size:,} bytes", quiet=quiet)
        return
    _list(json)


def _list(json: bool) -> None:
    """Show how much each model has in the cache; a damaged entry belongs to none."""
    from rich.console import Console

    from lmprobe.cli.output import show_json
    from lmprobe.io.folders import cache_folder
    from lmprobe.models import cache
    from lmprobe.report.terminal import TerminalTable
    from lmprobe.results import Column, ColumnKind, Table

    entries: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path, entry in cache.contents():
        name = "(damaged)" if entry is None else entry.model
        entries[name] += 1
        sizes[name] += path.stat().st_size
    folder = str(cache_folder())
    if json:
        rows = [
            {"model": name, "templates": entries[name], "bytes": sizes[name]}
            for name in sorted(entries)
        ]
        show_json({"folder": folder, "models": rows})
        return
    if not entries:
        typer.echo(f"No scores are kept in {folder} yet.")
        return
    columns = (
        Column("model"),
        Column("templates", ColumnKind.COUNT),
        Column("bytes", ColumnKind.COUNT),
    )
    lines = tuple((name, entries[name], sizes[name]) for name in sorted(entries))
    table = Table("cache", columns, lines, title=f"Scores kept in {folder}")
    Console(highlight=False).print(TerminalTable(table))
