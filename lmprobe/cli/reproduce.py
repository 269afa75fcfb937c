"""`lmprobe reproduce`: repeats a published experiment and compares it with the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Json, Output, Quiet, Verbose, settings_options
from lmprobe.reproduce.settings import ExperimentSettings

if TYPE_CHECKING:
    from lmprobe.results.result import Result


@settings_options(ExperimentSettings)
def command(
    settings: ExperimentSettings,
    experiment: Annotated[
        str, typer.Argument(help="An experiment of `lmprobe ls experiments`, or `all`.")
    ],
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Repeat a published experiment and say which of its numbers are reproduced.

    With --output, its figures are written as SVG files too.

    Example: [bold]lmprobe reproduce shortcomings[/bold]
    """
    from lmprobe.cli.output import emit, progress_bar
    from lmprobe.io.files import write_texts
    from lmprobe.report.charts import svg
    from lmprobe.reproduce.experiment import reproduce, reproduce_all

    with progress_bar(experiment, "steps", quiet=quiet) as progress:
        result: Result
        if experiment == "all":
            result = reproduce_all(settings, progress=progress)
        else:
            result = reproduce(experiment, settings, progress=progress)
    emit(result, json=json, output=output, quiet=quiet, verbose=verbose)
    if output is not None:
        write_texts({output / f"{figure.name}.svg": svg(figure) for figure in result.figures()})
