"""`lmprobe ls`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from lmprobe.cli.options import Json

Row = Mapping[str, Any]
"""What is listed: `name`, `size` (words for a person), `description`, and more for --json."""


class Kind(StrEnum):
    """What can be listed."""

    templates = "templates"
    lexicons = "lexicons"
    base_rates = "base-rates"
    models = "models"
    scorers = "scorers"
    intervals = "intervals"
    attackers = "attackers"
    experiments = "experiments"


def command(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list; everything if left out.")
    ] = None,
    json: Json = False,
) -> None:
    """List what lmprobe knows by name: template sets, base rates, models, methods.

    `lmprobe ls base-rates` also shows where the numbers of each table come from.

    Example: [bold]lmprobe ls templates[/bold]
    """
    from lmprobe.cli.output import show_json

    found = {one.value: _LISTS[one]() for one in ([kind] if kind else Kind)}
    if json:
        show_json(found)
        return
    for title, rows in found.items():
        if kind is None:
            typer.secho(title, bold=True)
        _print(rows, _DETAILS.get(kind, ()) if kind else ())
        if kind is None:
            typer.echo()


def _print(rows: list[Row], details: tuple[str, ...]) -> None:
    """Print one line each, never wrapped, so that it can be searched and cut.

    What a row has of `details` stands below it, indented.
    """
    widths = {key: max((len(row[key]) for row in rows), default=0) for key in ("name", "size")}
    for row in rows:
        cells = [f"{row[key]:<{width}}" for key, width in widths.items() if width]
        typer.echo("  ".join([*cells, row["description"]]))
        for key in details:
            values = row[key] if isinstance(row[key], tuple | list) else [row[key]]
            for value in values:
                if value is not None:
                    typer.echo(f"    {key.removesuffix('s')}: {value}")
    if not rows:
        typer.echo("none")


def _templates() -> list[Row]:
    from lmprobe.templates import load_templates, template_names

    rows: list[Row] = []
    for name in template_names():
        one = load_templates(name)
        words = f"{len(one.all_attributes)} x {len(one.tasks)} words"
        rows.append(
            {
                "name": name,
                "size": f"{len(one.templates)} templates, {words}",
                "description": one.description,
                "source": one.source,
                "language": one.language,
                "templates": len(one.templates),
                "families": len(set(one.families)),
                "attribute": one.attribute_slot,
                "attributes": list(one.all_attributes),
                "default_attributes": list(one.attributes),
                "task": one.task_slot,
                "tasks": len(one.tasks),
                "sha256": one.sha256,
            }
        )
    return rows


def _lexicons() -> list[Row]:
    from lmprobe.templates import lexicon_names, load_lexicon

    rows: list[Row] = []
    for name in lexicon_names():
        one = load_lexicon(name)
        rows.append(
            {
                "name": name,
                "size": f"{len(one.entries)} words",
                "description": one.description,
                "source": one.source,
                "words": [entry.word for entry in one.entries],
                "forms": sorted({form for entry in one.entries for form in entry.forms}),
                "tags": sorted({tag for entry in one.entries for tag in entry.tags}),
            }
        )
    return rows


def _base_rates() -> list[Row]:
    from lmprobe.sources import describe

    rows: list[Row] = []
    for one in describe():
        size = f"{one['tasks']} tasks x {len(one['attributes'])}" if one["tasks"] else "any"
        broken = one["problem"]
        rows.append(
            {
                **one,
                "size": "unknown" if broken else size,
                "description": f"cannot be read: {broken}" if broken else one["title"] or "",
            }
        )
    return rows


def _models() -> list[Row]:
    from lmprobe.models.checkpoint import find_checkpoint, reference_names

    rows: list[Row] = []
    for name in reference_names():
        one = find_checkpoint(f"reference:{name}")
        weights = sum(path.stat().st_size for path in one.folder.glob("*.safetensors"))
        rows.append(
            {
                "name": one.name,
                "size": f"{weights / 1e6:.1f} MB",
                "description": "Bundled measuring standard whose true bias is known.",
                "content_hash": one.content_hash,
            }
        )
    return rows


def _scorers() -> list[Row]:
    from lmprobe.scorers import scorers

    return _registered(scorers)


def _intervals() -> list[Row]:
    from lmprobe.intervals.method import intervals

    return _registered(intervals)


def _attackers() -> list[Row]:
    from lmprobe.leakage.attackers.attacker import attackers

    return _registered(attackers)


def _experiments() -> list[Row]:
    from lmprobe.reproduce.experiment import experiments

    return _registered(experiments)


def _registered(registry: Any) -> list[Row]:
    """Return the extensions of a registry, described by the first line of their docstring."""
    rows: list[Row] = []
    for name in registry.names():
        lines = (registry.get(name).__doc__ or "").strip().splitlines()
        rows.append({"name": name, "size": "", "description": lines[0] if lines else ""})
    return rows


_LISTS: Mapping[Kind, Callable[[], list[Row]]] = {
    Kind.templates: _templates,
    Kind.lexicons: _lexicons,
    Kind.base_rates: _base_rates,
    Kind.models: _models,
    Kind.scorers: _scorers,
    Kind.intervals: _intervals,
    Kind.attackers: _attackers,
    Kind.experiments: _experiments,
}

_DETAILS = {Kind.base_rates: ("source", "year", "licence", "unit", "method", "sha256", "notes")}
