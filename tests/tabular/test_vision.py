"""Small files in exactly the published formats, and what must be read off them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lmprobe
from lmprobe import vision
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.table_files import SUFFIXES
from lmprobe.tabular.annotations import gender_of, object_finder


@pytest.fixture
def coco_files(tmp_path: Path) -> tuple[Path, Path]:
    images = [
        {"id": number, "file_name": f"COCO_val2014_{number:012}.jpg", "height": 480, "width": 640}
        for number in (9, 25, 30, 42)
    ]
    info = {"info": {"year": 2014}, "licenses": [], "images": images}
    categories = [
        {"supercategory": "person", "id": 1, "name": "person"},
        {"supercategory": "furniture", "id": 67, "name": "dining table"},
        {"supercategory": "accessory", "id": 32, "name": "tie"},
    ]
    boxes = [
        (9, 1, [10.0, 20.0, 30.0, 40.0]),
        (9, 1, [100.0, 10.0, 50.0, 60.0]),
        (9, 32, [15.0, 30.0, 5.0, 9.0]),
        (9, 32, [110.0, 30.0, 5.0, 9.0]),
        (25, 67, [0.0, 0.0, 600.0, 200.0]),
        (30, 67, [0.0, 0.0, 600.0, 200.0]),
    ]
    annotations = [
        {"id": number, "image_id": image, "category_id": category, "bbox": box, "iscrowd": 0}
        | {"area": box[2] * box[3], "segmentation": []}
        for number, (image, category, box) in enumerate(boxes)
    ]
    instances = tmp_path / "instances_val2014.json"
    instances.write_text(json.dumps(info | {"annotations": annotations, "categories": categories}))
    texts = {
        9: ["Two men in ties.", "A man with a tie."],
        25: ["A woman at a table.", "Somebody eats."],
        30: ["A man and a woman eat."],
        42: ["A cat on a mat."],
    }
    captions = tmp_path / "captions_val2014.json"
    lines = [
        {"image_id": image, "id": number, "caption": text}
        for image, several in texts.items()
        for number, text in enumerate(several)
    ]
    captions.write_text(json.dumps(info | {"annotations": lines}))
    return instances, captions


def test_coco_gives_gender_by_captions_and_objects_by_category(
    coco_files: tuple[Path, Path],
) -> None:
    table = vision.coco(*coco_files, boxes=True)
    assert table.to_dict("list") == {
        "image_id": [9, 25],
        "gender": ["man", "woman"],
        "object.dining table": [0, 1],
        "object.tie": [1, 0],
        "person.left": [10.0, 0.0],
        "person.top": [10.0, 0.0],
        "person.width": [140.0, 0.0],
        "person.height": [60.0, 0.0],
    }


def test_predictions_are_matched_by_image(coco_files: tuple[Path, Path], tmp_path: Path) -> None:
    said = tmp_path / "said.csv"
    said.write_text("image_id,predicted.tie\n25,1\n9,0\n7,1\n")
    assert vision.coco(*coco_files, predictions=said)["predicted.tie"].tolist() == [0, 1]
    said.write_text("image_id,predicted.tie\n25,1\n")
    with pytest.raises(DataFileError, match='no prediction for 1 of 2 images, such as "9"'):
        vision.coco(*coco_files, predictions=said)
    said.write_text("image_id,object.tie\n25,1\n9,1\n")
    with pytest.raises(DataFileError, match=r'call it "predicted.object.tie"'):
        vision.coco(*coco_files, predictions=said)
    said.write_text("image_id,x\n25,1\n9,1\n9,1\n")
    with pytest.raises(DataFileError, match="two predictions"):
        vision.coco(*coco_files, predictions=said)
    said.write_text("image,x\n25,1\n")
    with pytest.raises(DataFileError, match='need a column "image_id"'):
        vision.coco(*coco_files, predictions=said)


def test_another_json_is_named(coco_files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r'a category has no "name"|has no "categories"'):
        vision.coco(coco_files[1], coco_files[1])
    with pytest.raises(DataFileError, match='an annotation has no "caption"'):
        vision.coco(coco_files[0], coco_files[0])
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataFileError, match="not JSON"):
        vision.coco(tmp_path / "broken.json", coco_files[1])
    with pytest.raises(DataFileError, match="no such file"):
        vision.coco(tmp_path / "none.json", coco_files[1])


CELEBA = """3
5_o_Clock_Shadow Male Young
000001.jpg -1 -1  1
000002.jpg -1  1 -1
000003.jpg  1  1  1
"""


def test_celeba(tmp_path: Path) -> None:
    labels, said = tmp_path / "list_attr_celeba.txt", tmp_path / "said.txt"
    labels.write_text(CELEBA)
    said.write_text(CELEBA.replace("-1 -1  1", "-1 -1 -1"))
    split = tmp_path / "list_eval_partition.txt"
    split.write_text("000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n")
    table = vision.celeba(labels, partition=split, predictions=said)
    assert table["gender"].tolist() == ["woman", "man", "man"]
    assert table["split"].tolist() == ["train", "val", "test"]
    assert table["Young"].tolist() == [1, 0, 1]
    assert table["predicted.Young"].tolist() == [0, 0, 1]
    split.write_text("000001.jpg 0\n")
    with pytest.raises(DataFileError, match=r'"000002.jpg" has no line'):
        vision.celeba(labels, partition=split)
    for wrong, message in (
        (CELEBA.replace("3\n", "4\n", 1), "says 4 images, found 3"),
        (CELEBA.replace("-1  1 -1", "-1  1"), "line 4 must be a file name and 3 times -1 or 1"),
        (CELEBA.split("\n", 1)[1], "the first line must be the number of images"),
        (CELEBA.replace("Male", "Man"), 'no attribute "Male"'),
    ):
        labels.write_text(wrong)
        with pytest.raises(DataFileError, match=message):
            vision.celeba(labels)


def test_imsitu(tmp_path: Path) -> None:
    man, woman, dog = "n10287213", "n10787470", "n02084071"

    def image(verb: str, *agents: str) -> dict[str, Any]:
        frames = [{"agent": agent, "place": "n04105893"} for agent in agents]
        return {"frames": frames, "verb": verb}

    (tmp_path / "dev.json").write_text(
        json.dumps(
            {
                "clinging_250.jpg": image("clinging", man, man, dog),
                "cooking_1.jpg": image("cooking", woman, woman, woman),
                "cooking_2.jpg": image("cooking", woman, man, man),
                "barking_3.jpg": image("barking", dog, dog, dog),
                "raining_4.jpg": {"frames": [{"place": "n04105893"}], "verb": "raining"},
            }
        )
    )
    table = vision.imsitu(tmp_path / "dev.json")
    assert table.to_numpy().tolist() == [
        ["clinging_250.jpg", "dev", "man", "clinging"],
        ["cooking_1.jpg", "dev", "woman", "cooking"],
    ]
    (tmp_path / "dev.json").write_text('{"a.jpg": {"frames": []}}')
    with pytest.raises(DataFileError, match=r'the image "a.jpg" has no "verb"'):
        vision.imsitu(tmp_path / "dev.json")


@pytest.mark.parametrize(
    ("text", "published", "word"),
    [
        ("A MAN, walking.", "man", "man"),
        ("two boys run", "neither", "man"),
        ("a man and a lady", "both", "both"),
        ("a woman's hat", "neither", "neither"),
        ("a person", "neither", "neither"),
    ],
)
def test_the_gender_of_a_caption(text: str, published: str, word: str) -> None:
    assert gender_of([text]) == published
    assert gender_of([text], "word") == word


@pytest.mark.parametrize(
    ("text", "published", "word"),
    [
        ("a car", {"car"}, {"car"}),
        ("carrots", {"carrot"}, {"carrot"}),
        ("a carrot in a car", {"car", "carrot"}, {"car", "carrot"}),
        ("a hot-dog", {"hot dog"}, set()),
        ("hot dogs and a dog", {"hot dog", "dog"}, {"hot dog", "dog"}),
        ("tied to a bus stop", {"bus", "tie"}, {"bus"}),
        ("two buses", {"bus"}, {"bus"}),
    ],
)
def test_the_objects_of_a_caption(text: str, published: set[str], word: set[str]) -> None:
    names = ["car", "carrot", "dog", "hot dog", "bus", "tie"]
    for rule, expected in (("published", published), ("word", word)):
        result = object_finder(names, rule)(text)  # type: ignore[arg-type]
        named = {name for name, yes in zip(names, result, strict=True) if yes}
        assert named == expected, rule


def test_captions_and_the_way_to_amplify(
    coco_files: tuple[Path, Path], tmp_path: Path, command: Callable[..., Any]
) -> None:
    convert, amplify = command("convert", columns=80), command("amplify", columns=80)
    table, said = tmp_path / "coco.parquet", tmp_path / "said.json"
    assert convert("coco", *coco_files, table)[0] == 0
    said.write_text(
        json.dumps(
            [
                {"image_id": 25, "caption": "a woman with a tie"},
                {"image_id": 9, "caption": "a person at a dining table"},
            ]
        )
    )
    code, _, err = convert("captions", said, table, tmp_path / "all.csv", "--keep-unclear")
    assert code == 0
    assert "wrote 2 rows" in err
    actual = pd.read_csv(tmp_path / "all.csv")
    assert actual["gender_predicted"].tolist() == ["neither", "woman"]
    assert actual["predicted.dining table"].tolist() == [1, 0]
    assert len(vision.captions(said, table)) == 1
    words = ("-a", "gender", "-t", "object.*", "-p", "predicted.*", "--json")
    code, out, _ = amplify(tmp_path / "all.csv", *words)
    assert code == 0
    (row,) = json.loads(out)["rows"]
    assert row["tasks"] == ["object.dining table", "object.tie"]
    assert row["value"] == -1.0  # everything the wrong way about
    result = lmprobe.amplify(
        actual, attribute="gender", task="object.*", task_prediction="predicted.*"
    )
    assert result.row("A->T").value == -1.0


def test_what_convert_refuses(
    coco_files: tuple[Path, Path], tmp_path: Path, command: Callable[..., Any]
) -> None:
    run = command("convert", columns=80)
    code, _, err = run("coco", coco_files[0], tmp_path / "a.parquet")
    assert code == 2
    assert "coco needs instances, captions, then the table to write; found 1 source" in err
    code, _, err = run("cocoa", *coco_files, tmp_path / "a.parquet")
    assert code == 2
    assert 'no data set "cocoa"; did you mean "coco"?' in err
    code, _, err = run("coco", *coco_files, tmp_path / "a.xlsx")
    assert code == 2
    assert f"must end in {', '.join(SUFFIXES)}" in err
    assert not (tmp_path / "a.xlsx").exists()
    with pytest.raises(InputError, match='no rule "words"; did you mean "word"'):
        vision.coco(*coco_files, rule="words")  # type: ignore[arg-type]
