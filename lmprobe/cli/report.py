"""`lmprobe report`: renders a saved result as a page, Markdown, a model card or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Output, Quiet

if TYPE_CHECKING:
    from lmprobe.result import ProbeResult


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="What `lmprobe run --output` left.")
    ],
    html: Annotated[
        bool, typer.Option("--html", help="One page that stands alone: report.html.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="For an issue or a README: report.md.")
    ] = False,
    model_card: Annotated[
        bool, typer.Option("--model-card", help="For a model's README on the hub: model-card.md.")
    ] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="For a spreadsheet: rows.csv and pairs.csv.")
    ] = False,
    output: Output = None,
    quiet: Quiet = False,
) -> None:
    """Render a saved result; without a form it prints the table of `lmprobe run`.

    The files go to the folder of the result if --output names no other. The page of a probe
    needs neither network nor scripts: send it, print it, put it on a server.

    Examples:

    [bold]lmprobe report out/result.json --html --csv[/bold]

    [bold]lmprobe report out/result.json --model-card --output card[/bold]
    """
    from lmprobe.atomic import write_text
    from lmprobe.cli.output import note, show
    from lmprobe.report.text import run_table
    from lmprobe.result import ProbeResult

    found = ProbeResult.from_json(result)
    _refuse_reproduction(found, result)
    chosen = {"html": html, "markdown": markdown, "model-card": model_card, "csv": csv}
    files = _files(found, [form for form, wanted in chosen.items() if wanted])
    if not files:
        show(*run_table(found))
    folder = output if output is not None else result.parent
    for name, text in files.items():
        note(f"wrote {write_text(folder / name, text)}", quiet=quiet)


def _refuse_reproduction(found: ProbeResult, path: Path) -> None:
    """Refuse a table of `lmprobe reproduce`: a report could not tell its presets apart."""
    from lmprobe.errors import DataFileError

    if len({(row.base, row.direction) for row in found.rows}) < len(found.rows):
        raise DataFileError(
            f"{path}: several rows of one base and direction, as `lmprobe reproduce` writes them; "
            "its --output leaves a page of its own, reproduction.html"
        )


def _files(result: ProbeResult, forms: list[str]) -> dict[str, str]:
    """Return the name and the text of every file that was asked for."""
    files = {}
    if "html" in forms:
        from lmprobe.report.html import html_report

        files["report.html"] = html_report(result)
    if "markdown" in forms:
        from lmprobe.report.markdown import markdown_report

        files["report.md"] = markdown_report(result)
    if "model-card" in forms:
        from lmprobe.report.model_card import model_card

        files["model-card.md"] = model_card(result)
    if "csv" in forms:
        from lmprobe.report.csv import csv_text

        files["rows.csv"] = csv_text(result.to_frame())
        files["pairs.csv"] = csv_text(result.pairs())
    return files
