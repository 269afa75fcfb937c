"""Which table a name or a path means, and what is listed of each source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.problems import Problem
from lmprobe.sources import describe, load_base_rates
from lmprobe.sources.load import find_source
from lmprobe.sources.source import PROVENANCE
from lmprobe.sources.uniform import Uniform
from lmprobe.sources.validation import CheckedFile, shipped_files, validate_files

CSV = "task,he,she\nnurse,1,9\n"


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of one's own tables, and an empty working folder beside it."""
    folder = tmp_path / "own"
    (folder / "sub").mkdir(parents=True)
    monkeypatch.setenv("LMPROBE_BASE_RATES", str(folder))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


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
    Path("plain").write_text(CSV)
    assert find_source("plain").name == "plain"
    assert isinstance(find_source("uniform"), Uniform)
    assert len(find_source("labor").tasks) == 32  # type: ignore[attr-defined]
    # A file here does not hide a name; a table of one's own does.
    Path("labor").write_text(CSV)
    assert len(find_source("labor").tasks) == 32  # type: ignore[attr-defined]
    for name in ("labor", "uniform"):
        (own / f"{name}.csv").write_text(CSV)
        assert find_source(name).tasks == ("nurse",)  # type: ignore[attr-defined]
    with pytest.raises(DataFileError, match=r'no base rates called "plane"; .*or give the path'):
        find_source("plane")


def test_a_class_in_place_of_an_object_is_refused() -> None:
    class NoName:
        provenance: Any = None

        def association(self, attributes: Any, tasks: Any) -> None: ...

    for wrong in (Uniform, NoName, NoName(), None):
        with pytest.raises(InputError, match="base rates must be a name, a path, a DataFrame"):
            load_base_rates(wrong)
    uniform = Uniform()
    assert load_base_rates(uniform) is uniform


def test_every_source_is_described_with_the_same_keys(own: Path) -> None:
    (own / "mine.csv").write_text(CSV)
    (own / "broken.csv").write_text("task\n")
    rows = {row["name"]: row for row in describe()}
    keys = {"name", *PROVENANCE, "tasks", "attributes", "file", "problem"}
    assert all(set(row) == keys for row in rows.values())
    mine, broken, even = rows["mine"], rows["broken"], rows["uniform"]
    assert (mine["tasks"], mine["attributes"]) == (1, ["he", "she"])
    assert (mine["title"], mine["file"]) == ("mine.csv", str(own / "mine.csv"))
    assert mine["problem"] is None
    assert "found 0 attribute columns" in broken["problem"]
    assert {broken[key] for key in (*PROVENANCE, "tasks", "attributes")} == {None}
    assert (even["tasks"], even["attributes"], even["file"]) == (None, None, None)


def test_mistakes_of_a_file_are_those_that_are_no_warnings() -> None:
    path = Path("x.toml")
    problems = (
        Problem(path, "a", "wrong", 3),
        Problem(path, "b", "odd", 4, warning=True),
        Problem(path, "c", "wrong too"),
    )
    checked = CheckedFile(path, "template set", problems)
    assert checked.mistakes == 2
    assert CheckedFile(path, "lexicon").mistakes == 0
    document = checked.to_dict()
    assert (document["file"], document["kind"]) == ("x.toml", "template set")
    assert document["problems"][1] == {
        "file": "x.toml", "line": 4, "key": "b", "message": "odd", "warning": True,
    }  # fmt: skip


def test_what_a_file_is_told_by_its_ending_and_its_keys() -> None:
    texts = {
        "set.toml": 'name = "x"\nsentences = ["{who} is a {what}."]\n',
        "slots.toml": '[slots]\nwho = ["he"]\n',
        "words.toml": 'name = "w"\ndescription = "d"\nsource = "s"\nentries = ["x"]\n',
        "bad.toml": "title = ",
        "about.toml": 'title = "t"\n',
        "about.csv": CSV,
        "other.toml": 'title = "t"\n',
        "notes.txt": "hello",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    found = {str(one.path): one for one in validate_files([*texts, "none.csv"])}
    assert {name: one.kind for name, one in found.items()} == {
        "set.toml": "template set",
        "slots.toml": "template set",
        "words.toml": "lexicon",
        "bad.toml": "unreadable",
        "about.toml": "about base rates",
        "about.csv": "base rates",
        "other.toml": "unknown",
        "notes.txt": "unknown",
        "none.csv": "missing",
    }
    assert [name for name, one in found.items() if not one.mistakes] == [
        "words.toml", "about.toml", "about.csv",
    ]  # fmt: skip
    assert "is neither a .toml" in found["notes.txt"].problems[0].message
    assert "has neither sentences" in found["other.toml"].problems[0].message
    assert any("sentences" in str(one) for one in found["slots.toml"].problems)
    assert validate_files([]) == ()


def test_shipped_files_are_sets_then_lexicons_then_tables() -> None:
    files = shipped_files()
    kinds = [(path.parent.name, path.suffix) for path in files]
    assert list(dict.fromkeys(kinds)) == [
        ("templates", ".toml"), ("lexicons", ".toml"), ("base_rates", ".csv"),
    ]  # fmt: skip
    assert len(files) == len(set(files))
