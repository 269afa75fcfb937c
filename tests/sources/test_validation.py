"""`validate` tells what a file is by its ending and its keys, and lists every mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.io.files import Problem
from lmprobe.sources.validation import CheckedFile, shipped_files, validate_files

FILES = {
    "set.toml": ('name = "x"\nsentences = ["{who} is a {what}."]\n', "template set"),
    "slots.toml": ('[slots]\nwho = ["he"]\n', "template set"),
    "words.toml": ('name = "w"\ndescription = "d"\nsource = "s"\nentries = ["x"]\n', "lexicon"),
    "bad.toml": ("title = ", "unreadable"),
    "about.toml": ('title = "t"\n', "about base rates"),
    "about.csv": ("task,he,she\nnurse,1,9\n", "base rates"),
    "broken.csv": ("task,he,she\nnurse,x,y\n", "base rates"),
    "other.toml": ('title = "t"\n', "unknown"),
    "notes.txt": ("hello", "unknown"),
}


def test_the_kind_and_the_mistakes_of_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, (text, _) in FILES.items():
        Path(name).write_text(text)
    actual = {str(file.path): file for file in validate_files([*FILES, "none.csv"])}
    kinds = {name: kind for name, (_, kind) in FILES.items()} | {"none.csv": "missing"}
    assert {name: file.kind for name, file in actual.items()} == kinds
    sound = [name for name, file in actual.items() if not file.mistakes]
    assert sound == ["words.toml", "about.toml", "about.csv"]
    assert actual["broken.csv"].mistakes == 2
    (folder,) = validate_files([tmp_path])
    assert folder.problems[0].message == "is a folder; name the files in it"
    assert "is neither a .toml" in actual["notes.txt"].problems[0].message
    assert "has neither sentences" in actual["other.toml"].problems[0].message
    assert any("sentences" in str(problem) for problem in actual["slots.toml"].problems)


def test_a_warning_is_no_mistake() -> None:
    path = Path("x.toml")
    problems = (Problem(path, "a", "wrong", 3), Problem(path, "b", "odd", 4, warning=True))
    checked = CheckedFile(path, "template set", problems)
    assert checked.mistakes == 1


def test_shipped_files_are_sets_lexicons_and_tables_without_a_mistake() -> None:
    kinds = [(path.parent.name, path.suffix) for path in shipped_files()]
    assert list(dict.fromkeys(kinds)) == [
        ("templates", ".toml"), ("lexicons", ".toml"), ("base_rates", ".csv"),
    ]  # fmt: skip
    assert sum(file.mistakes for file in validate_files()) == 0
