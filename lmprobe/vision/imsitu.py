"""imSitu: the verb of an image and the gender of its agent."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe.errors import DataFileError
from lmprobe.vision.reading import IMAGE, check_images, field, joined, read_json

# WordNet 3.0: "man, adult male" and "woman, adult female", as Zhao et al. 2017 take them.
MAN, WOMAN = "n10287213", "n10787470"


def imsitu(*annotations: str | Path, predictions: Any = None) -> pd.DataFrame:
    """Return one row per image whose agent is a man or a woman: `image_id`, `gender`, `verb`.

    Parameters
    ----------
    annotations
        `train.json`, `dev.json`, `test.json`: one or several; the file's name is the `split`.
        An image has several annotators; it counts where none names the other gender.
    predictions
        A table with `image_id` and further columns, such as `predicted.verb`.
    """
    if not annotations:
        raise DataFileError("name at least one annotation file, such as train.json")
    rows = []
    for path in annotations:
        document = read_json(path)
        if not isinstance(document, dict):
            raise DataFileError(f"{path}: must be an object with one key per image")
        for image, one in document.items():
            what = f'the image "{image}"'
            verb = field(one, "verb", path, what, str)
            frames = field(one, "frames", path, what, list)
            agents = [frame.get("agent") if isinstance(frame, dict) else None for frame in frames]
            gender = _gender(one for one in agents if isinstance(one, str))
            if gender is not None:
                rows.append((image, Path(path).name.split(".")[0], gender, verb))
    if not rows:
        raise DataFileError(f"{annotations[0]}: no image has a man or a woman as agent")
    check_images([image for image, *_ in rows], annotations[-1])
    frame = pd.DataFrame(rows, columns=[IMAGE, "split", "gender", "verb"])
    return joined(frame, predictions)


def _gender(agents: Iterable[str]) -> str | None:
    named = {MAN: "man", WOMAN: "woman"}
    found = {named[agent] for agent in agents if agent in named}
    return found.pop() if len(found) == 1 else None
