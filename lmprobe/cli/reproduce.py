"""`lmprobe reproduce`: runs a published experiment again, ours beside what was printed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lmprobe.cli.options import Json, Output, Quiet, Seed

if TYPE_CHECKING:
    from rich.table import Table

    from lmprobe.report.reproduction import Printed
    from lmprobe.reproduce.experiment import Reproduction


class Preset(StrEnum):
    """Whether to follow the paper's code to the letter or to mend what is known wrong in it."""

    paper = "paper"
    corrected = "corrected"


def command(
    experiment: Annotated[
        str, typer.Argument(help="An experiment of `lmprobe ls experiments`, or `all`.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", metavar="MODEL", help="The model to probe.")
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option(help="As the paper's code did it, or corrected; both when not given."),
    ] = None,
    wikipedia: Annotated[
        Path | None,
        typer.Option("--wikipedia", metavar="CSV", help="Counts of Wikipedia, by `lmprobe count`."),
    ] = None,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Run a published experiment again and print ours beside what the paper printed.

    Example: [bold]lmprobe reproduce shortcomings[/bold]
    """
    from lmprobe.cli.output import note, progress_bar, show, show_json
    from lmprobe.reproduce.experiment import Settings, experiments, in_order

    names = in_order() if experiment == "all" else (experiment,)
    runs = {name: experiments.get(name) for name in names}
    reproductions = []
    for name, run in runs.items():
        with progress_bar(name, "steps", quiet=quiet) as progress:
            chosen = preset.value if preset else None
            done = run(Settings(model, chosen, wikipedia, seed, progress))
        reproductions.append(done)
        if not json:
            show(*_printed(done, quiet))
        if output is not None:
            for path in _write(done, output):
                note(f"wrote {path}", quiet=quiet)
    if output is not None:
        note(f"wrote {_write_page(reproductions, output)}", quiet=quiet)
    documents = [done.to_dict() for done in reproductions]
    if json and experiment == "all":
        show_json({"schema": "lmprobe.reproductions/1", "experiments": documents})
    elif json:
        show_json(documents[0])


def _printed(done: Reproduction, quiet: bool) -> list[Table | str]:
    """Return what a person reads: title, tables and notes."""
    from rich.markup import escape
    from rich.table import Table

    from lmprobe.report.reproduction import printed_tables

    parts: list[Table | str] = [f"[bold]{escape(done.title)}[/bold]", escape(done.paper)]
    parts += [_table(printed) for printed in printed_tables(done)]
    if done.notes and not quiet:
        notes = Table.grid(padding=(0, 1, 0, 0))
        for text in done.notes:
            notes.add_row("*", escape(text))
        parts.append(notes)
    return [*parts, ""]


def _table(printed: Printed) -> Table:
    """Return a table for the terminal; an interval stays on one line, a heading may break."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for number, heading in enumerate(printed.heading):
        whole = number > 0 and any(" " in row[number] for row in printed.rows)
        side: Literal["left", "right"] = "right" if number else "left"
        table.add_column(escape(heading), justify=side, no_wrap=whole)
    for row in printed.rows:
        table.add_row(*map(escape, row))
    return table


def _write(done: Reproduction, folder: Path) -> list[Path]:
    """Write the JSON document and the figures."""
    from lmprobe.atomic import write_text
    from lmprobe.cli.output import to_json
    from lmprobe.report.figures import svg

    written = [write_text(folder / f"{done.name}.json", to_json(done.to_dict()) + "\n")]
    for figure in done.figures:
        written.append(write_text(folder / f"{done.name}-{figure.name}.svg", svg(figure)))
    return written


def _write_page(reproductions: list[Reproduction], folder: Path) -> Path:
    """Write one page with the tables and figures of all that was run."""
    from lmprobe.atomic import write_text
    from lmprobe.report.page import reproduction_page

    return write_text(folder / "reproduction.html", reproduction_page(reproductions))
