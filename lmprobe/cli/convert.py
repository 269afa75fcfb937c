"""`lmprobe convert`: converts published annotation files to a table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lmprobe.cli.options import Quiet, option
from lmprobe.errors import plural
from lmprobe.io.table_files import FORMAT_NAMES
from lmprobe.results.settings import INPUT


class CaptionRule(StrEnum):
    """Which words of a caption count."""

    published = "published"
    word = "word"


def command(
    kind: Annotated[str, typer.Argument(help="The dataset.", metavar="DATASET")],
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE... TABLE",
            help=f"The files as published, then the table to write ({FORMAT_NAMES}). "
            "coco: instances, captions. celeba: attributes, partition. imsitu: train, dev, ... "
            "captions: generated captions, a table that `convert coco` made.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        option("Table with image_id and the predictions of a model.", INPUT, metavar="FILE"),
    ] = None,
    rule: Annotated[
        CaptionRule,
        option(
            "Match words in captions as the published code does, or whole: published, word.", INPUT
        ),
    ] = CaptionRule.published,
    keep_unclear: Annotated[
        bool, option("Keep images with both genders or neither.", INPUT, "--keep-unclear")
    ] = False,
    boxes: Annotated[
        bool, option("coco: add the rectangle around all people.", INPUT, "--boxes")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Convert annotation files of COCO, CelebA or imSitu, or generated captions, to a table.

    Example: [bold]lmprobe convert coco instances.json captions.json coco.parquet[/bold]
    """
    from lmprobe.cli.output import note
    from lmprobe.tabular.annotations import convert

    written = convert(
        kind,
        paths[:-1],
        paths[-1],
        predictions=predictions,
        rule=rule.value,
        keep_unclear=keep_unclear,
        boxes=boxes,
    )
    note(f"wrote {plural(written, 'row')} to {paths[-1]}", quiet=quiet)
