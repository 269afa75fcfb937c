"""`lmprobe compare`: models or saved results on the same templates, in pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed

if TYPE_CHECKING:
    from rich.table import Table

    from lmprobe.inference.comparison import Comparison
    from lmprobe.result import ProbeResult


def command(
    what: Annotated[
        list[str],
        typer.Argument(metavar="A B [...]", help="Models, or what `lmprobe run --output` left."),
    ],
    templates: Annotated[
        str, typer.Option("--templates", "-t", help="For models: the template set.")
    ] = "fitbert",
    base: Annotated[
        list[str] | None,
        typer.Option("--base", "-b", help="For models: a source, once per base. [labor]"),
    ] = None,
    attributes: Annotated[
        str | None, typer.Option(help="For models: the groups, such as he,she,they.")
    ] = None,
    scorer: Annotated[str, typer.Option(help="For models: how a word is scored.")] = "word-l2r",
    interval: Annotated[
        str, typer.Option(help="The interval's method: `lmprobe ls intervals`.")
    ] = "bootstrap",
    confidence: Confidence = 0.95,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compare models in pairs: each one with the first, cell by cell.

    The difference is the later model's value minus the first's: positive amplifies more. The
    table of tasks shows those whose difference survives Benjamini-Hochberg control.

    Example: [bold]lmprobe compare reference:faithful reference:amplified --base labor[/bold]
    """
    from lmprobe.atomic import write_text
    from lmprobe.cli.output import note, show, show_json, to_json
    from lmprobe.errors import InputError
    from lmprobe.inference.results import compare_results

    if len(what) < 2:
        raise InputError(f"a comparison needs at least two models or results: found {what[0]}")
    if (base or attributes) and all(_is_saved(one) for one in what):
        raise InputError(
            "--base and --attributes are for models; a saved result has those it was made with"
        )
    chosen = attributes.split(",") if attributes else None
    results = [
        _result(one, templates, list(base or ("labor",)), chosen, scorer, seed, quiet)
        for one in what
    ]
    names = _names(what, results)
    found = [
        one
        for name, later in zip(names[1:], results[1:], strict=True)
        for one in compare_results(
            results[0],
            later,
            names=(names[0], name),
            method=interval,
            confidence=confidence,
            seed=seed,
        )
    ]
    document = {
        "schema": "lmprobe.comparison/1",
        "rows": [one.to_dict() for one in found],
        "seed": seed,
    }
    if output is not None:
        saved = write_text(output / "comparison.json", to_json(document) + "\n")
        note(f"wrote {saved}", quiet=quiet)
    if json:
        show_json(document)
        return
    show(*_tables(found))
    for one in found:
        show(*_moved(one, 1 - confidence))
    for text in dict.fromkeys(text for one in found for text in one.notes):
        note(text, quiet=quiet)


def _is_saved(what: str) -> bool:
    from lmprobe.result_file import RESULT_FILE

    return what.endswith(".json") or (Path(what) / RESULT_FILE).is_file()


def _result(
    what: str,
    templates: str,
    bases: list[str],
    attributes: list[str] | None,
    scorer: str,
    seed: int,
    quiet: bool,
) -> ProbeResult:
    """Read a saved result, or probe a model."""
    from lmprobe.cli.output import progress_bar
    from lmprobe.probe import probe
    from lmprobe.result import ProbeResult

    if _is_saved(what):
        return ProbeResult.from_json(what)
    with progress_bar(f"probing {what}", "sentences", quiet=quiet) as progress:
        return probe(
            what,
            templates,
            bases,
            attributes=attributes,
            scorer=scorer,
            seed=seed,
            progress=progress,
        )


def _names(what: list[str], results: list[ProbeResult]) -> list[str]:
    """Return a name for each: the model's where they differ, else what was typed."""
    models = [str(one.provenance["model"]) for one in results]
    names = models if len(set(models)) == len(models) else what
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]


def _tables(found: list[Comparison]) -> list[Table]:
    """Return one table per later model."""
    return [_table(found, name) for name in dict.fromkeys(one.second for one in found)]


def _table(found: list[Comparison], second: str) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from lmprobe.report.words import ends, signed

    title = f"{escape(second)} minus {escape(found[0].first)}"
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    table.add_column("base", overflow="fold")
    table.add_column("direction", no_wrap=True)
    for column in ("difference", "interval", "p"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("amplifies", overflow="fold")
    for one in found:
        if one.second == second:
            table.add_row(
                escape(one.base),
                one.direction,
                signed(one.difference),
                ends(one.interval),
                f"{one.p_value:.2g}",
                _short(one),
            )
    return table


def _short(one: Comparison) -> str:
    """Return the verdict under the heading "amplifies"."""
    said = one.verdict.removeprefix(f"{one.second} amplifies ")
    return "not enough evidence" if said == one.verdict else said


# Tasks shown on a terminal; the JSON has all of them.
_SHOWN = 8


def _moved(one: Comparison, level: float) -> list[Table | str]:
    """Return the tasks that moved, with both controls."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from lmprobe.report.words import signed

    moved = [task for task in one.tasks if task.p_benjamini_hochberg <= level]
    strict = sum(task.p_holm <= level for task in moved)
    head = escape(
        f"{one.second}, {one.base}, {one.direction}: {len(moved)} of {len(one.tasks)} tasks moved "
        f"(Benjamini-Hochberg), {strict} by Holm"
    )
    if not moved:
        return ["", head]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("task")
    for column in ("difference", "p", "Holm", "Benjamini-Hochberg"):
        table.add_column(column, justify="right")
    for task in moved[:_SHOWN]:
        p_values = (task.p_value, task.p_holm, task.p_benjamini_hochberg)
        table.add_row(escape(task.task), signed(task.difference), *(f"{p:.2g}" for p in p_values))
    more = len(moved) - _SHOWN
    return ["", head, table, *([f"and {more} more; --json has all"] if more > 0 else [])]
