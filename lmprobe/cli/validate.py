"""`lmprobe validate`: checks template sets, lexicons, base-rate tables and item tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from shlex import join
from typing import Annotated, Any

import typer

from lmprobe.cli.options import Json, Quiet
from lmprobe.io.files import Problem


def command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="Template sets and lexicons (.toml), base-rate tables (.csv), item tables; "
            "by default all that come with lmprobe.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check template sets, lexicons, base-rate tables and item tables; print every mistake.

    A mistake is printed as file:line: key: what is wrong and how to fix it; the exit code is then
    2. A warning is about a sentence whose visible text depends on a hidden word.

    Example: [bold]lmprobe validate my_templates.toml my_rates.csv[/bold]
    """
    from lmprobe.cli.output import note, show_json
    from lmprobe.sources.validation import validate_files

    checked = validate_files(paths or None)
    mistakes = sum(file.mistakes for file in checked)
    warnings = sum(len(file.problems) for file in checked) - mistakes
    if json:
        files = [
            {
                "file": str(file.path),
                "kind": file.kind,
                "problems": [_fields(problem) for problem in file.problems],
            }
            for file in checked
        ]
        show_json({"files": files, "problems": mistakes, "warnings": warnings})
    else:
        for file in checked:
            for problem in file.problems:
                typer.echo(str(problem))
            if not file.problems and not quiet:
                typer.echo(f"{file.path}: {file.kind}, no mistakes")
        if mistakes or warnings:
            counts = f"mistakes: {mistakes}, warnings: {warnings}, files checked: {len(checked)}"
            note(counts, quiet=quiet)
        kinds = ("template set", "item table")
        sets = [file.path for file in checked if file.kind in kinds and not file.mistakes]
        if paths and sets:
            shown = join(["lmprobe", "sentences", "--templates", str(sets[0])])
            note(f"read its sentences too: {shown}", quiet=quiet)
    if mistakes:
        raise typer.Exit(2)


def _fields(problem: Problem) -> dict[str, Any]:
    fields = asdict(problem)
    return {"file": str(fields.pop("path")), **fields}
