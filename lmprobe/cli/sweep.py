"""`lmprobe sweep`: probes many models, template sets and bases, and ranks the models."""

from __future__ import annotations

from typing import Annotated

import typer

from lmprobe.cli import options as shared
from lmprobe.probing.settings import ModelSettings, ProbeSettings
from lmprobe.sweeping.jobs import SweepSettings


@shared.settings_options(ProbeSettings, model_settings=ModelSettings, sweep_settings=SweepSettings)
def command(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...", help="Hub ids, folders, .gguf files, or text files that list them."
        ),
    ] = None,
    templates: shared.Templates = None,
    base: shared.Base = None,
    *,
    settings: ProbeSettings,
    model_settings: ModelSettings,
    sweep_settings: SweepSettings,
    no_cache: shared.NoCache = False,
    json: shared.Json = False,
    output: shared.Output = None,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
) -> None:
    """Probe many models, and rank them as far as the intervals separate them.

    Each probe is saved in the output folder when it ends, so a sweep that was interrupted
    continues where it stopped. A model that fails is reported at the end; the others are
    probed, and the exit code is 5.

    Examples:

    [bold]lmprobe sweep reference:faithful reference:amplified --output sweep[/bold]

    [bold]lmprobe sweep --checkpoints runs/bert --output training[/bold]
    """
    from lmprobe.cli.output import emit, note, progress_bar
    from lmprobe.sweeping.sweep import sweep

    options = settings.to_dict() | model_settings.to_dict() | sweep_settings.to_dict()
    try:
        with progress_bar("sweep", "probes", quiet=quiet) as progress:
            result = sweep(
                models or [],
                templates or None,
                base or None,
                output=output,
                progress=progress,
                cache=not no_cache,
                **options,
            )
    except KeyboardInterrupt:
        if output is not None:
            note(f"interrupted; the same command continues from {output}", quiet=quiet)
        raise
    emit(result, json=json, quiet=quiet, verbose=verbose, output=output)
    raise typer.Exit(result.exit_code)
