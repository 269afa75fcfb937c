"""`lmprobe amplify`: directional bias amplification of predictions in a table file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed

Names = list[str] | None


def command(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet or JSON Lines; .gz will do.")],
    attribute: Annotated[
        list[str], typer.Option("--attribute", "-a", help="Column of groups; several are crossed.")
    ],
    task: Annotated[
        list[str],
        typer.Option("--task", "-t", help="Column of labels; several columns of 0/1 are tasks."),
    ],
    task_prediction: Annotated[
        Names, typer.Option("--task-prediction", "-p", help="Predicted task, one per --task.")
    ] = None,
    attribute_prediction: Annotated[
        Names, typer.Option("--attribute-prediction", help="Predicted group, one per --attribute.")
    ] = None,
    score: Annotated[
        Names, typer.Option("--score", help="Score to cut into a prediction, one per --task.")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="calibrated|all|VALUE",
            help="Cut the scores so that as many are positive as are labelled so (the default), "
            "everywhere, or at a value.",
        ),
    ] = None,
    validation: Annotated[
        Path | None, typer.Option(help="File whose scores choose the calibrated threshold.")
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help="File whose labels say which way the world leans.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of row weights.")] = None,
    train_weight: Annotated[str | None, typer.Option(help="The same in the train file.")] = None,
    interval: Annotated[bool, typer.Option(help="Put a bootstrap interval round it.")] = True,
    confidence: Confidence = 0.95,
    top: Annotated[int, typer.Option(min=1, help="Pairs to show that amplify most, least.")] = 5,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Measure how much predictions in a table exaggerate the link of group and task.

    Example: [bold]lmprobe amplify people.csv -a sex -t hired -p predicted[/bold]
    """
    from lmprobe.cli.output import note, progress_bar, show, show_json
    from lmprobe.cli.tabular.columns import Columns
    from lmprobe.cli.tabular.measure import Request, measure
    from lmprobe.cli.tabular.render import document, printed, write

    columns = Columns(
        tuple(attribute),
        tuple(task),
        tuple(attribute_prediction or ()),
        tuple(task_prediction or ()),
        tuple(score or ()),
        weight,
    )
    request = Request(
        file, columns, threshold, validation, train, train_weight, interval, confidence, seed
    )
    with progress_bar("counting", "rows", quiet=quiet) as progress:
        measured = measure(request, progress)
    if json:
        show_json(document(measured))
    else:
        show(*printed(measured, top))
    for line in measured.notes:
        note(line, quiet=quiet)
    if output is not None:
        for path in write(measured, output):
            note(f"wrote {path}", quiet=quiet)
