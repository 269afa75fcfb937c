"""COCO: who an image shows, by its captions, and which objects, by its annotated instances."""

from __future__ import annotations

import operator
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
    checked_rule(rule)
    categories: dict[Any, str] = {}
    for row in field(document, "categories", instances, "the file", list):
        number = identifier(row, "id", instances, "a category")
        categories[number] = field(row, "name", instances, "a category", str)
    seen: dict[Any, set[str]] = defaultdict(set)
    people: dict[Any, list[tuple[float, ...]]] = defaultdict(list)
    for row in field(document, "annotations", instances, "the file", list):
        category = identifier(row, "category_id", instances, "an annotation")
        if category not in categories:
            raise DataFileError(f'{instances}: an annotation has the unknown category "{category}"')
        image = identifier(row, IMAGE, instances, "an annotation")
        seen[image].add(categories[category])
        if boxes and categories[category] == PERSON:
            people[image].append(_box(row, instances))
    genders = {image: gender_of(lines, rule) for image, lines in texts.items()}
    listed = field(document, "images", instances, "the file", list)
    images = [identifier(row, "id", instances, "an image") for row in listed]
    check_images(images, instances)
    shown = [image for image in images if genders.get(image) in ("man", "woman")]
    if not shown:
        raise DataFileError(f"{captions}: no caption of these images mentions a man or a woman")
    table = {IMAGE: shown, "gender": [genders[image] for image in shown]}
    for name in sorted(set(categories.values()) - {PERSON}):
        table[f"object.{name}"] = [int(name in seen[image]) for image in shown]
    frame = pd.DataFrame(table)
    if boxes:
        rectangles = [_around(people.get(image, [])) for image in shown]
        names = [f"{PERSON}.{name}" for name in ("left", "top", "width", "height")]
        frame[names] = rectangles
    return joined(frame, predictions)


def _captions(path: str | Path) -> dict[Any, list[str]]:
    texts: dict[Any, list[str]] = defaultdict(list)
    for row in field(read_json(path), "annotations", path, "the file", list):
        text = field(row, "caption", path, "an annotation", str)
        texts[identifier(row, IMAGE, path, "an annotation")].append(text)
    return texts


def _box(annotation: Any, path: str | Path) -> tuple[float, ...]:
    box = field(annotation, "bbox", path, "an annotation", list)
    if len(box) != 4 or not all(type(number) in (int, float) for number in box):
        raise DataFileError(f'{path}: a "bbox" must be four numbers, found {shortened(box, 60)}')
    return tuple(map(float, box))


def _around(boxes: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the smallest rectangle around all boxes."""
    left, top, width, height = zip(*(boxes or [(0.0, 0.0, 0.0, 0.0)]), strict=True)
    right = max(map(operator.add, left, width))
    bottom = max(map(operator.add, top, height))
    return min(left), min(top), right - min(left), bottom - min(top)
