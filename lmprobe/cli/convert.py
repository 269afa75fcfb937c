"""`lmprobe convert`: converts annotation files or generated texts to a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Quiet, option
from lmprobe.errors import plural
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.results.settings import INPUT


def command(
    kind: Annotated[
        str,
        typer.Argument(help="coco, celeba, imsitu, captions or generations.", metavar="DATASET"),
    ],
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE... TABLE",
            help=f"The files as published, then the table to write ({FORMAT_NAMES}). "
            "coco: instances, captions. celeba: attributes, partition. imsitu: train, dev, ... "
            "captions: generated captions, a table that `convert coco` made. "
            "generations: a table with columns task, text and, if known, template (the prompt), "
            "cluster.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        option("Table with image_id and the predictions of a model.", INPUT, metavar="FILE"),
    ] = None,
    rule: Annotated[
        str | None,
        option(
            "coco, captions: words as the published code matches them, or whole: published "
            "(default), word. generations: a text counts for the group named first (default), by "
            "the majority of words, all or the only one: first, majority, all, only.",
            INPUT,
        ),
    ] = None,
    keep_unclear: Annotated[
        bool,
        option("captions: keep images with both genders or neither.", INPUT, "--keep-unclear"),
    ] = False,
    boxes: Annotated[
        bool, option("coco: add the rectangle around all people.", INPUT, "--boxes")
    ] = False,
    attributes: Annotated[
        str | None,
        option(
            "generations: the words of the groups, as for `lmprobe count`.",
            INPUT,
            "--attribute",
            "--attributes",
            metavar="WORD,WORD",
        ),
    ] = None,
    language: Annotated[
        str | None,
        option(
            "generations: the code, as for `lmprobe count`; by default en.",
            INPUT,
            metavar="CODE",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Convert COCO, CelebA, imSitu, generated captions or generated texts to a table.

    Generated texts become an answer table for `lmprobe run`.

    Examples:

    [bold]lmprobe convert coco instances.json captions.json coco.parquet[/bold]

    [bold]lmprobe convert generations texts.jsonl answers.csv[/bold]
    """
    from lmprobe.cli.output import note, progress_bar
    from lmprobe.sources.counting.lexicon import read_words
    from lmprobe.tabular.annotations import convert

    with progress_bar("reading", "texts", quiet=quiet) as bar:
        rows, notes = convert(
            kind, paths[:-1], paths[-1], predictions=predictions, rule=rule,
            keep_unclear=keep_unclear, boxes=boxes, language=language, progress=bar,
            attributes=None if attributes is None else read_words(attributes, "attribute"),
        )  # fmt: skip
    for each in notes:
        note(each.text, quiet=quiet)
    note(f"wrote {plural(rows, 'row')} to {paths[-1]}", quiet=quiet)
