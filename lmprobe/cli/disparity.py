"""`lmprobe disparity`: measures group disparities of the predictions in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Json, Output, Quiet, Verbose, option, settings_options
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.results.settings import COMPARED
from lmprobe.tabular.settings import DisparitySettings


@settings_options(DisparitySettings)
def command(
    file: Annotated[
        Path, typer.Argument(help=f"A {FORMAT_NAMES} table, or a folder.", metavar="TABLE")
    ],
    settings: DisparitySettings,
    prediction: Annotated[
        str,
        option(
            "Column of predictions, 0/1 or probabilities.",
            COMPARED,
            "--prediction",
            "-p",
            metavar="COLUMN",
        ),
    ],
    attribute: Annotated[
        list[str],
        option(
            "Column that names the group; several columns are crossed.",
            COMPARED,
            "--attribute",
            "-a",
            "--group",
            "-g",
            metavar="COLUMN",
        ),
    ],
    label: Annotated[
        str | None,
        option(
            "True labels, 0/1; demographic parity needs none.",
            COMPARED,
            "--label",
            "-l",
            metavar="COLUMN",
        ),
    ] = None,
    protected: Annotated[
        list[str] | None,
        option("The protected group; by default every group in turn.", COMPARED, metavar="GROUP"),
    ] = None,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure a disparity between groups, with a confidence interval.

    The value is the mean cost of the protected group minus the mean cost of the others. For
    demographic parity the cost is 1 - prediction: a positive value means that the protected group
    is denied more often.

    Example: [bold]lmprobe disparity loans.csv -p approved -a sex --protected woman[/bold]
    """
    from lmprobe.cli.output import emit
    from lmprobe.tabular.disparity import table_disparities

    result = table_disparities(
        file,
        prediction=prediction,
        attribute=attribute,
        label=label,
        protected=protected or (),
        settings=settings,
    )
    emit(result, json=json, output=output, quiet=quiet, verbose=verbose)
