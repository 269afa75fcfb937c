"""`lmprobe convert`: converts annotations, generated texts or published items to a table."""

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
        typer.Argument(
            help="coco, celeba, imsitu, captions, generations, or the items of gest, crows-pairs, "
            "winogender, winogenerated.",
            metavar="DATASET",
        ),
    ],
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE... TABLE",
            help=f"The files as published, then the table to write ({FORMAT_NAMES}). "
            "coco: instances, captions. celeba: attributes, partition. imsitu: train, dev, ... "
            "captions: generated captions, a table that `convert coco` made. "
            "generations: a table with columns task, text and, if known, template (the prompt), "
            "cluster. gest: gest.csv. crows-pairs: crows_pairs_anonymized.csv. winogender: "
            "all_sentences.tsv. winogenerated: winogenerated_examples.jsonl.",
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
    frames: Annotated[
        str | None,
        option(
            "gest: the frames for masked models, or for causal ones, which end at the word that "
            "differs: masked (default), causal.",
            INPUT,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Convert annotations of images, generated texts or published items to a table.

    Generated texts become an answer table for `lmprobe run MODEL`, the sentences of a published
    benchmark an item table for its `--templates`.

    Examples:

    [bold]lmprobe convert coco instances.json captions.json coco.parquet[/bold]

    [bold]lmprobe convert generations texts.jsonl answers.csv[/bold]

    [bold]lmprobe convert crows-pairs crows_pairs_anonymized.csv items.csv[/bold]
    """
    from shlex import join

    from lmprobe.cli.output import note, progress_bar
    from lmprobe.sources.counting.lexicon import read_words
    from lmprobe.tabular.annotations import convert
    from lmprobe.tabular.item_sets import ITEM_SETS

    with progress_bar("reading", "texts", quiet=quiet) as bar:
        rows, notes = convert(
            kind, paths[:-1], paths[-1], predictions=predictions, rule=rule,
            keep_unclear=keep_unclear, boxes=boxes, language=language, frames=frames,
            progress=bar,
            attributes=None if attributes is None else read_words(attributes, "attribute"),
        )  # fmt: skip
    for each in notes:
        note(each.text, quiet=quiet)
    note(f"wrote {plural(rows, 'row')} to {paths[-1]}", quiet=quiet)
    if kind in ITEM_SETS:
        command_line = join(["lmprobe", "run", "MODEL", "--templates", str(paths[-1])])
        note(f"next: {command_line}", quiet=quiet)
