"""`lmprobe amplify`: measures bias amplification of the predictions in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Json, Output, Quiet, Verbose, option, settings_options
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.results.settings import COMPARED
from lmprobe.tabular.settings import AmplifySettings


@settings_options(AmplifySettings)
def command(
    tables: Annotated[
        list[Path],
        typer.Argument(
            help=f"{FORMAT_NAMES} files (.gz, .zst too), a folder, or a quoted pattern.",
            metavar="TABLE...",
        ),
    ],
    settings: AmplifySettings,
    runs: Annotated[
        bool, option("The tables are training runs of one model.", COMPARED, "--runs")
    ] = False,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure how much the predictions in a table exaggerate the link between group and task.

    The value is directional bias amplification: positive if the predictions go further than the
    labels in the direction in which the labels lean.

    Example: [bold]lmprobe amplify people.csv -a sex -t hired -p predicted[/bold]
    """
    from lmprobe.cli.output import emit, progress_bar
    from lmprobe.tabular.amplify import amplify

    with progress_bar("counting", "tables", quiet=quiet) as progress:
        result = amplify(tables, **settings.to_dict(), runs=runs, progress=progress)
    emit(result, json=json, quiet=quiet, verbose=verbose, output=output)
