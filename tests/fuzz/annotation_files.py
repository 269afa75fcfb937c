"""Readers of the published annotation files that `lmprobe.vision` converts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fuzz import mutations
from tests.fuzz.reader import SEEDS, Reader, WrongNumber, stored


def readers() -> list[Reader]:
    """Return the readers of this file."""
    tree, lines = mutations.damage_json, mutations.damage_lines

    def reader(name: str, file: str, damage: mutations.Mutation) -> Reader:
        return Reader(name, file, stored(f"vision/{file}"), damage, read_annotations, 0.15)

    return [
        reader("coco-instances", "instances.json", tree),
        reader("coco-captions", "captions.json", tree),
        reader("imsitu", "imsitu.json", tree),
        reader("celeba", "celeba.txt", lines),
        reader("celeba-partition", "partition.txt", lines),
        reader("generated-captions", "generated.json", tree),
    ]


def read_annotations(path: Path) -> None:
    """Convert the file, write the table in every format and read it back."""
    from lmprobe.io.tables import read_columns
    from lmprobe.vision.convert import write_table

    frame = _converted(path)
    for suffix in (".csv", ".parquet", ".jsonl"):
        written = path.with_name(f"converted{suffix}")
        write_table(frame, written)
        again = read_columns(written, text=["image_id"])
        if len(again) != len(frame) or [name.lstrip("'") for name in again.columns] != [
            str(name).lstrip("'") for name in frame.columns
        ]:
            raise WrongNumber(f"{suffix}: the table changes when it is written and read again")


def _converted(path: Path) -> Any:
    import pandas as pd

    from lmprobe import vision

    beside = SEEDS / "vision"
    match path.stem:
        case "instances":
            return vision.coco(path, beside / "captions.json", boxes=True)
        case "captions":
            return vision.coco(beside / "instances.json", path)
        case "imsitu":
            return vision.imsitu(path)
        case "celeba":
            return vision.celeba(path)
        case "partition":
            return vision.celeba(beside / "celeba.txt", partition=path)
    labels = {"image_id": [9, 25], "gender": ["man", "woman"], "object.tie": [1, 0]}
    return vision.captions(path, pd.DataFrame(labels), keep_unclear=True)
