"""Makes the label patterns of `lmprobe reproduce captions` from a table of COCO captions.

    python benchmarks/caption_patterns.py coco_captioning.csv.gz lmprobe/reproduce/data

The table has `image_id`, `gender`, `objects` (separated by ";") and one column of captions per
model. What is written holds no text: per distinct image, its gender, its objects by number,
and for each model the gender (m, w, b both, n neither) and the objects that the caption
mentions, by the published rule and by whole words.
"""

from __future__ import annotations

import gzip
import hashlib
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from lmprobe.tabular.annotations import RULES, gender_of, object_finder

MODELS = ("baseline_ft", "equalizer", "confident", "upweight", "balanced", "confusion")


def main(source: Path, folder: Path) -> None:
    table = pd.read_csv(source, keep_default_na=False)
    names = sorted({name for cell in table["objects"] for name in cell.split(";") if name})
    number = {name: str(place) for place, name in enumerate(names)}
    for rule in RULES:
        find = object_finder(names, rule)

        def mention(caption: str, find=find, rule=rule) -> str:  # type: ignore[no-untyped-def]
            said = [str(place) for place, yes in enumerate(find(caption)) if yes]
            return " ".join([gender_of([caption], rule)[0], *said])

        columns = {model: table[model].map(mention) for model in MODELS}
        objects = table["objects"].map(
            lambda cell: " ".join(number[name] for name in cell.split(";") if name)
        )
        rows = Counter(zip(table["gender"], objects, *columns.values(), strict=True))
        lines = [",".join(("gender", "objects", *MODELS, "images"))]
        lines += [",".join((*row, str(images))) for row, images in sorted(rows.items())]
        content = gzip.compress(("\n".join(lines) + "\n").encode(), compresslevel=9, mtime=0)
        path = folder / f"coco_captions_{rule}.csv.gz"
        path.write_bytes(content)
        print(path, len(rows), "kinds", len(content), "bytes", hashlib.sha256(content).hexdigest())
    print(names)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
