"""`lmprobe validate`: every mistake in a data file, before it costs a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmprobe.cli.options import Json, Quiet

if TYPE_CHECKING:
    from lmprobe.templates.problems import Problem


def command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Template sets and lexicons (.toml), base-rate tables (.csv); "
            "everything that comes with lmprobe if left out.",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check template sets, lexicons and base-rate tables; print every mistake.

    A mistake is one line, file:line: key: what is wrong and what would do; the exit code is then 2.

    Example: [bold]lmprobe validate my_templates.toml my_rates.csv[/bold]
    """
    from lmprobe.cli.output import note, show_json

    checked = [(path, *_check(path)) for path in paths or _shipped()]
    found = sum(len(problems) for _, _, problems in checked)
    if json:
        show_json({"files": [_as_row(*one) for one in checked], "problems": found})
    else:
        for path, kind, problems in checked:
            for problem in problems:
                typer.echo(str(problem))
            if not problems and not quiet:
                typer.echo(f"{path}: {kind}, no mistakes")
    if found and not json:
        note(f"mistakes: {found}, files checked: {len(checked)}", quiet=quiet)
    if found:
        raise typer.Exit(2)


def _shipped() -> list[Path]:
    from lmprobe.resources import folder

    templates = folder("templates")
    return [
        *sorted(templates.glob("*.toml")),
        *sorted((templates / "lexicons").glob("*.toml")),
        *sorted(folder("base_rates").glob("*.csv")),
    ]


def _check(path: Path) -> tuple[str, list[Problem]]:
    """Return what kind of file it is and what is wrong with it."""
    from lmprobe.templates.problems import Problem

    if not path.is_file():
        return "missing", [Problem(path, "", "no such file")]
    if path.suffix == ".csv":
        return "base rates", _check_base_rates(path)
    if path.suffix == ".toml":
        return _check_toml(path)
    message = "is neither a .toml (template set, lexicon) nor a .csv (base rates)"
    return "unknown", [Problem(path, "", message)]


def _check_toml(path: Path) -> tuple[str, list[Problem]]:
    from lmprobe.templates.document import read_document
    from lmprobe.templates.lexicon import read_lexicon
    from lmprobe.templates.sets import check_set

    table, findings = read_document(path)
    if findings.problems:
        return "unreadable", findings.problems
    if "sentences" in table or "slots" in table:
        return "template set", check_set(path)[1].problems
    if "entries" in table:
        return "lexicon", read_lexicon(path)[1].problems
    if path.with_suffix(".csv").is_file():
        return "about base rates", _check_base_rates(path.with_suffix(".csv"))
    findings.add("", "has neither sentences (a template set) nor entries (a lexicon); add one")
    return "unknown", findings.problems


def _check_base_rates(path: Path) -> list[Problem]:
    from lmprobe.errors import LmprobeError
    from lmprobe.sources.csv_file import TableError, read_table

    try:
        read_table(path)
    except TableError as problem:
        return [_as_problem(path, one) for one in problem.mistakes]
    except LmprobeError as problem:
        return [_as_problem(path, str(problem))]
    return []


def _as_problem(path: Path, message: str) -> Problem:
    """Take apart what the reader says: "FILE, line N: what", of the table or of its TOML."""
    from lmprobe.templates.problems import Problem

    for file in (path, path.with_suffix(".toml")):
        place = re.match(rf"{re.escape(str(file))}(?:, line (\d+))?[:,] ", message)
        if place:
            return Problem(file, "", message[place.end() :], int(place[1]) if place[1] else None)
    return Problem(path, "", message)


def _as_row(path: Path, kind: str, problems: list[Problem]) -> Mapping[str, Any]:
    return {
        "file": str(path),
        "kind": kind,
        "problems": [
            {"file": str(one.path), "line": one.line, "key": one.key, "message": one.message}
            for one in problems
        ],
    }
