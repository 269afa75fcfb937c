"""Converts published files to a table file, by the name of the data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lmprobe.errors import InputError, did_you_mean
from lmprobe.io.atomic import replacing
from lmprobe.report.csv import csv_text
from lmprobe.vision.celeba import celeba
from lmprobe.vision.coco import coco
from lmprobe.vision.generated import captions
from lmprobe.vision.imsitu import imsitu
from lmprobe.vision.mentions import Rule

SOURCES = {
    "coco": (("instances", "captions"), range(2, 3)),
    "celeba": (("attributes", "partition"), range(1, 3)),
    "imsitu": (("annotations",), range(1, 100)),
    "captions": (("generated captions", "labels"), range(2, 3)),
}
"""Which files each data set is made of, and how many there may be."""


def convert(
    kind: str,
    sources: Sequence[Path],
    table: Path,
    *,
    predictions: Path | None = None,
    rule: Rule = "published",
    keep_unclear: bool = False,
    boxes: bool = False,
) -> int:
    """Write the table of a data set and return how many rows it has."""
    if kind not in SOURCES:
        raise InputError(f'no data set "{kind}"; {did_you_mean(kind, SOURCES)}')
    files, numbers = SOURCES[kind]
    if len(sources) not in numbers:
        raise InputError(
            f"{kind} needs {', '.join(files)}, then the table to write; "
            f"found {len(sources)} source files"
        )
    if kind == "coco":
        frame = coco(*sources, predictions=predictions, rule=rule, boxes=boxes)
    elif kind == "celeba":
        partition = sources[1] if len(sources) > 1 else None
        frame = celeba(sources[0], partition=partition, predictions=predictions)
    elif kind == "imsitu":
        frame = imsitu(*sources, predictions=predictions)
    else:
        frame = captions(*sources, rule=rule, keep_unclear=keep_unclear)
    write_table(frame, table)
    return len(frame)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as Parquet, CSV or JSON Lines, whole or not at all."""
    kinds = (".parquet", ".csv", ".jsonl")
    if path.suffix not in kinds:
        raise InputError(f"{path}: the table's name must end in {', '.join(kinds)}")
    with replacing(path) as temporary:
        if path.suffix == ".parquet":
            frame.to_parquet(temporary, index=False)
        elif path.suffix == ".csv":
            temporary.write_text(csv_text(frame), encoding="utf-8")
        else:
            frame.to_json(temporary, orient="records", lines=True)
