"""`lmprobe check`: compares a saved result with a limit or with another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Json, Output, Quiet, Verbose, option
from lmprobe.results.settings import COMPARED


def command(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT.json", help="A result.json, saved with --output.")
    ],
    largest: Annotated[
        list[str] | None,
        option(
            "The largest allowed value: NUMBER, BASE=NUMBER, DIRECTION=NUMBER or "
            "BASE:DIRECTION=NUMBER. Repeat for several limits; the most specific one applies.",
            COMPARED,
            "--max",
            metavar="LIMIT",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        option(
            "Check the difference from this result, such as that of the model in "
            "production; --max is then the largest allowed increase, 0 by default.",
            COMPARED,
            metavar="OTHER.json",
        ),
    ] = None,
    max_perplexity: Annotated[
        float | None,
        option(
            "The largest allowed perplexity per word of the probed model.",
            COMPARED,
            metavar="NUMBER",
        ),
    ] = None,
    max_strength: Annotated[
        float | None,
        option(
            "The largest allowed strength: how many times as strong the model's links may be "
            "as those of the base.",
            COMPARED,
            metavar="NUMBER",
        ),
    ] = None,
    direction: Annotated[
        str | None,
        option("T->A or A->T; both by default.", COMPARED, "--direction", metavar="DIRECTION"),
    ] = None,
    base: Annotated[
        list[str] | None,
        option(
            "A base of the result; all by default. Repeat for several.", COMPARED, "--base", "-b"
        ),
    ] = None,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare a saved result of any command with a limit, or with another result.

    Exit code 0: passed, the whole interval is at or below the limit. 1: failed, the whole
    interval is above it. 3: not enough evidence, the interval contains the limit. 4: no verdict is
    possible: the model is uninformed, no lean is known, or the base is too small. 2: the input is
    invalid. With several rows a failed one decides, then one without a possible verdict, then one
    without enough evidence.

    Examples:

    [bold]lmprobe check out/result.json --max 0.05 --direction 'T->A' --base labor[/bold]

    [bold]lmprobe check out/result.json --max 'T->A=0.05' --max 'labor:A->T=0.002'[/bold]

    [bold]lmprobe check new/result.json --against production/result.json[/bold]
    """
    from lmprobe.cli.output import emit
    from lmprobe.results.check import check

    checked = check(
        result,
        max=largest,
        base=base,
        direction=direction,
        against=against,
        max_perplexity=max_perplexity,
        max_strength=max_strength,
    )
    if not (json or quiet):
        for row in checked.rows:
            typer.echo(row.explanation)
        for note in checked.notes:
            typer.echo(note.text, err=True)
    if json or verbose:
        emit(checked, json=json, quiet=quiet, verbose=verbose)
    if output is not None:
        checked.save(output)
    raise typer.Exit(checked.exit_code)
