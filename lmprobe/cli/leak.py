"""`lmprobe leak`: measures how well labels or predictions reveal the group."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import DEFAULT_BASE, Json, Output, Quiet, Verbose, option, settings_options
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.leakage.settings import LeakageSettings
from lmprobe.results.settings import INPUT, MODEL

# What only one of the two kinds of input has a use for.
_OF_A_FILE = (
    "labels", "attribute", "predictions", "split", "run_column", "at", "average", "threshold",
    "attacker", "layers", "width", "share", "rounds",
)  # fmt: skip
_OF_A_MODEL = ("templates", "base")


@settings_options(LeakageSettings)
def command(
    context: typer.Context,
    settings: LeakageSettings,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help=f"A {FORMAT_NAMES} table of labels; several files are training runs.",
        ),
    ] = None,
    labels: Annotated[
        list[str] | None,
        option(
            "Column of true labels; repeat for several.", INPUT, "--labels", "-l", metavar="COLUMN"
        ),
    ] = None,
    attribute: Annotated[
        str | None,
        option("Column that names the group.", INPUT, "--attribute", "-a", metavar="COLUMN"),
    ] = None,
    predictions: Annotated[
        list[str] | None,
        option(
            "Column of logits or predictions, in the order of --labels.",
            INPUT,
            "--predictions",
            "-p",
            metavar="COLUMN",
        ),
    ] = None,
    split: Annotated[
        str | None,
        option("Column of train, dev or test; drawn by default.", INPUT, metavar="COLUMN"),
    ] = None,
    run_column: Annotated[
        str | None, option("Column that names the training run of a row.", INPUT, metavar="COLUMN")
    ] = None,
    model: Annotated[
        str | None, option("A language model to measure instead of a file.", MODEL, metavar="MODEL")
    ] = None,
    templates: Annotated[str | None, option("Template set for --model.", MODEL)] = None,
    base: Annotated[str | None, option(f"Base rates for --model; {DEFAULT_BASE}.", MODEL)] = None,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure leakage: how well the group can be guessed, a lower bound, with an interval.

    For a table: from the labels, from a model's predictions, and how much better from the
    predictions than from labels with as many errors at random. For a language model: from the
    occupations that it predicts for each pronoun.

    Examples:

    [bold]lmprobe leak images.csv --labels verb --attribute gender[/bold]

    [bold]lmprobe leak --model reference:amplified --base labor[/bold]
    """
    from lmprobe.cli.output import emit, progress_bar
    from lmprobe.leakage.language import language_leakage
    from lmprobe.leakage.measure import table_leakage

    _check({name for name in context.params if _is_given(context, name)})
    with progress_bar("attack", "steps", quiet=quiet) as progress:
        if model is not None:
            result = language_leakage(
                model, templates, base,
                device=settings.device, confidence=settings.confidence, seed=settings.seed,
                progress=progress,
            )  # fmt: skip
        else:
            result = table_leakage(
                *(files or ()),
                attribute=str(attribute), labels=labels or (), predictions=predictions or (),
                split=split, run_column=run_column, settings=settings, progress=progress,
            )  # fmt: skip
    emit(result, json=json, output=output, quiet=quiet, verbose=verbose)


def _is_given(context: typer.Context, name: str) -> bool:
    """Tell whether an option was written on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _check(given: set[str]) -> None:
    """Refuse options that contradict each other or would do nothing."""
    from lmprobe.errors import InputError

    if ("files" in given) == ("model" in given):
        raise InputError("give a FILE of labels or a --model, one of the two")
    for name in _OF_A_FILE if "model" in given else _OF_A_MODEL:
        if name in given:
            kinds = ("a FILE", "a --model")
            own, other = kinds if "model" in given else kinds[::-1]
            raise InputError(f"--{name.replace('_', '-')} is for {own}, not for {other}")
    if "model" not in given and ("attribute" not in given or not given & {"labels", "predictions"}):
        raise InputError("a FILE needs --attribute and --labels, --predictions or both")
