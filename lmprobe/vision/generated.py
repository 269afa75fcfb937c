"""Generated captions: which gender and which objects they mention, beside what is labelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe.errors import DataFileError
from lmprobe.io.tables import column_names, read_columns
from lmprobe.vision.mentions import Rule, checked_rule, gender_of, object_finder
from lmprobe.vision.reading import IMAGE, field, identifier, joined, read_json

_OBJECT = "object."


def captions(
    generated: Any, labels: Any, *, rule: Rule = "published", keep_unclear: bool = False
) -> pd.DataFrame:
    """Return the labelled images with what a generated caption mentions of them.

    Parameters
    ----------
    generated
        Captions in COCO's results format, a JSON list of `{"image_id": ..., "caption": ...}`,
        or a table with these two columns.
    labels
        A table with `image_id`, `gender` and `object.NAME`, such as `coco` returns.
    rule
        `published`: an object is mentioned if its name without spaces is part of the caption
        without spaces. `word`: whole words, plurals included.
    keep_unclear
        Keep images whose caption mentions both genders or neither (`gender_predicted` is then
        `both` or `neither`); by default they are left out, as published.

    Notes
    -----
    Adds `gender_predicted` and `predicted.NAME` for every object.
    """
    checked_rule(rule)
    table = labels if hasattr(labels, "columns") else read_columns(labels)
    names = [name.removeprefix(_OBJECT) for name in table.columns if name.startswith(_OBJECT)]
    if not names:
        raise DataFileError(f'the labels need columns called "{_OBJECT}NAME", such as coco gives')
    texts = _texts(generated)
    objects = list(map(object_finder(names, rule), texts["caption"]))
    mentioned = pd.DataFrame(objects, columns=names).astype("int8").add_prefix("predicted.")
    mentioned.insert(0, IMAGE, texts[IMAGE].to_numpy())
    mentioned.insert(1, "gender_predicted", [gender_of([text], rule) for text in texts["caption"]])
    images = joined(table, mentioned)
    clear = images["gender_predicted"].isin(["man", "woman"]) | keep_unclear
    return images[clear].reset_index(drop=True)


def _texts(generated: Any) -> pd.DataFrame:
    if isinstance(generated, str | Path) and ".json" in Path(generated).suffixes:
        rows = read_json(generated)
        if not isinstance(rows, list):
            raise DataFileError(f"{generated}: must be a list of objects with image_id and caption")
        images = [str(identifier(row, IMAGE, generated, "a caption")) for row in rows]
        texts = [field(row, "caption", generated, "a caption", str) for row in rows]
        return pd.DataFrame({IMAGE: images, "caption": texts})
    if not {IMAGE, "caption"} <= set(column_names(generated)):
        raise DataFileError("generated captions need the columns image_id and caption")
    return read_columns(generated, [IMAGE, "caption"], text=[IMAGE, "caption"])
