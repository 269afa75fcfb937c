"""Data files that come with lmprobe are found by name or path."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.errors import DataFileError
from lmprobe.io import resources


def test_shipped_files_are_found_by_name() -> None:
    assert "fitbert" in resources.names("templates", ".toml")
    assert resources.find("fitbert", "templates", ".toml").is_file()


def test_a_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.touch()
    assert resources.find(own, "templates", ".toml") == own
    monkeypatch.chdir(tmp_path)
    assert resources.find("own.toml", "templates", ".toml") == Path("own.toml")
    with pytest.raises(DataFileError, match=r"other.toml: no such file"):
        resources.find("other.toml", "templates", ".toml")


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(
        DataFileError, match='no template set called "fitbrt"; did you mean "fitbert"'
    ):
        resources.find("fitbrt", "templates", ".toml")


def test_the_copy_in_a_wheel_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "lmprobe")
    with pytest.raises(DataFileError, match="install lmprobe again"):
        resources.folder("templates")
    (tmp_path / "templates").mkdir()
    assert resources.folder("templates") == tmp_path / "templates"
    inside = tmp_path / "lmprobe" / "_data" / "templates"
    inside.mkdir(parents=True)
    assert resources.folder("templates") == inside
