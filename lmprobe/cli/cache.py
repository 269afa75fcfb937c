"""lmprobe cache: see and clear what models have said."""

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
        Action, typer.Argument(help="Show what is there, or remove it.", show_default=True)
    ] = Action.ls,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """See or clear the scores that were kept from earlier runs.

    They lie in $LMPROBE_CACHE, or in the platform's folder for caches. Nothing in them goes
    stale, so clearing only frees space.

    Example: lmprobe cache clear
    """
    from lmprobe.cli.output import note, show_json
    from lmprobe.models import cache

    if action is Action.clear:
        files, size = cache.clear()
        document = {"folder": str(cache.cache_folder()), "removed": files, "bytes": size}
        if json:
            show_json(document)
        else:
            note(f"removed {files} files, {size:,} bytes", quiet=quiet)
        return
    _list(json)


def _list(json: bool) -> None:
    """Show how much each model has in the cache; a damaged entry belongs to none."""
    from rich.table import Table

    from lmprobe.cli.output import show, show_json
    from lmprobe.models import cache

    entries: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for path, entry in cache.contents():
        name = "(damaged)" if entry is None else entry.model
        entries[name] += 1
        sizes[name] += path.stat().st_size
    folder = str(cache.cache_folder())
    if json:
        rows = [
            {"model": name, "templates": entries[name], "bytes": sizes[name]}
            for name in sorted(entries)
        ]
        show_json({"folder": folder, "models": rows})
        return
    table = Table(title=f"Scores kept in {folder}", title_justify="left")
    table.add_column("model")
    table.add_column("templates", justify="right")
    table.add_column("bytes", justify="right")
    for name in sorted(entries):
        table.add_row(name, f"{entries[name]:,}", f"{sizes[name]:,}")
    show(table if entries else f"No scores are kept in {folder} yet.")
