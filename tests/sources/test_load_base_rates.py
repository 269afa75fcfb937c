"""Names, paths and objects become sources; packages add their own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from lmprobe.core.association import Association
from lmprobe.errors import DataFileError, InputError
from lmprobe.io.folders import base_rates_folder
from lmprobe.sources import align_base_rates, describe, load_base_rates, names
from lmprobe.sources.csv_file import write_table
from lmprobe.sources.table import table_of

HE_SHE = ["he", "she"]


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.mark.parametrize("name", sorted(set(names()) - {"corpus"}) or ["labor"])
def test_promises_of_every_source(name: str) -> None:
    source = load_base_rates(name)
    assert source.name == name
    tasks = getattr(source, "tasks", ("nurse", "cook"))
    groups = getattr(source, "attributes", tuple(HE_SHE))[:2]
    found = source.association(groups, tuple(tasks))
    assert (found.attributes, found.tasks) == (groups, tuple(tasks))
    turned = source.association(groups[::-1], tuple(reversed(tasks)))
    assert turned.joint == pytest.approx(found.joint[::-1, ::-1])
    assert found.joint.sum() == pytest.approx(1)
    assert {"title", "source", "licence", "sha256"} <= set(source.provenance)


def test_uniform_names_where_its_lean_comes_from() -> None:
    lean_source = load_base_rates("uniform").lean_source  # type: ignore[attr-defined]
    assert load_base_rates(lean_source).name == "winobias-majority"


def test_a_path_and_a_frame_and_an_association_are_sources(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("task,he,she\nnurse,1,9\ncook,6,4\n")
    frame = pd.read_csv(path)
    counted = Association.from_counts([[1, 6], [9, 4]], HE_SHE, ["nurse", "cook"])
    for given in (path, str(path), frame, frame.set_index("task"), counted):
        found = load_base_rates(given)
        assert found.association(["she", "he"], ["cook"]).joint.tolist() == [[0.4], [0.6]]
        assert len(found.provenance["sha256"]) == 64


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"task": ["a", "a"], "he": [1, 2], "she": [1, 2]}, 'task "a" appears twice'),
        ({"task": ["a"], "he": [-1.0], "she": [1]}, 'task "a", column "he": found -1.0'),
        ({"task": ["a"], "he": [None], "she": [1]}, "found nan"),
        ({"task": ["a"], "he": ["x"], "she": [1]}, "must hold numbers"),
        ({"task": ["a"], "he": [1]}, "found 1 attribute columns"),
        ({"task": [], "he": [], "she": []}, "found 0 rows; each must name a task"),
        ({"task": ["a", None], "he": [1, 1], "she": [1, 1]}, "found 2 rows; each must name a task"),
    ],
)
def test_frames_that_are_no_table(frame: dict[str, list[object]], message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load_base_rates(pd.DataFrame(frame))


def test_what_is_no_source_is_refused() -> None:
    for thing in (7, object(), ["labor"]):
        with pytest.raises(InputError, match="must be a name, a path, a DataFrame or an object"):
            load_base_rates(thing)
    with pytest.raises(DataFileError, match='did you mean "labor"'):
        load_base_rates("labour")
    with pytest.raises(DataFileError, match=r"nowhere/x\.csv: no such file"):
        load_base_rates("nowhere/x.csv")


def test_a_table_of_your_own_has_a_name_and_goes_first(own: Path) -> None:
    assert base_rates_folder() == own
    mine = table_of("wikipedia", [[5], [5]], HE_SHE, ["nurse"], provenance={"title": "Mine"})
    write_table(mine, own / "wikipedia.csv")
    write_table(mine, own / "other.csv")
    assert load_base_rates("wikipedia").provenance["title"] == "Mine"
    assert load_base_rates("other").name == "other"
    listed = {row["name"]: row for row in describe()}
    assert listed["other"]["file"] == str(own / "other.csv")
    assert listed["labor"]["file"] is None


def test_describe_tells_what_there_is() -> None:
    rows = {row["name"]: row for row in describe()}
    assert set(rows) == set(names())
    assert rows["labor"]["tasks"] == 32
    assert rows["labor"]["attributes"] == HE_SHE
    assert rows["uniform"]["tasks"] is None
    for row in rows.values():
        assert row["title"]
        assert row["licence"]


def test_corpus_is_what_lies_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "corpus_counts.csv").write_text("task,he,she,they\ncook,1,2,1\n")
    model = SimpleNamespace(name="m", folder=tmp_path)
    source = load_base_rates("corpus", model=model)
    assert source.name == "corpus"
    assert source.provenance["title"] == "What the model was trained on"
    assert source.provenance["sha256"]
    assert source.association(["he", "they"], ["cook"]).joint.tolist() == [[0.5], [0.5]]


@pytest.mark.parametrize("folder", [None, "empty"])
def test_a_model_without_counts_is_a_clear_error(tmp_path: Path, folder: str | None) -> None:
    model = SimpleNamespace(name="bert", folder=folder and tmp_path)
    with pytest.raises(InputError, match=r'"bert" comes without corpus_counts\.csv'):
        load_base_rates("corpus", model=model)
    with pytest.raises(InputError, match="only together with a model"):
        load_base_rates("corpus")


PLUGIN = """
from lmprobe.core.association import Association

class Census:
    name = "census"
    provenance = {"title": "A census", "licence": "CC0"}

    def association(self, attributes, tasks):
        return Association.from_counts([[2] * len(tasks)] * len(attributes), attributes, tasks)
"""


@pytest.mark.usefixtures("own_registries")
def test_an_installed_package_adds_a_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "census_rates-1.0.dist-info"
    info.mkdir()
    (tmp_path / "census_rates.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: census-rates\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lmprobe.sources]\ncensus = census_rates:Census\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "census" in names()
    found = align_base_rates(load_base_rates("census"), HE_SHE, ["nurse", "pilot"])
    assert found.association.attribute_given_task.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert next(row for row in describe() if row["name"] == "census")["title"] == "A census"
