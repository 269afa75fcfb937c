"""`lmprobe report`: renders a saved result as HTML, Markdown, a model card or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Output, Quiet, Verbose, option
from lmprobe.results.settings import OUTPUT

if TYPE_CHECKING:
    from lmprobe.results.result import Result


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="A result.json, saved with --output.")
    ],
    html: Annotated[
        bool, option("Write report.html, a page in one file.", OUTPUT, "--html")
    ] = False,
    markdown: Annotated[
        bool, option("Write report.md, for an issue or a README.", OUTPUT, "--markdown")
    ] = False,
    model_card: Annotated[
        bool, option("Write model-card.md, for a model's README.", OUTPUT, "--model-card")
    ] = False,
    csv: Annotated[bool, option("Write the tables as CSV files.", OUTPUT, "--csv")] = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Render a saved result of any command; without a format option, print its tables.

    The files are written to the folder of the result, or to --output, which without a format
    option gets what the command itself would write there. The HTML page is one file that needs
    no network.

    Examples:

    [bold]lmprobe report out/result.json --html --csv[/bold]

    [bold]lmprobe report out/result.json --model-card --output card[/bold]
    """
    from lmprobe.cli.output import emit, note
    from lmprobe.io.files import csv_text, write_texts
    from lmprobe.results.result import load_result

    loaded = load_result(result)
    files = {}
    if html:
        files["report.html"] = loaded.to_html()
    if markdown:
        files["report.md"] = loaded.to_markdown()
    if model_card:
        files["model-card.md"] = _model_card(loaded)
    if csv:
        files |= {f"{name}.csv": csv_text(frame) for name, frame in loaded.frames().items()}
    if not files:
        emit(loaded, quiet=quiet, verbose=verbose, output=output)
    folder = output or (result if result.is_dir() else result.parent)
    write_texts({folder / name: text for name, text in files.items()})
    for name in files:
        note(f"wrote {folder / name}", quiet=quiet)


def _model_card(result: Result) -> str:
    from lmprobe.errors import InputError
    from lmprobe.probing.model_card import model_card
    from lmprobe.probing.result import ProbeResult

    if not isinstance(result, ProbeResult):
        raise InputError(
            f"a model card needs the result of a probe; this is of the job {result.kind}"
        )
    return model_card(result)
