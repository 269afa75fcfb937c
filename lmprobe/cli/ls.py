"""`lmprobe ls`: lists template sets, base rates, models, scorers and other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from lmprobe.cli.options import Json
from lmprobe.errors import LmprobeError
from lmprobe.plugins import REGISTRIES

Row = Mapping[str, Any]
"""What is listed: `name`, `size` (words for a person), `description`, and more for --json."""


def _print(rows: list[Row], details: tuple[str, ...]) -> None:
    """Print one line each, never wrapped, so that it can be searched and cut.

    What a row has of `details` stands below it, indented.
    """
    widths = {key: max((len(row[key]) for row in rows), default=0) for key in ("name", "size")}
    for row in rows:
        cells = [f"{row[key]:<{width}}" for key, width in widths.items() if width]
        typer.echo("  ".join([*cells, row["description"]]))
        for key in details:
            for value in row[key] if isinstance(row[key], tuple | list) else [row[key]]:
                if value is not None:
                    typer.echo(f"    {key.removesuffix('s')}: {value}")
    if not rows:
        typer.echo("none")


def _templates() -> list[Row]:
    from lmprobe.templates import load_templates, template_names

    return [
        {
            "name": name,
            "size": f"{len(templates.templates)} templates, "
            f"{len(templates.all_attributes)} x {len(templates.tasks)} words",
            "description": templates.description,
            "source": templates.source,
            "language": templates.language,
            "templates": len(templates.templates),
            "families": len(set(templates.families)),
            "attribute": templates.attribute_slot,
            "attributes": list(templates.all_attributes),
            "default_attributes": list(templates.attributes),
            "task": templates.task_slot,
            "tasks": len(templates.tasks),
            "sha256": templates.sha256,
        }
        for name, templates in ((name, load_templates(name)) for name in template_names())
    ]


def _lexicons() -> list[Row]:
    from lmprobe.templates import lexicon_names, load_lexicon

    return [
        {
            "name": name,
            "size": f"{len(lexicon.entries)} words",
            "description": lexicon.description,
            "source": lexicon.source,
            "words": [entry.word for entry in lexicon.entries],
            "forms": sorted({form for entry in lexicon.entries for form in entry.forms}),
            "tags": sorted({tag for entry in lexicon.entries for tag in entry.tags}),
        }
        for name, lexicon in ((name, load_lexicon(name)) for name in lexicon_names())
    ]


def _base_rates() -> list[Row]:
    from lmprobe.sources import describe

    rows: list[Row] = []
    for source in describe():
        tasks, problem = source["tasks"], source["problem"]
        size = f"{tasks} tasks x {len(source['attributes'])}" if tasks else "any"
        description = source["title"] or ""
        if problem:
            size, description = "unknown", f"cannot be read: {problem}"
        rows.append({**source, "size": size, "description": description})
    return rows


def _models() -> list[Row]:
    from lmprobe.models.checkpoint import find_checkpoint, reference_names

    rows: list[Row] = []
    for name in reference_names():
        checkpoint = find_checkpoint(f"reference:{name}")
        weights = sum(path.stat().st_size for path in checkpoint.folder.glob("*.safetensors"))
        rows.append(
            {
                "name": checkpoint.name,
                "size": f"{weights / 1e6:.1f} MB",
                "description": "Bundled measuring standard whose true bias is known.",
                "content_hash": checkpoint.content_hash,
            }
        )
    return rows


def _registered(kind: str) -> list[Row]:
    """Return the extensions of a registry; a plug-in that cannot be loaded says so in its row."""
    from lmprobe.plugins import registry

    extensions = registry(kind)
    rows: list[Row] = []
    for name in extensions.names():
        try:
            description = extensions.description(name)
        except LmprobeError as problem:
            description = str(problem)
        rows.append({"name": name, "size": "", "description": description})
    return rows


_LISTS: Mapping[str, Callable[[], list[Row]]] = {
    "templates": _templates,
    "lexicons": _lexicons,
    "base-rates": _base_rates,
    "models": _models,
    **{kind: partial(_registered, kind) for kind in REGISTRIES},
}
_DETAILS = {"base-rates": ("source", "year", "licence", "unit", "method", "sha256", "notes")}

Kind = StrEnum("Kind", {kind.replace("-", "_"): kind for kind in _LISTS})  # type: ignore[misc]


def command(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list; everything by default.")
    ] = None,
    json: Json = False,
) -> None:
    """List everything that options can name: template sets, base rates, models, extensions.

    `lmprobe ls base-rates` also shows where the numbers of each table come from.

    Example: [bold]lmprobe ls templates[/bold]
    """
    from lmprobe.cli.output import show_json

    lists = {name: rows() for name, rows in _LISTS.items() if kind is None or name == kind}
    if json:
        show_json(lists)
        return
    for title, rows in lists.items():
        if kind is None:
            typer.secho(title, bold=True)
        _print(rows, _DETAILS.get(kind.value, ()) if kind else ())
        if kind is None:
            typer.echo()
