"""Published annotation files of pictures, made into tables for `lmprobe.amplify`.

What `lmprobe convert` reads is listed here, generated texts and published items among it.
"""

from __future__ import annotations

import operator
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from lmprobe.errors import Argument, DataFileError, InputError, did_you_mean, plural, shortened
from lmprobe.io.files import parse_json
from lmprobe.io.table_files import check_target, explaining, open_text, write_table
from lmprobe.io.tables import column_names, read_columns
from lmprobe.io.work import Progress, silent
from lmprobe.results import Note
from lmprobe.sources.counting.generations import count_generations
from lmprobe.sources.counting.lexicon import Named
from lmprobe.sources.csv_file import check_free
from lmprobe.tabular.item_sets import ITEM_SETS, convert_items

IMAGE = "image_id"
_KINDS: dict[type, str] = {list: "list", str: "text", int: "whole number"}


def _read_json(path: str | Path) -> Any:
    """Return the content of a JSON file, compressed or not."""
    place = Path(path)
    with explaining(place), open_text(place) as lines:
        try:
            return parse_json(lines.read())
        except UnicodeDecodeError:
            raise
        except ValueError as problem:
            raise DataFileError(f"{place}: not JSON ({problem})") from None


def _field(row: Any, name: str, path: str | Path, what: str, *kinds: type) -> Any:
    """Return a field of a JSON object, of one of these types, or say what is wrong."""
    if not isinstance(row, dict) or name not in row:
        raise DataFileError(f'{path}: {what} has no "{name}"; this is not the published format')
    value = row[name]
    if type(value) not in kinds or (type(value) is int and abs(value) >= 2**63):
        expected = " or a ".join(_KINDS[kind] for kind in kinds)
        raise DataFileError(
            f'{path}: the "{name}" of {what} must be a {expected}, '
            f"found {shortened(repr(value), 60)}"
        )
    return value


def _check_images(images: Sequence[Any], path: str | Path) -> None:
    """Refuse an image that is listed twice, and numbers beside names."""
    twice = [image for image, times in Counter(images).items() if times > 1]
    if twice:
        raise DataFileError(f'{path}: the image "{twice[0]}" is listed twice; remove one')
    if len({type(image) for image in images}) > 1:
        raise DataFileError(f'{path}: some images have a number and some a text as "id"')


def _joined(table: pd.DataFrame, predictions: Any) -> pd.DataFrame:
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
            f"{place}: no prediction for {plural(len(missing), 'image', of=len(table))}, "
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


CaptionRule = Literal["published", "word"]
RULES: tuple[CaptionRule, ...] = get_args(CaptionRule)

# The word lists of the published caption code (Wang & Russakovsky 2021, after Hendricks et al.).
_PUBLISHED = {
    "man": {"man", "boy", "gentleman", "male", "men"},
    "woman": {"woman", "girl", "lady", "female", "women"},
}
# The whole-word rule also takes the plurals that the published lists lack.
_WORD = {
    "man": _PUBLISHED["man"] | {"boys", "gentlemen", "males"},
    "woman": _PUBLISHED["woman"] | {"girls", "ladies", "females"},
}
# A name that is part of another object's name counts only outside of it.
_INSIDE = {"car": "carrot", "dog": "hotdog"}
_PUNCTUATION = re.compile(r"[^\w\s]")


def _check_rule(rule: str) -> None:
    if rule not in RULES:
        raise InputError(f'no rule "{rule}"; {did_you_mean(rule, RULES)}')


def gender_of(texts: Iterable[str], rule: CaptionRule = "published") -> str:
    """Return `man` or `woman` if the texts mention one of them, else `both` or `neither`.

    >>> gender_of(["A man rides.", "Somebody rides a horse."])
    'man'
    """
    words = {word for text in texts for word in _plain(text).split()}
    lists = _WORD if rule == "word" else _PUBLISHED
    named = [gender for gender, names in lists.items() if words & names]
    return named[0] if len(named) == 1 else "both" if named else "neither"


def object_finder(
    names: Iterable[str], rule: CaptionRule = "published"
) -> Callable[[str], list[bool]]:
    """Return a function that tells which of the objects a caption mentions.

    `published`: the name without spaces is somewhere in the caption without spaces, so that
    "tie" is in "necktie" and "tied". `word`: whole words in a row, plurals included.

    >>> object_finder(["car", "hot dog"])("A hotdog with carrots.")
    [False, True]
    """
    objects = list(names)
    if rule == "published":
        return lambda caption: _substrings(objects, "".join(_plain(caption).split()))
    patterns = [re.compile(rf"\b{re.escape(name)}(?:s|es)?\b") for name in objects]
    return lambda caption: [bool(pattern.search(_plain(caption))) for pattern in patterns]


def _substrings(names: list[str], text: str) -> list[bool]:
    outside = {name: text.replace(whole, " ") for name, whole in _INSIDE.items()}
    return [name.replace(" ", "") in outside.get(name, text) for name in names]


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("", text.lower())


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
    frame = _read_attributes(Path(attributes))
    if "Male" not in frame:
        raise DataFileError(f'{attributes}: no attribute "Male"; this is not the published format')
    frame.insert(1, "gender", np.where(frame["Male"] == 1, "man", "woman"))
    if partition is not None:
        frame.insert(2, "split", frame[IMAGE].map(_read_partition(Path(partition))))
        if frame["split"].isna().any():
            lost = frame.loc[frame["split"].isna(), IMAGE].iloc[0]
            raise DataFileError(f'{partition}: the image "{lost}" has no line')
    if isinstance(predictions, str | Path) and Path(predictions).suffix == ".txt":
        guesses = _read_attributes(Path(predictions)).add_prefix("predicted.")
        predictions = guesses.rename(columns={f"predicted.{IMAGE}": IMAGE})
    return _joined(frame, predictions)


def _read_attributes(path: Path) -> pd.DataFrame:
    with explaining(path), open_text(path) as lines:
        size, names = next(lines, "").strip(), next(lines, "").split()
        rows = [line.split() for line in lines if line.strip()]
    if not size.isdecimal() or len(size) > 12 or not names:
        raise DataFileError(
            f"{path}: the first line must be the number of images and the second the attributes"
        )
    if len(rows) != int(size):
        raise DataFileError(f"{path}: the first line says {size} images, found {len(rows)}")
    for number, row in enumerate(rows, start=3):
        if len(row) != len(names) + 1 or not set(row[1:]) <= {"1", "-1"}:
            raise DataFileError(
                f"{path}: line {number} must be a file name and {len(names)} times -1 or 1"
            )
    values = np.array([row[1:] for row in rows]) == "1"
    frame = pd.DataFrame(values.astype(np.int8), columns=names)
    frame.insert(0, IMAGE, [row[0] for row in rows])
    return frame


def _read_partition(path: Path) -> dict[str, str]:
    with explaining(path), open_text(path) as lines:
        rows = [line.split() for line in lines if line.strip()]
    wrong = [number for number, row in enumerate(rows, 1) if len(row) != 2 or row[1] not in _SPLITS]
    if wrong:
        raise DataFileError(f"{path}: line {wrong[0]} must be a file name and 0, 1 or 2")
    return {name: _SPLITS[split] for name, split in rows}


PERSON = "person"


def coco(
    instances: str | Path,
    captions: str | Path,
    *,
    predictions: Any = None,
    rule: CaptionRule = "published",
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
    document = _read_json(instances)
    texts = _captions(captions)
    _check_rule(rule)
    categories: dict[Any, str] = {}
    for row in _field(document, "categories", instances, "the file", list):
        number = _field(row, "id", instances, "a category", int, str)
        categories[number] = _field(row, "name", instances, "a category", str)
    seen: dict[Any, set[str]] = defaultdict(set)
    people: dict[Any, list[tuple[float, ...]]] = defaultdict(list)
    for row in _field(document, "annotations", instances, "the file", list):
        category = _field(row, "category_id", instances, "an annotation", int, str)
        if category not in categories:
            raise DataFileError(f'{instances}: an annotation has the unknown category "{category}"')
        image = _field(row, IMAGE, instances, "an annotation", int, str)
        seen[image].add(categories[category])
        if boxes and categories[category] == PERSON:
            people[image].append(_box(row, instances))
    genders = {image: gender_of(lines, rule) for image, lines in texts.items()}
    listed = _field(document, "images", instances, "the file", list)
    images = [_field(row, "id", instances, "an image", int, str) for row in listed]
    _check_images(images, instances)
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
    return _joined(frame, predictions)


def _captions(path: str | Path) -> dict[Any, list[str]]:
    texts: dict[Any, list[str]] = defaultdict(list)
    for row in _field(_read_json(path), "annotations", path, "the file", list):
        text = _field(row, "caption", path, "an annotation", str)
        texts[_field(row, IMAGE, path, "an annotation", int, str)].append(text)
    return texts


def _box(annotation: Any, path: str | Path) -> tuple[float, ...]:
    box = _field(annotation, "bbox", path, "an annotation", list)
    if len(box) != 4 or not all(type(number) in (int, float) for number in box):
        raise DataFileError(f'{path}: a "bbox" must be four numbers, found {shortened(box, 60)}')
    return tuple(map(float, box))


def _around(boxes: list[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the smallest rectangle around all boxes."""
    left, top, width, height = zip(*(boxes or [(0.0, 0.0, 0.0, 0.0)]), strict=True)
    right = max(map(operator.add, left, width))
    bottom = max(map(operator.add, top, height))
    return min(left), min(top), right - min(left), bottom - min(top)


# WordNet 3.0: "man, adult male" and "woman, adult female", as Zhao et al. 2017 take them.
_GENDERS = {"n10287213": "man", "n10787470": "woman"}


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
        document = _read_json(path)
        if not isinstance(document, dict):
            raise DataFileError(f"{path}: must be an object with one key per image")
        for image, annotation in document.items():
            what = f'the image "{image}"'
            verb = _field(annotation, "verb", path, what, str)
            frames = _field(annotation, "frames", path, what, list)
            agents = {str(frame.get("agent")) for frame in frames if isinstance(frame, dict)}
            genders = [_GENDERS[agent] for agent in _GENDERS if agent in agents]
            if len(genders) == 1:
                rows.append((image, Path(path).name.split(".")[0], genders[0], verb))
    if not rows:
        raise DataFileError(f"{annotations[0]}: no image has a man or a woman as agent")
    _check_images([image for image, *_ in rows], annotations[-1])
    frame = pd.DataFrame(rows, columns=[IMAGE, "split", "gender", "verb"])
    return _joined(frame, predictions)


_OBJECT = "object."


def captions(
    generated: Any, labels: Any, *, rule: CaptionRule = "published", keep_unclear: bool = False
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
    _check_rule(rule)
    table = labels if hasattr(labels, "columns") else read_columns(labels)
    names = [name.removeprefix(_OBJECT) for name in table.columns if name.startswith(_OBJECT)]
    if not names:
        raise DataFileError(f'the labels need columns called "{_OBJECT}NAME", such as coco gives')
    texts = _texts(generated)
    objects = list(map(object_finder(names, rule), texts["caption"]))
    mentioned = pd.DataFrame(objects, columns=names).astype("int8").add_prefix("predicted.")
    mentioned.insert(0, IMAGE, texts[IMAGE].to_numpy())
    mentioned.insert(1, "gender_predicted", [gender_of([text], rule) for text in texts["caption"]])
    images = _joined(table, mentioned)
    clear = images["gender_predicted"].isin(["man", "woman"]) | keep_unclear
    return images[clear].reset_index(drop=True)


def _texts(generated: Any) -> pd.DataFrame:
    if isinstance(generated, str | Path) and ".json" in Path(generated).suffixes:
        rows = _read_json(generated)
        if not isinstance(rows, list):
            raise DataFileError(f"{generated}: must be a list of objects with image_id and caption")
        images = [str(_field(row, IMAGE, generated, "a caption", int, str)) for row in rows]
        texts = [_field(row, "caption", generated, "a caption", str) for row in rows]
        return pd.DataFrame({IMAGE: images, "caption": texts})
    if not {IMAGE, "caption"} <= set(column_names(generated)):
        raise DataFileError("generated captions need the columns image_id and caption")
    return read_columns(generated, [IMAGE, "caption"], text=[IMAGE, "caption"])


SOURCES = {
    "coco": (("instances", "captions"), range(2, 3), {"predictions", "rule", "boxes"}),
    "celeba": (("attributes", "partition"), range(1, 3), {"predictions"}),
    "imsitu": (("annotations",), range(1, 100), {"predictions"}),
    "captions": (("generated captions", "labels"), range(2, 3), {"rule", "keep_unclear"}),
    "generations": (("texts",), range(1, 2), {"rule", "attributes", "language"}),
    "gest": (("gest.csv",), range(1, 2), {"frames"}),
    "crows-pairs": (("crows_pairs_anonymized.csv",), range(1, 2), set()),
    "winogender": (("all_sentences.tsv",), range(1, 2), set()),
    "winogenerated": (("winogenerated_examples.jsonl",), range(1, 2), set()),
}
"""Which files each data set is made of, how many there may be, and what else can be given."""


def convert(
    kind: str,
    sources: Sequence[Path],
    table: Path,
    *,
    predictions: Path | None = None,
    rule: str | None = None,
    keep_unclear: bool = False,
    boxes: bool = False,
    attributes: Named | None = None,
    language: str | None = None,
    frames: str | None = None,
    progress: Progress = silent,
) -> tuple[int, tuple[Note, ...]]:
    """Write the table of a data set; return how many rows it has, and what to know of them."""
    if kind not in SOURCES:
        raise InputError(f'no data set "{kind}"; {did_you_mean(kind, SOURCES)}')
    files, numbers, options = SOURCES[kind]
    if len(sources) not in numbers:
        raise InputError(
            f"{kind} needs {', '.join(files)}, then the table to write; "
            f"found {plural(len(sources), 'source file')}"
        )
    given = {
        "predictions": predictions, "rule": rule, "keep_unclear": keep_unclear, "boxes": boxes,
        "attributes": attributes, "language": language, "frames": frames,
    }  # fmt: skip
    for name in sorted({name for name, value in given.items() if value} - options):
        raise InputError(f"{kind} does not take ", Argument(name))
    check_target(table)
    if kind == "generations" or kind in ITEM_SETS:
        check_free(table.with_suffix(".toml"))
        if table.exists() and sources[0].exists() and table.samefile(sources[0]):
            raise InputError(f"{table} holds the texts; choose another name for the table")
    if kind in ITEM_SETS:
        return convert_items(kind, sources[0], table, **({"frames": frames} if frames else {}))
    if kind == "generations":
        counts = count_generations(
            sources[0], attributes=attributes, language=language or "en", rule=rule or "first",
            progress=progress,
        )  # fmt: skip
        counts.write(table)
        return len(counts.table), counts.notes
    caption_rule: Any = rule or "published"
    if kind == "coco":
        frame = coco(*sources, predictions=predictions, rule=caption_rule, boxes=boxes)
    elif kind == "celeba":
        partition = sources[1] if len(sources) > 1 else None
        frame = celeba(sources[0], partition=partition, predictions=predictions)
    elif kind == "imsitu":
        frame = imsitu(*sources, predictions=predictions)
    else:
        frame = captions(*sources, rule=caption_rule, keep_unclear=keep_unclear)
    write_table(frame, table)
    return len(frame), ()
