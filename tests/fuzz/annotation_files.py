"""Readers of the published annotation files that `lmprobe.vision` converts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fuzz import mutations
from tests.fuzz.reader import SEEDS, Reader, WrongNumber, stored

_SEEDS = SEEDS / "vision"


def readers() -> list[Reader]:
    """Return the readers of this file."""
    tree, lines = mutations.damage_json, mutations.damage_lines

    def reader(name: str, file: str, damage: mutations.Mutation, read: Any) -> Reader:
        return Reader(name, file, stored(f"vision/{file}"), damage, read, 0.15)

    return [
        reader("coco-instances", "instances.json", tree, read_instances),
        reader("coco-captions", "captions.json", tree, read_captions),
        reader("imsitu", "imsitu.json", tree, read_imsitu),
        reader("celeba", "celeba.txt", lines, read_celeba),
        reader("celeba-partition", "partition.txt", lines, read_partition),
        reader("generated-captions", "generated.json", tree, read_generated),
    ]


def _written(frame: Any, folder: Path) -> None:
    """Write the converted table in every format and read it back."""
    from lmprobe.io.tables import read_columns
    from lmprobe.vision.convert import write_table

    for suffix in (".csv", ".parquet", ".jsonl"):
        path = folder / f"converted{suffix}"
        write_table(frame, path)
        again = read_columns(path, text=["image_id"])
        if len(again) != len(frame) or [name.lstrip("'") for name in again.columns] != [
            str(name).lstrip("'") for name in frame.columns
        ]:
            raise WrongNumber(f"{suffix}: the table changes when it is written and read again")


def read_instances(path: Path) -> None:
    from lmprobe import vision

    captions = path.with_name("captions-beside.json")
    captions.write_bytes((_SEEDS / "captions.json").read_bytes())
    _written(vision.coco(path, captions, boxes=True), path.parent)


def read_captions(path: Path) -> None:
    from lmprobe import vision

    instances = path.with_name("instances-beside.json")
    instances.write_bytes((_SEEDS / "instances.json").read_bytes())
    _written(vision.coco(instances, path), path.parent)


def read_imsitu(path: Path) -> None:
    from lmprobe import vision

    _written(vision.imsitu(path), path.parent)


def read_celeba(path: Path) -> None:
    from lmprobe import vision

    _written(vision.celeba(path), path.parent)


def read_partition(path: Path) -> None:
    from lmprobe import vision

    listed = path.with_name("attributes-beside.txt")
    listed.write_bytes((_SEEDS / "celeba.txt").read_bytes())
    vision.celeba(listed, partition=path)


def read_generated(path: Path) -> None:
    import pandas as pd

    from lmprobe import vision

    labels = {"image_id": [9, 25], "gender": ["man", "woman"], "object.tie": [1, 0]}
    _written(vision.captions(path, pd.DataFrame(labels), keep_unclear=True), path.parent)
