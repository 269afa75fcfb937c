"""Opens annotation files, and joins predictions to the images that they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe.errors import DataFileError, shortened
from lmprobe.io.documents import parse_json
from lmprobe.io.table_files import explaining, open_text
from lmprobe.io.tables import column_names, read_columns

IMAGE = "image_id"
_KINDS: dict[type, str] = {list: "list", str: "text"}


def read_json(path: str | Path) -> Any:
    """Return the content of a JSON file, compressed or not."""
    place = Path(path)
    with explaining(place), open_text(place) as lines:
        try:
            return parse_json(lines.read())
        except UnicodeDecodeError:
            raise
        except ValueError as problem:
            raise DataFileError(f"{place}: not JSON ({problem})") from None


def field(row: Any, name: str, path: str | Path, what: str, kind: type | None = None) -> Any:
    """Return a field of a JSON object, of a type where one is asked for, or say what is wrong."""
    if not isinstance(row, dict) or name not in row:
        raise DataFileError(f'{path}: {what} has no "{name}"; this is not the published format')
    if kind is not None and not isinstance(row[name], kind):
        raise DataFileError(
            f'{path}: the "{name}" of {what} must be a {_KINDS[kind]}, '
            f"found {shortened(repr(row[name]), 60)}"
        )
    return row[name]


def identifier(row: Any, name: str, path: str | Path, what: str) -> int | str:
    """Return a field that tells images or categories apart: a whole number or a text."""
    value = field(row, name, path, what)
    if type(value) is str or (type(value) is int and abs(value) < 2**63):
        return value
    raise DataFileError(
        f'{path}: the "{name}" of {what} must be a whole number or a text, '
        f"found {shortened(repr(value), 60)}"
    )


def check_images(images: Sequence[Any], path: str | Path) -> None:
    """Refuse an image that is listed twice, and numbers beside names."""
    twice = [image for image, times in Counter(images).items() if times > 1]
    if twice:
        raise DataFileError(f'{path}: the image "{twice[0]}" is listed twice; remove one')
    if len({type(image) for image in images}) > 1:
        raise DataFileError(f'{path}: some images have a number and some a text as "id"')


def joined(table: pd.DataFrame, predictions: Any) -> pd.DataFrame:
    """Return the table with the columns of the predictions, matched by `image_id`."""
    if predictions is None:
        return table
    place = str(predictions) if isinstance(predictions, str | Path) else "the predictions"
    if IMAGE not in column_names(predictions):
        raise DataFileError(f'{place}: the predictions need a column "{IMAGE}"')
    rows = read_columns(predictions, text=[IMAGE]).set_index(IMAGE)
    if not rows.index.is_unique:
        twice = rows.index[rows.index.duplicated()][0]
        raise DataFileError(f'{place}: the image "{twice}" has two predictions')
    images = table[IMAGE].astype(str)
    missing = images[~images.isin(rows.index)]
    if len(missing):
        raise DataFileError(
            f"{place}: {len(missing):,} of {len(table):,} images have no prediction, "
            f'such as "{missing.iloc[0]}"'
        )
    clash = sorted(set(rows.columns) & set(table.columns))
    if clash:
        raise DataFileError(
            f'{place}: the column "{clash[0]}" is a label already; call it "predicted.{clash[0]}"'
        )
    return pd.concat(
        [table.reset_index(drop=True), rows.loc[list(images)].reset_index(drop=True)], axis=1
    )
