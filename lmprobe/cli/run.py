"""`lmprobe run`: probes a model against one or several worlds."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed

if TYPE_CHECKING:
    from lmprobe.result import ProbeResult


class Missing(StrEnum):
    """What happens to words that a base does not know."""

    drop = "drop"
    error = "error"
    smooth = "smooth"


class Resample(StrEnum):
    """What the bootstrap draws anew."""

    both = "both"
    templates = "templates"
    tasks = "tasks"


class Weighting(StrEnum):
    """How the lean weighs tasks and groups."""

    joint = "joint"
    paper = "paper"


def command(
    model: Annotated[
        str, typer.Argument(help="A hub id, a folder with a checkpoint, or a bundled model.")
    ] = "reference:amplified",
    templates: Annotated[
        str, typer.Option("--templates", "-t", help="A set of `lmprobe ls templates`, or a file.")
    ] = "fitbert",
    base: Annotated[
        list[str] | None,
        typer.Option(
            "--base",
            "-b",
            help="A source of `lmprobe ls base-rates`, or a CSV; once per base. [uniform, labor]",
        ),
    ] = None,
    attributes: Annotated[
        str | None, typer.Option(help="The groups to compare, such as he,she,they.")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(help="The tasks to compare, such as nurse,cook.")
    ] = None,
    lean: Annotated[
        str | None, typer.Option(help="Take the direction of bias from this source.")
    ] = None,
    lean_weighting: Annotated[
        Weighting, typer.Option(help="Eq. 2 of the paper, or what its published code does.")
    ] = Weighting.joint,
    scorer: Annotated[
        str, typer.Option(help="How a word is scored: `lmprobe ls scorers`.")
    ] = "word-l2r",
    prior: Annotated[
        bool, typer.Option("--prior", help="Divide by the word's probability out of context.")
    ] = False,
    missing: Annotated[
        Missing, typer.Option(help="What happens to words that a base does not know.")
    ] = Missing.drop,
    pseudo_count: Annotated[
        float, typer.Option(help="What `--missing smooth` adds to every cell.")
    ] = 0.5,
    interval: Annotated[
        str, typer.Option(help="The interval's method: `lmprobe ls intervals`.")
    ] = "bootstrap",
    resample: Annotated[
        Resample, typer.Option(help="What the bootstrap draws anew.")
    ] = Resample.both,
    confidence: Confidence = 0.95,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    dtype: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    batch_size: Annotated[str, typer.Option(help="auto, or a number of sentences.")] = "auto",
    revision: Annotated[
        str | None, typer.Option(help="The branch, tag or commit of a model on the hub.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Ask the model even if its answers are kept.")
    ] = False,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Probe a masked language model: does it exaggerate the world that a base describes?

    Without a model it probes a bundled one whose bias is known. Several bases cost no more
    than one: the model is asked once.

    Examples:

    [bold]lmprobe run[/bold]

    [bold]lmprobe run bert-base-uncased --base uniform --base labor --output out[/bold]

    [bold]lmprobe run ./checkpoint --templates everyday --attributes he,she,they[/bold]
    """
    from lmprobe.cli.output import note, progress_bar, show, show_json
    from lmprobe.models import load_model
    from lmprobe.probe import probe
    from lmprobe.report.text import run_table

    loaded = load_model(
        model, device=device, dtype=dtype, batch_size=_batch(batch_size), revision=revision
    )
    with progress_bar(f"probing {model}", "sentences", quiet=quiet) as progress:
        result = probe(
            loaded,
            templates,
            list(base or ("uniform", "labor")),
            attributes=_words(attributes),
            tasks=_words(tasks),
            lean=lean,
            lean_weighting=lean_weighting.value,
            scorer=scorer,
            prior=prior,
            missing=missing.value,
            pseudo_count=pseudo_count,
            interval=interval,
            resample=resample.value,
            confidence=confidence,
            seed=seed,
            cache=not no_cache,
            progress=progress,
        )
    if json:
        show_json(result.to_dict())
    else:
        show(*run_table(result))
    for line in _leave(result, output):
        note(line, quiet=quiet)


def _leave(result: ProbeResult, folder: Path | None) -> list[str]:
    """Write the result and its report, and say what to do next."""
    if folder is None:
        return ["--output DIR keeps this result and makes a report of it"]
    from shlex import join

    from lmprobe.atomic import write_text
    from lmprobe.report.html import html_report
    from lmprobe.result_file import RESULT_FILE

    saved = write_text(folder / RESULT_FILE, result.to_json())
    page = write_text(folder / "report.html", html_report(result))
    base = result.rows[-1].base
    return [
        f"report  {page}  (open it in a browser)",
        f"result  {saved}",
        f"gate    {join(['lmprobe', 'check', str(saved), '--base', base, '--max', '0.05'])}",
        "next    lmprobe run YOUR-MODEL --base labor --output yours",
    ]


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _batch(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
