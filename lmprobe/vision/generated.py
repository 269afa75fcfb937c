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
    generated: Any,
    labels: Any,
    *,
    rule: Rule = "published",
    keep_unclear: bool = False,
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
    chosen = checked_rule(rule)
    table = labels if hasattr(labels, "columns") else read_columns(labels)
    names = [name.removeprefix(_OBJECT) for name in table.columns if name.startswith(_OBJECT)]
    if not names:
        raise DataFileError(f'the labels need columns called "{_OBJECT}NAME", such as coco gives')
    texts = _texts(generated)
    find = object_finder(names, chosen)
    mentioned = pd.DataFrame(
        [find(text) for text in texts["caption"]], columns=[f"predicted.{name}" for name in names]
    ).astype("int8")
    mentioned.insert(0, IMAGE, texts[IMAGE].to_numpy())
    mentioned.insert(
        1, "gender_predicted", [gender_of([text], chosen) for text in texts["caption"]]
    )
    found = joined(table, mentioned)
    if keep_unclear:
        return found
    clear = found["gender_predicted"].isin(["man", "woman"])
    return found[clear].reset_index(drop=True)


def _texts(generated: Any) -> pd.DataFrame:
    if isinstance(generated, str | Path) and ".json" in Path(generated).suffixes:
        rows = read_json(generated)
        if not isinstance(rows, list):
            raise DataFileError(f"{generated}: must be a list of objects with image_id and caption")
        return pd.DataFrame(
            {
                IMAGE: [str(identifier(one, IMAGE, generated, "a caption")) for one in rows],
                "caption": [field(one, "caption", generated, "a caption", str) for one in rows],
            }
        )
    if not {IMAGE, "caption"} <= set(column_names(generated)):
        raise DataFileError("generated captions need the columns image_id and caption")
    return read_columns(generated, [IMAGE, "caption"], text=[IMAGE, "caption"])
