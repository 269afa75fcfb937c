"""`lmprobe leak`: how well the group can be guessed from labels, predictions or a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmprobe.cli.options import Confidence, Json, Output, Quiet, Seed

if TYPE_CHECKING:
    from lmprobe.leakage.attackers.attacker import Attacker
    from lmprobe.progress import Progress


# What only one of the two kinds of input has a use for.
_OF_A_FILE = (
    "labels", "attribute", "predictions", "split", "at", "average", "threshold",
    "attacker", "layers", "width", "share", "rounds",
)  # fmt: skip
_OF_A_MODEL = ("templates", "base")


class Average(StrEnum):
    """How an F1 is averaged over labels."""

    macro = "macro"
    micro = "micro"


def command(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="A CSV, Parquet or JSON Lines table of labels.")
    ] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--labels", "-l", help="Column of true labels; once per column."),
    ] = None,
    attribute: Annotated[
        str | None, typer.Option("--attribute", "-a", help="Column that names the group.")
    ] = None,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            "--predictions", "-p", help="Column of logits or predictions, in the order of --labels."
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Column that says train, dev or test; drawn when not given.")
    ] = None,
    at: Annotated[
        float | None, typer.Option(help="Leakage of labels made wrong until they have this F1.")
    ] = None,
    average: Annotated[Average, typer.Option(help="How the F1 is averaged.")] = Average.macro,
    threshold: Annotated[
        float | None, typer.Option(help="Decide for a label above this; 0.5, or 0 for logits.")
    ] = None,
    attacker: Annotated[
        str, typer.Option(help="mlp (the paper's), logistic, exact: `lmprobe ls attackers`.")
    ] = "mlp",
    layers: Annotated[
        int | None, typer.Option(min=1, help="Layers of the mlp, 4 in the paper.")
    ] = None,
    width: Annotated[
        int | None, typer.Option(min=1, help="Width of the mlp, 300 in the paper.")
    ] = None,
    share: Annotated[float, typer.Option(help="Share of the train rows to use.")] = 1.0,
    rounds: Annotated[int, typer.Option(help="Rounds with fresh balanced rows.")] = 5,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    model: Annotated[
        str | None,
        typer.Option(help="A masked language model instead of a file: does it leak the pronoun?"),
    ] = None,
    templates: Annotated[str, typer.Option(help="Its sentences: `lmprobe ls templates`.")] = (
        "fitbert"
    ),
    base: Annotated[str, typer.Option(help="The world it is compared with.")] = "labor",
    confidence: Confidence = 0.95,
    json: Json = False,
    output: Output = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Measure how well the group can be guessed: leakage, a lower bound, with an interval.

    Of a table: from the labels, from a model's predictions, and how much more from the
    predictions than from labels that are as wrong by chance. Of a masked language model:
    from the occupations that it expects after each pronoun.

    Examples:

    [bold]lmprobe leak images.csv --labels verb --attribute gender --attacker exact[/bold]

    [bold]lmprobe leak --model reference:amplified --base labor[/bold]
    """
    from lmprobe.cli.output import progress_bar

    _check({name for name in context.params if _is_given(context, name)})
    with progress_bar("attack", "steps", quiet=quiet) as progress:
        if model is not None:
            document = _of_model(model, device, templates, base, confidence, seed, progress)
        else:
            assert file is not None
            assert attribute is not None
            columns = _columns(file, labels or [], attribute, predictions or [], split)
            options: dict[str, Any] = {
                "split": columns["split"],
                "attacker": _attacker(attacker, layers, width),
                "rounds": rounds,
                "share": share,
                "confidence": confidence,
                "seed": seed,
                "device": device,
                "progress": progress,
            }
            document = _of_table(columns, at, average.value, threshold, options)
            document |= {"file": str(file), "attribute": attribute, "attacker": attacker}
    _give(document | {"seed": seed}, json, output, quiet)


def _is_given(context: typer.Context, name: str) -> bool:
    """Tell whether an option was written on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _check(given: set[str]) -> None:
    """Refuse options that contradict each other or would do nothing."""
    from lmprobe.errors import InputError

    if ("file" in given) == ("model" in given):
        raise InputError("give a FILE of labels or a --model, one of the two")
    for name in _OF_A_FILE if "model" in given else _OF_A_MODEL:
        if name in given:
            kinds = ("a FILE", "a --model")
            own, other = kinds if "model" in given else kinds[::-1]
            raise InputError(f"--{name} is for {own}, not for {other}")
    if "model" in given:
        return
    if "attribute" not in given or not given & {"labels", "predictions"}:
        raise InputError("a FILE needs --attribute and --labels, --predictions or both")
    if "at" in given and "labels" not in given:
        raise InputError("--at makes labels wrong and needs --labels")
    if "threshold" in given and not given >= {"labels", "predictions"}:
        raise InputError("--threshold decides an F1 and needs both --labels and --predictions")


def _columns(
    file: Path, labels: list[str], attribute: str, predictions: list[str], split: str | None
) -> dict[str, Any]:
    """Return the columns by role; several of a role are a frame, one is a column."""
    from lmprobe.tables import read_columns

    more = [split] if split else []
    frame = read_columns(file, [*labels, attribute, *predictions, *more], text=[attribute, *more])

    def of(names: list[str]) -> Any:
        if not names:
            return None
        # Predictions go by position: their columns cannot be called like the labels'.
        return frame[names[0]] if len(names) == 1 else frame[names].to_numpy()

    both = {"labels": frame[labels] if len(labels) > 1 else of(labels)}
    both |= {"attribute": frame[attribute], "predictions": of(predictions)}
    return both | {"split": None if split is None else frame[split]}


def _attacker(name: str, layers: int | None, width: int | None) -> Attacker | str:
    from lmprobe.errors import InputError
    from lmprobe.leakage.attackers.mlp import Mlp

    if layers is None and width is None:
        return name
    if name != "mlp":
        raise InputError("--layers and --width are for the attacker mlp")
    default = Mlp()
    return Mlp(layers=layers or default.layers, width=width or default.width)


def _of_table(
    columns: dict[str, Any],
    at: float | None,
    average: Any,
    threshold: float | None,
    options: dict[str, Any],
) -> dict[str, Any]:
    from lmprobe.leakage.measure import (
        REMINDER,
        dataset_leakage,
        leakage_amplification,
        model_leakage,
    )

    labels, said, group = columns["labels"], columns["predictions"], columns["attribute"]
    if said is None:
        found = dataset_leakage(labels, group, at=at, average=average, **options)
        rows = [{"name": "dataset leakage", **found.to_dict()}]
    elif labels is None:
        found = model_leakage(said, group, **options)
        rows = [{"name": "model leakage", **found.to_dict()}]
    else:
        both = leakage_amplification(
            labels, said, group, at=at, average=average, threshold=threshold, **options
        )
        rows = [
            {"name": "model leakage", **both.model.to_dict(), "f1": both.f1},
            {"name": "dataset leakage at that F1", **both.dataset.to_dict()},
            {"name": "leakage amplification", **both.to_dict()},
        ]
    return {"schema": "lmprobe.leakage/1", "rows": rows, "notes": [REMINDER]}


def _of_model(
    model: str,
    device: str,
    templates: str,
    base: str,
    confidence: float,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    from lmprobe.leakage.language import language_leakage
    from lmprobe.models import load_model

    loaded = load_model(model, device=device)
    found = language_leakage(
        loaded, templates, base, confidence=confidence, seed=seed, progress=progress
    )
    rows = [
        {"name": "model leakage", "value": found.leakage, "rounds": list(found.rounds)},
        {"name": f"leakage of {found.base}", "value": found.base_leakage},
        {
            "name": "leakage amplification",
            "value": found.value,
            "interval": found.interval.to_dict(),
        },
    ]
    return {
        "schema": "lmprobe.leakage/1",
        "rows": rows,
        "notes": list(found.notes),
        "model": found.model,
        "base": found.base,
        "templates": templates,
        "attributes": list(found.attributes),
        "tasks": list(found.tasks),
        "chance": found.chance,
    }


def _give(document: dict[str, Any], json: bool, output: Path | None, quiet: bool) -> None:
    """Write, print or show the result."""
    from lmprobe.atomic import write_text
    from lmprobe.cli.output import note, show, show_json, to_json, versions

    document["versions"] = versions()
    if output is not None:
        saved = write_text(output / "leakage.json", to_json(document) + "\n")
        note(f"wrote {saved}", quiet=quiet)
    if json:
        show_json(document)
        return
    show(_table(document))
    for text in document["notes"]:
        note(text, quiet=quiet)


def _table(document: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table

    chance = document.get("chance") or document["rows"][0]["chance"]
    title = f"How often the group is guessed; blindly: {chance:.1%}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("measure")
    for name in ("value", "interval", "F1"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in document["rows"]:
        found, f1 = row.get("interval"), row.get("f1")
        low, high = (found["low"], found["high"]) if found else (None, None)
        # An interval that does not exist has ends that are null.
        ends = "" if low is None or high is None else f"{low:.4f} to {high:.4f}"
        table.add_row(row["name"], f"{row['value']:.4f}", ends, "" if f1 is None else f"{f1:.4f}")
    return table
