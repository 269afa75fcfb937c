"""`lmprobe ls`: lists template sets, base rates, models, scorers and other names."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import typer

from lmprobe.cli.options import Json
from lmprobe.errors import InputError, LmprobeError, did_you_mean, plural, printable
from lmprobe.plugins import REGISTRIES

Row = Mapping[str, Any]
"""What is listed: `name`, `size` (words for a person), `description`, and more for --json."""


def _print(rows: list[Row]) -> None:
    """Print one line each, cut between words where it is longer than the terminal is wide."""
    names = max((len(row["name"]) for row in rows), default=0)
    room = shutil.get_terminal_size().columns - names - 2
    for row in rows:
        words = printable(row["description"])
        shown = textwrap.shorten(words, max(room, 20), placeholder=" ...")
        typer.echo(f"{row['name']:<{names}}  {shown}")
    if not rows:
        typer.echo("none")


def _print_details(row: Row) -> None:
    """Print everything that is known of one entry; sentences of a list stand below each other."""
    typer.secho(row["name"], bold=True)
    first = {key: row[key] for key in ("description", "size")}
    # The title of a table is its description.
    for key, value in {**first, **row, "name": None, "title": None}.items():
        if isinstance(value, Mapping):
            value = [f"{word}: {meaning}" for word, meaning in value.items()]
        heading = f"  {key.replace('_', ' ')}:"
        if isinstance(value, list | tuple) and any("," in item or ":" in item for item in value):
            typer.echo(heading)
            for item in value:
                _print_wrapped(f"    - {item}")
        elif value:
            words = ", ".join(value) if isinstance(value, list | tuple) else value
            _print_wrapped(f"{heading} {words}")


def _print_wrapped(text: str) -> None:
    columns = max(shutil.get_terminal_size().columns, 40)
    wrapper = textwrap.TextWrapper(
        columns, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
    typer.echo(wrapper.fill(printable(text)))


def _templates() -> list[Row]:
    from lmprobe.templates import load_template_set, template_names

    return [
        {
            "name": name,
            "size": f"{plural(len(templates.templates), 'template')}, "
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
        | ({"chat": list(templates.contents.chat)} if templates.contents.chat else {})
        for name, templates in ((name, load_template_set(name)) for name in template_names())
    ]


def _lexicons() -> list[Row]:
    from lmprobe.templates import lexicon_names, load_lexicon

    return [
        {
            "name": name,
            "size": plural(len(lexicon.entries), "word"),
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
        size = f"{plural(tasks, 'task')} x {len(source['attributes'])} groups" if tasks else "any"
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
                "description": _trained_on(name),
                "content_hash": checkpoint.content_hash,
            }
        )
    return rows


def _trained_on(name: str) -> str:
    """Return what is known of a bundled model, by its name."""
    kind = "Causal" if name.startswith("causal") else "Masked"
    links = "the links of labor" if name.endswith("faithful") else "stronger links"
    return f"{kind}, trained on text with {links}."


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


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            help=f"What to list; everything by default. One of {', '.join(_LISTS)}.",
            autocompletion=lambda: [*_LISTS],
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(help="One entry of the list: print its details.")
    ] = None,
    json: Json = False,
) -> None:
    """List everything that options can name: template sets, base rates, models, extensions.

    Each entry is one line; with its NAME, `lmprobe ls` prints all that is known of it, such as
    where the numbers of a base-rate table come from.

    Examples:

    [bold]lmprobe ls templates[/bold]

    [bold]lmprobe ls base-rates labor[/bold]
    """
    from lmprobe.cli.output import show_json

    if kind is not None and kind not in _LISTS:
        raise InputError(f'`lmprobe ls` has no list "{kind}"; {did_you_mean(kind, _LISTS)}')
    lists = {title: rows() for title, rows in _LISTS.items() if kind in (None, title)}
    if kind is not None and name is not None:
        names = [row["name"] for row in lists[kind]]
        if name not in names:
            raise InputError(f'{kind}: nothing is called "{name}"; {did_you_mean(name, names)}')
        lists = {kind: [row for row in lists[kind] if row["name"] == name]}
    if json:
        show_json(lists)
        return
    for title, rows in lists.items():
        if name is not None:
            _print_details(rows[0])
        elif kind is not None:
            _print(rows)
        else:
            typer.secho(title, bold=True)
            _print(rows)
            typer.echo()
