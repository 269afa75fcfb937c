"""`lmprobe run`: probes a language model against one or several base rates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli import options as shared
from lmprobe.errors import InputError
from lmprobe.probing.settings import ModelSettings, RunSettings

if TYPE_CHECKING:
    from lmprobe.probing.result import ProbeResult


@shared.settings_options(RunSettings, model_settings=ModelSettings)
def command(
    model: Annotated[
        str,
        typer.Argument(
            help="A hub id, a folder with a checkpoint, a .gguf file, a bundled model, the URL of "
            "a server, or a table of recorded answers."
        ),
    ] = "reference:amplified",
    templates: shared.Templates = None,
    base: shared.Base = None,
    *,
    settings: RunSettings,
    model_settings: ModelSettings,
    no_cache: shared.NoCache = False,
    json: shared.Json = False,
    output: shared.Output = None,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Measure whether a language model exaggerates the links in base rates.

    Without MODEL, a bundled model is probed whose bias is known. Several bases cost no more than
    one, because the model is run once. Several template sets give the result of a sweep.

    Examples:

    [bold]lmprobe run[/bold]

    [bold]lmprobe run bert-base-uncased --base uniform --base labor --output out[/bold]

    [bold]lmprobe run ./checkpoint --templates everyday --attribute he,she,they[/bold]
    """
    from lmprobe.cli.output import emit, progress_bar
    from lmprobe.models import load_model
    from lmprobe.probing.probe import probe

    bases, cache = base or None, not no_cache
    if templates and len(templates) > 1:
        if settings.metrics:
            raise InputError("--metric is for one template set")
        from lmprobe.sweeping.sweep import sweep

        options = settings.to_dict() | model_settings.to_dict() | {"cache": cache}
        with progress_bar(f"probing {model}", "sets", quiet=quiet) as progress:
            swept = sweep(model, templates, bases, output=output, progress=progress, **options)
        emit(swept, json=json, quiet=quiet, verbose=verbose, output=output)
        raise typer.Exit(swept.exit_code)
    loaded = load_model(model, **model_settings.to_dict())
    template_set = templates[0] if templates else None
    with progress_bar(f"probing {model}", "sentences", quiet=quiet) as progress:
        result = probe(
            loaded, template_set, bases, **settings.to_dict(), cache=cache, progress=progress
        )
    emit(
        result, json=json, quiet=quiet, verbose=verbose, output=output, hints=_hints(result, output)
    )


def _hints(result: ProbeResult, folder: Path | None) -> list[str]:
    """Return what to do next with this run."""
    if folder is None:
        return ["add --output DIR to save this result and its report"]
    from shlex import join

    from lmprobe.probing.settings import run_again
    from lmprobe.results.document import RESULT_FILE

    saved = str(folder / RESULT_FILE)
    hints = [
        f"next    {run_again(result, model='YOUR-MODEL')} --output yours"
        if result.provenance["loading"]["place"] == "bundled"
        else f"next    {join(['lmprobe', 'compare', saved])} ANOTHER-MODEL-OR-RESULT"
    ]
    # What forbids a verdict forbids a check.
    rows = [row for row in result.rows if row.estimate.obstacle is None]
    if rows:
        row = min(rows, key=lambda row: row.foreign_lean)
        options = ["--base", row.base, "--direction", row.direction.short, "--max", "0.05"]
        hints.insert(0, f"check   {join(['lmprobe', 'check', saved, *options])}")
    return hints
