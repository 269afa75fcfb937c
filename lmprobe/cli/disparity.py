"""`lmprobe disparity`: how much more a group pays for a table of predictions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from lmprobe.inference.disparity import Disparity


# With more groups every interval is so wide that none says anything.
_MANY = 100


class MeasureName(StrEnum):
    """What is compared between the groups."""

    demographic_parity = "demographic_parity"
    equal_opportunity = "equal_opportunity"
    equalized_odds = "equalized_odds"
    fpr_difference = "fpr_difference"
    tpr_difference = "tpr_difference"
    accuracy_difference = "accuracy_difference"


def command(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet or JSON Lines table.")],
    prediction: Annotated[
        str, typer.Option("--prediction", "-p", help="Column of predictions, 0/1 or probability.")
    ],
    group: Annotated[
        list[str],
        typer.Option("--group", "-g", help="Column of groups; twice for their cross product."),
    ],
    label: Annotated[
        str | None,
        typer.Option("--label", "-l", help="Column of true labels, 0/1; parity needs none."),
    ] = None,
    protected: Annotated[
        list[str] | None,
        typer.Option(help="The protected group, as written; every group in turn when not given."),
    ] = None,
    measure: Annotated[
        MeasureName, typer.Option("--measure", "-m", help="What is compared.")
    ] = MeasureName.demographic_parity,
    method: Annotated[
        str, typer.Option(help="bernstein, stratified, score, bootstrap, ...: `ls intervals`.")
    ] = "bernstein",
    group_share: Annotated[
        float | None,
        typer.Option(help="Known lower bound on the smaller group's share of the population."),
    ] = None,
    confidence: Confidence = 0.95,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Measure a disparity between groups, with an interval.

    The value is the mean cost of the protected group minus the mean cost of the others;
    for demographic parity the cost is 1 - prediction, so positive means denied more often.

    Example:

    [bold]lmprobe disparity loans.csv --prediction approved --group sex --protected woman[/bold]
    """
    from lmprobe.atomic import write_text
    from lmprobe.cli.output import note, show, show_json, to_json
    from lmprobe.inference.disparity import group_disparity
    from lmprobe.intervals.method import checked_confidence

    checked_confidence(confidence)
    frame = _table_of(file, prediction, group, label, measure)
    groups = [protected] if protected else _every(frame[group])
    # With several groups at once, every interval must hold at once.
    level = 1 - (1 - confidence) / len(groups)
    rows = {
        " + ".join(names): group_disparity(
            frame[label] if label else None,
            frame[prediction],
            sensitive_features=frame[group],
            protected=names,
            measure=measure.value,
            method=method,
            confidence=level,
            group_share=group_share,
            seed=seed,
        )
        for names in groups
    }
    document = {
        "schema": "lmprobe.disparity/1",
        "file": str(file),
        "measure": measure.value,
        "rows": [{"protected": name, **row.to_dict()} for name, row in rows.items()],
        "seed": seed,
    }
    if output is not None:
        saved = write_text(output / "disparity.json", to_json(document) + "\n")
        note(f"wrote {saved}", quiet=quiet)
    if json:
        show_json(document)
        return
    show(_table(rows, measure.value))
    if len(groups) > 1:
        note(f"each interval is at {level:.4g}, so that all hold at once", quiet=quiet)
    for text in dict.fromkeys(text for row in rows.values() for text in row.notes):
        note(text, quiet=quiet)


def _table_of(
    file: Path, prediction: str, group: list[str], label: str | None, measure: MeasureName
) -> pd.DataFrame:
    """Return the columns that were named, or say what is wrong with one."""
    from lmprobe.errors import DataFileError, InputError
    from lmprobe.tables import read_columns, refuse_missing

    if label is None and measure is not MeasureName.demographic_parity:
        raise InputError(f"{measure.value} needs --label, the column of true labels")
    numbers = [prediction, *([label] if label else [])]
    frame = read_columns(file, [*numbers, *group], text=group)
    refuse_missing(frame, file)
    for name in numbers:
        if frame[name].dtype.kind not in "biuf":
            raise DataFileError(f'{file}: the column "{name}" must hold numbers, 0/1 or true/false')
    return frame


def _every(groups: pd.DataFrame) -> list[list[str]]:
    """Return each group on its own; two groups need only the first."""
    from lmprobe.errors import InputError
    from lmprobe.labels import cross

    names = sorted({str(name) for name in cross(groups)})
    if len(names) < 2:
        raise InputError(f"the groups must be at least two: found {', '.join(names)}")
    if len(names) > _MANY:
        raise InputError(f"{len(names):,} groups are too many to take in turn; name --protected")
    return [[name] for name in (names if len(names) > 2 else names[:1])]


def _table(rows: dict[str, Disparity], measure: str) -> Table:
    from rich import box
    from rich.table import Table

    from lmprobe.metrics.disparity import MEASURES
    from lmprobe.report.words import number

    title = f"{measure}: {MEASURES[measure].description}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("protected", overflow="fold")
    for column in ("rows", "value", "interval"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    for name, row in rows.items():
        table.add_row(*_cells(name, row))
        for part in row.components:
            table.add_row(*_cells(f"  {part.measure}", part))
        if row.largest_component is not None:
            value, found = row.largest_component
            between = f"{number(found.low)} to {number(found.high)}"
            table.add_row("  larger, in size", "", number(value), between, "")
    return table


def _cells(name: str, row: Disparity) -> tuple[str, ...]:
    from rich.markup import escape

    from lmprobe.report.words import ends, signed

    return (
        escape(name),
        f"{row.group_sizes[0]:,} / {row.group_sizes[1]:,}",
        signed(row.value),
        ends(row.interval),
        row.verdict.removesuffix(" for the protected group").removesuffix(" either way"),
    )
