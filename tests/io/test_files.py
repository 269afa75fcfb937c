"""Files are written whole or not at all; the data files of lmprobe are found by name or path."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.files import (
    find_shipped,
    remove_leftovers,
    replacing,
    shipped_names,
    write_bytes,
    write_text,
    write_texts,
)


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = write_text(tmp_path / "new" / "a.txt", "old")

    def fail() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_a_success_replaces_it(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a", b"old")
    write_text(path, "né")
    assert path.read_bytes() == "né".encode()
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "a file, not a folder")
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "a" / "b", "")


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / ".old.json.abc.lmprobe-tmp"
    left.write_text("half")
    mine = tmp_path / ".mine.tmp"
    mine.write_text("not a temporary file of lmprobe")
    with replacing(tmp_path / "a") as temporary:
        assert not left.exists()
        # A writer that is alive keeps its file.
        write_text(tmp_path / "b", "other")
        assert remove_leftovers(tmp_path) == []
        assert temporary.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "a", "b"]
    left.write_text("half")
    assert remove_leftovers(tmp_path) == [4]
    assert remove_leftovers(tmp_path / "missing") == []


def test_files_of_one_step_are_written_all_or_none(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(InputError, match="cannot write"):
        write_texts({tmp_path / "a": "new", tmp_path / "a" / "no": "folder"})
    assert (tmp_path / "a").read_text() == "old"
    write_texts({tmp_path / "a": "new", tmp_path / "c": "too"})
    assert (tmp_path / "a").read_text() + (tmp_path / "c").read_text() == "newtoo"


def test_a_name_means_a_shipped_file() -> None:
    assert "fitbert" in shipped_names("templates", ".toml")
    assert find_shipped("fitbert", "templates", ".toml").is_file()
    with pytest.raises(DataFileError, match='called "fitbrt"; did you mean "fitbert"'):
        find_shipped("fitbrt", "templates", ".toml")


def test_a_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.touch()
    assert find_shipped(own, "templates", ".toml") == own
    monkeypatch.chdir(tmp_path)
    assert find_shipped("own.toml", "templates", ".toml") == Path("own.toml")
    with pytest.raises(DataFileError, match=r"other.toml: no such file"):
        find_shipped("other.toml", "templates", ".toml")
