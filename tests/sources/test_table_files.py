"""The two files of a table are written as one step, and what a killed writer left is completed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from lmprobe.errors import InputError
from lmprobe.sources import table_files
from lmprobe.sources.csv_file import read_table, write_table
from lmprobe.sources.table import Table, table_of
from lmprobe.sources.table_files import description_path, write_pair


def made(number: int, title: str = "new") -> Table:
    return table_of("t", [[number], [2]], ["he", "she"], ["cook"], provenance={"title": title})


def waiting(folder: Path, text: str, name: str = "t") -> Path:
    """The description that a writer of this text was killed with."""
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    path = folder / f".{name}.{sha256}.description"
    path.write_text('title = "waiting"\n')
    return path


def test_new_folders_are_made_and_old_ones_used(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "t.csv"
    for number in (1, 5):
        assert write_table(made(number), str(path)) == path
        assert read_table(path).counts.tolist() == [[number], [2]]
        assert sorted(one.name for one in path.parent.iterdir()) == ["t.csv", "t.toml"]


def test_the_description_that_waits_for_this_table_counts(tmp_path: Path) -> None:
    path = write_table(made(1, "old"), tmp_path / "t.csv")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert description_path(path, sha256) == tmp_path / "t.toml"
    beside = waiting(tmp_path, path.read_text())
    assert description_path(path, sha256) == beside
    assert read_table(path).provenance["title"] == "waiting"
    # One that waits for another table is about that one.
    assert description_path(path, "0" * 64) == tmp_path / "t.toml"


def test_the_next_writer_completes_the_pair_of_a_killed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the table was replaced: its description is put in place before all else."""
    path = write_table(made(1, "old"), tmp_path / "t.csv")
    waiting(tmp_path, path.read_text())

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(table_files, "write_text", full)
    with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
        write_table(made(2), path)
    assert read_table(path).provenance["title"] == "waiting"
    assert read_table(path).counts.tolist() == [[1], [2]]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["t.csv", "t.toml"]


def test_a_description_of_a_table_that_never_came_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    waiting(tmp_path, "never written")
    # Of another table, of no table, and a file of somebody else: left alone.
    others = [waiting(tmp_path, "x", "other"), tmp_path / ".t.note", tmp_path / ".t.0.description"]
    for one in others[1:]:
        one.write_text("mine")
    write_table(made(1), path)
    kept = {"t.csv", "t.toml", *(one.name for one in others)}
    assert {one.name for one in tmp_path.iterdir()} == kept
    assert read_table(path).provenance["title"] == "new"


def test_an_error_before_the_description_waits_is_told_as_it_is(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match=r"cannot write .*t\.csv: (Not a directory|File exists)"):
        write_pair(blocked / "t.csv", "x", "y", "0" * 64)
    folder = tmp_path / "t.csv"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_table(made(1), folder)
    assert not list(tmp_path.glob(".t.*"))
