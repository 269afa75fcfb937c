"""Names, paths and objects become sources; packages add their own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import base_rates_folder
from lmprobe.metrics.association import Association
from lmprobe.sources import align_base_rates, describe, load_base_rates, names
from lmprobe.sources.csv_file import write_table
from lmprobe.sources.load import find_source
from lmprobe.sources.source import PROVENANCE, Uniform, sources, table_of
from lmprobe.templates import load_templates

HE_SHE = ["he", "she"]
CSV = "task,he,she\nnurse,1,9\n"


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of one's own tables; the working folder beside it is empty."""
    folder = tmp_path / "own"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(folder))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


@pytest.mark.parametrize("name", sorted(set(names()) - {"corpus"}))
def test_promises_of_every_source(name: str) -> None:
    source = load_base_rates(name)
    assert source.name == name
    tasks = getattr(source, "tasks", ("nurse", "cook"))
    groups = getattr(source, "attributes", tuple(HE_SHE))[:2]
    result = source.association(groups, tuple(tasks))
    assert (result.attributes, result.tasks) == (groups, tuple(tasks))
    turned = source.association(groups[::-1], tuple(reversed(tasks)))
    assert turned.joint == pytest.approx(result.joint[::-1, ::-1])
    assert result.joint.sum() == pytest.approx(1)
    assert set(source.provenance) | {"series"} == set(PROVENANCE)
    assert all(source.provenance[key] for key in ("title", "source", "licence", "unit", "method"))
    assert (source.provenance["sha256"] is None) == (name in sources.names())


def test_uniform_names_where_its_lean_comes_from() -> None:
    lean_source = load_base_rates("uniform").lean_source  # type: ignore[attr-defined]
    assert load_base_rates(lean_source).name == "winobias-majority"


def test_a_path_a_frame_and_an_association_are_sources(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("task,he,she\nnurse,1,9\ncook,6,4\n")
    frame = pd.read_csv(path)
    counted = Association.from_counts([[1, 6], [9, 4]], HE_SHE, ["nurse", "cook"])
    for given in (path, str(path), frame, frame.set_index("task"), counted):
        result = load_base_rates(given)
        assert result.association(["she", "he"], ["cook"]).joint.tolist() == [[0.4], [0.6]]
        assert len(result.provenance["sha256"]) == 64
    shares = Association.from_conditional([[0.25, 0.5], [0.75, 0.5]], HE_SHE, ["a", "b"])
    assert load_base_rates(shares).counts.tolist() == [[0.125, 0.25], [0.375, 0.25]]  # type: ignore[attr-defined]
    composed = load_base_rates(pd.DataFrame({"task": ["bie\u0300re"], "il": [0], "elle": [0.5]}))
    assert composed.tasks == ("bi\u00e8re",)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"task": ["a", "a"], "he": [1, 2], "she": [1, 2]}, 'task "a" appears twice'),
        ({"task": ["a", "b"], "he": [1, -1.0], "she": [1, 2]}, 'task "b", column "he": found -1.0'),
        ({"task": ["a"], "he": [None], "she": [1]}, "found nan"),
        ({"task": ["a"], "he": ["x"], "she": [1]}, "must hold numbers"),
        ({"task": ["a"], "he": [1]}, "found 1 attribute columns"),
        ({"task": ["a", None], "he": [1, 1], "she": [1, 1]}, "found 2 rows; each must name a task"),
    ],
)
def test_frames_that_are_no_table(frame: dict[Any, list[object]], message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        load_base_rates(pd.DataFrame(frame))


def test_what_is_no_source_is_refused() -> None:
    class NoName:
        provenance: Any = None

        def association(self, attributes: Any, tasks: Any) -> None: ...

    for thing in (7, None, ["labor"], Uniform, NoName()):
        with pytest.raises(InputError, match="must be a name, a path, a DataFrame or an object"):
            load_base_rates(thing)
    with pytest.raises(DataFileError, match=r'did you mean "labor".*or give the path'):
        load_base_rates("labour")
    frame = pd.DataFrame({"job": ["nurse", "cook"], "he": [1, 2], "she": [2, 3]})
    with pytest.raises(DataFileError, match="no column is called task"):
        load_base_rates(frame)


def test_a_folder_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rates").mkdir()
    with pytest.raises(DataFileError, match=r"^rates is a folder; give the \.csv file in it"):
        load_base_rates("rates")
    with pytest.raises(DataFileError, match=r"^rates is a folder; give the \.toml file in it"):
        load_templates("rates")
    Path("rates.csv").mkdir()
    with pytest.raises(DataFileError, match=r"^rates\.csv is a folder; give the \.csv file in it"):
        load_base_rates("rates.csv")
    for load in (load_base_rates, load_templates):
        with pytest.raises(DataFileError, match='called ""; Known: '):
            load("")  # type: ignore[operator]
        with pytest.raises(DataFileError, match="is taken for one name; give each by itself"):
            load("labor,uniform")  # type: ignore[operator]


def test_what_has_a_slash_or_ends_in_csv_is_a_path(own: Path) -> None:
    (own / "sub" / "x.csv").write_text(CSV)
    (own / "y.csv.csv").write_text(CSV)
    for path in ("sub/x", "y.csv", "sub/x.csv"):
        with pytest.raises(DataFileError, match=f"^{path}: no such file"):
            find_source(path)
    Path("y.csv").write_text(CSV)
    assert find_source("y.csv").name == "y"
    Path("sub").mkdir()
    Path("sub/x").write_text(CSV)
    assert find_source("sub/x").name == "x"


def test_a_name_is_ones_own_table_then_code_then_shipped_then_a_file_here(own: Path) -> None:
    assert base_rates_folder() == own
    Path("plain").write_text(CSV)
    assert find_source("plain").name == "plain"
    assert isinstance(find_source("uniform"), Uniform)
    # A file here does not hide a name; a table of one's own does.
    Path("labor").write_text(CSV)
    assert len(find_source("labor").tasks) == 32  # type: ignore[attr-defined]
    mine = table_of("mine", [[5], [5]], HE_SHE, ["nurse"], provenance={"title": "Mine"})
    for name in ("labor", "uniform"):
        write_table(mine, own / f"{name}.csv")
        assert find_source(name).provenance["title"] == "Mine"


def test_every_source_is_described_with_the_same_keys(own: Path) -> None:
    (own / "mine.csv").write_text(CSV)
    (own / "broken.csv").write_text("task\n")
    rows = {row["name"]: row for row in describe()}
    assert set(rows) == set(names())
    keys = {"name", *PROVENANCE, "tasks", "attributes", "units", "file", "problem"}
    assert all(set(row) == keys for row in rows.values())
    selected = ("tasks", "attributes", "title", "file", "problem")
    assert [rows["mine"][key] for key in selected] == [
        1, HE_SHE, "mine.csv", str(own / "mine.csv"), None,
    ]  # fmt: skip
    assert "found 0 attribute columns" in rows["broken"]["problem"]
    assert rows["broken"]["tasks"] is None
    assert (rows["labor"]["tasks"], rows["labor"]["file"]) == (32, None)


def test_corpus_is_what_lies_beside_the_model(tmp_path: Path) -> None:
    path = tmp_path / "corpus_counts.csv"
    path.write_text("task,he,she,they\ncook,1,2,1\n")
    path.with_suffix(".toml").write_text('title = "other"\ncounts = true\n')
    model = SimpleNamespace(name="m", folder=tmp_path)
    source: Any = load_base_rates("corpus", model=model)
    assert (source.name, source.provenance["title"]) == ("corpus", "What the model was trained on")
    assert source.association(["he", "they"], ["cook"]).joint.tolist() == [[0.5], [0.5]]
    # It is all there was, whatever lies beside it: neither a sample nor taken as exact.
    assert (source.sampling, source.complete) == (None, True)
    assert not align_base_rates(source, HE_SHE, ["cook"]).taken_as_exact


def test_a_model_without_counts_is_a_clear_error(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        model = SimpleNamespace(name="bert", folder=folder)
        with pytest.raises(InputError, match=r'"bert" comes without corpus_counts\.csv'):
            load_base_rates("corpus", model=model)
    with pytest.raises(InputError, match="only together with a model"):
        load_base_rates("corpus")
    with pytest.raises(InputError, match="only together with a model"):
        find_source("corpus").association(HE_SHE, ["cook"])


PLUGIN = """
from lmprobe.metrics.association import Association

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
    result = align_base_rates(load_base_rates("census"), HE_SHE, ["nurse", "pilot"])
    assert result.association.attribute_given_task.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert next(row for row in describe() if row["name"] == "census")["title"] == "A census"
