"""`lmprobe report`: renders a saved result as HTML, Markdown, a model card or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Output, Quiet

if TYPE_CHECKING:
    from lmprobe.report.result import Result


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="A result.json, saved with --output.")
    ],
    html: Annotated[
        bool, typer.Option("--html", help="Write report.html, a page in one file.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write report.md, for an issue or a README.")
    ] = False,
    model_card: Annotated[
        bool, typer.Option("--model-card", help="Write model-card.md, for a model's README.")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Write the tables as CSV files.")] = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Render a saved result of any command; without a format option, print its tables.

    The files are written to the folder of the result, or to --output. The HTML page is one file
    that needs no network.

    Examples:

    [bold]lmprobe report out/result.json --html --csv[/bold]

    [bold]lmprobe report out/result.json --model-card --output card[/bold]
    """
    from lmprobe.cli.output import emit, note
    from lmprobe.io.atomic import write_texts
    from lmprobe.report.loading import load_result

    loaded = load_result(result)
    chosen = {"html": html, "markdown": markdown, "model-card": model_card, "csv": csv}
    files = _files(loaded, [form for form, wanted in chosen.items() if wanted])
    if not files:
        emit(loaded, quiet=quiet)
    folder = output if output is not None else _folder(result)
    write_texts({folder / name: text for name, text in files.items()})
    for name in files:
        note(f"wrote {folder / name}", quiet=quiet)


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _files(result: Result, forms: list[str]) -> dict[str, str]:
    """Return the name and the text of every file that was asked for."""
    files = {}
    if "html" in forms:
        files["report.html"] = result.to_html()
    if "markdown" in forms:
        files["report.md"] = result.to_markdown()
    if "model-card" in forms:
        files["model-card.md"] = _model_card(result)
    if "csv" in forms:
        from lmprobe.report.csv import csv_text

        files |= {f"{name}.csv": csv_text(frame) for name, frame in result.frames().items()}
    return files


def _model_card(result: Result) -> str:
    from lmprobe.errors import InputError
    from lmprobe.probing.model_card import model_card
    from lmprobe.probing.result import ProbeResult

    if not isinstance(result, ProbeResult):
        raise InputError(
            f"a model card needs the result of a probe; this is of the job {result.kind}"
        )
    return model_card(result)
