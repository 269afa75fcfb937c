"""COCO: who an image shows, by its captions, and which objects, by its annotated instances."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from lmprobe.errors import DataFileError, shortened
from lmprobe.vision.mentions import Rule, checked_rule, gender_of
from lmprobe.vision.reading import IMAGE, check_images, field, identifier, joined, read_json

PERSON = "person"


def coco(
    instances: str | Path,
    captions: str | Path,
    *,
    predictions: Any = None,
    rule: Rule = "published",
    boxes: bool = False,
) -> pd.DataFrame:
    """Return one row per image that shows a man or a woman, by its captions.

    Parameters
    ----------
    instances, captions
        `instances_val2014.json` and `captions_val2014.json`, or those of another year or split.
    predictions
        A table with `image_id` and any further columns, such as `gender_predicted` and
        `predicted.chair`.
    rule
        Which words name a gender: those of the published code, or with their plurals.
    boxes
        Add `person.left`, `.top`, `.width` and `.height`: the rectangle around all people in the
        image, in pixels (Table 1 of Wang & Russakovsky 2021 masks people); 0 without people.

    Notes
    -----
    The columns are `image_id`, `gender` (`man` or `woman`: images whose captions mention both
    or neither are left out, as published) and `object.NAME` for every category but `person`.
    """
    document = read_json(instances)
    texts = _captions(captions)
    categories = {
        identifier(one, "id", instances, "a category"): field(
            one, "name", instances, "a category", str
        )
        for one in field(document, "categories", instances, "the file", list)
    }
    seen: dict[Any, set[str]] = defaultdict(set)
    people: dict[Any, list[tuple[float, ...]]] = defaultdict(list)
    for one in field(document, "annotations", instances, "the file", list):
        category = identifier(one, "category_id", instances, "an annotation")
        if category not in categories:
            raise DataFileError(f'{instances}: an annotation has the unknown category "{category}"')
        image = identifier(one, IMAGE, instances, "an annotation")
        seen[image].add(categories[category])
        if boxes and categories[category] == PERSON:
            people[image].append(_box(one, instances))
    genders = {image: gender_of(lines, checked_rule(rule)) for image, lines in texts.items()}
    listed = field(document, "images", instances, "the file", list)
    images = [identifier(one, "id", instances, "an image") for one in listed]
    check_images(images, instances)
    kept = [image for image in images if genders.get(image) in ("man", "woman")]
    if not kept:
        raise DataFileError(f"{captions}: no caption of these images mentions a man or a woman")
    table = {IMAGE: kept, "gender": [genders[image] for image in kept]}
    for name in sorted(set(categories.values()) - {PERSON}):
        table[f"object.{name}"] = [int(name in seen[image]) for image in kept]
    frame = pd.DataFrame(table)
    if boxes:
        frame = pd.concat([frame, _rectangles(kept, people)], axis=1)
    return joined(frame, predictions)


def _captions(path: str | Path) -> dict[Any, list[str]]:
    texts: dict[Any, list[str]] = defaultdict(list)
    for one in field(read_json(path), "annotations", path, "the file", list):
        text = field(one, "caption", path, "an annotation", str)
        texts[identifier(one, IMAGE, path, "an annotation")].append(text)
    return texts


def _box(annotation: Any, path: str | Path) -> tuple[float, ...]:
    box = field(annotation, "bbox", path, "an annotation", list)
    if len(box) != 4 or not all(type(one) in (int, float) for one in box):
        raise DataFileError(f'{path}: a "bbox" must be four numbers, found {shortened(box, 60)}')
    return tuple(map(float, box))


def _rectangles(images: list[Any], people: dict[Any, list[tuple[float, ...]]]) -> pd.DataFrame:
    """Return the smallest rectangle around all boxes of people in each image."""
    rows = []
    for image in images:
        found = people.get(image) or [(0.0, 0.0, 0.0, 0.0)]
        left, top = min(box[0] for box in found), min(box[1] for box in found)
        right = max(box[0] + box[2] for box in found)
        bottom = max(box[1] + box[3] for box in found)
        rows.append((left, top, right - left, bottom - top))
    names = [f"{PERSON}.{name}" for name in ("left", "top", "width", "height")]
    return pd.DataFrame(rows, columns=names)
