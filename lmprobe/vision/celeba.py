"""CelebA: forty attributes of faces, as the published list has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lmprobe.errors import DataFileError
from lmprobe.io.table_files import explaining, open_text
from lmprobe.vision.reading import IMAGE, joined

_SPLITS = {"0": "train", "1": "val", "2": "test"}


def celeba(
    attributes: str | Path, *, partition: str | Path | None = None, predictions: Any = None
) -> pd.DataFrame:
    """Return one row per image: `image_id`, `gender`, and every attribute as 0 or 1.

    Parameters
    ----------
    attributes
        `list_attr_celeba.txt`: the number of images, the names, then a line per image of -1 and 1.
    partition
        `list_eval_partition.txt`; adds `split` (`train`, `val` or `test`).
    predictions
        A second file in the format of `attributes`, which gives `predicted.NAME`, or a table
        with `image_id` and any further columns.
    """
    frame = _listed(Path(attributes))
    if "Male" not in frame:
        raise DataFileError(f'{attributes}: no attribute "Male"; this is not the published format')
    frame.insert(1, "gender", np.where(frame["Male"] == 1, "man", "woman"))
    if partition is not None:
        frame.insert(2, "split", frame[IMAGE].map(_partition(Path(partition))))
        if frame["split"].isna().any():
            lost = frame.loc[frame["split"].isna(), IMAGE].iloc[0]
            raise DataFileError(f'{partition}: the image "{lost}" has no line')
    if isinstance(predictions, str | Path) and Path(predictions).suffix == ".txt":
        guesses = _listed(Path(predictions)).add_prefix("predicted.")
        predictions = guesses.rename(columns={f"predicted.{IMAGE}": IMAGE})
    return joined(frame, predictions)


def _listed(path: Path) -> pd.DataFrame:
    with explaining(path), open_text(path) as lines:
        size, names = next(lines, "").strip(), next(lines, "").split()
        rows = [line.split() for line in lines if line.strip()]
    if not size.isdecimal() or len(size) > 12 or not names:
        raise DataFileError(
            f"{path}: the first line must be the number of images and the second the attributes"
        )
    if len(rows) != int(size):
        raise DataFileError(f"{path}: the first line says {size} images, {len(rows)} follow")
    for number, row in enumerate(rows, start=3):
        if len(row) != len(names) + 1 or not set(row[1:]) <= {"1", "-1"}:
            raise DataFileError(
                f"{path}: line {number} must be a file name and {len(names)} times -1 or 1"
            )
    values = np.array([row[1:] for row in rows]) == "1"
    frame = pd.DataFrame(values.astype(np.int8), columns=names)
    frame.insert(0, IMAGE, [row[0] for row in rows])
    return frame


def _partition(path: Path) -> dict[str, str]:
    with explaining(path), open_text(path) as lines:
        rows = [line.split() for line in lines if line.strip()]
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 2 or row[1] not in _SPLITS]
    if wrong:
        raise DataFileError(f"{path}: line {wrong[0]} must be a file name and 0, 1 or 2")
    return {name: _SPLITS[split] for name, split in rows}
