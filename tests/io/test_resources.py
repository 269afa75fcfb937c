"""Data files that come with lmprobe are found by name or path."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.errors import DataFileError
from lmprobe.io import resources


def test_a_name_means_a_shipped_file() -> None:
    assert "fitbert" in resources.names("templates", ".toml")
    assert resources.find("fitbert", "templates", ".toml").is_file()
    with pytest.raises(DataFileError, match='called "fitbrt"; did you mean "fitbert"'):
        resources.find("fitbrt", "templates", ".toml")


def test_a_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.toml"
    own.touch()
    assert resources.find(own, "templates", ".toml") == own
    monkeypatch.chdir(tmp_path)
    assert resources.find("own.toml", "templates", ".toml") == Path("own.toml")
    with pytest.raises(DataFileError, match=r"other.toml: no such file"):
        resources.find("other.toml", "templates", ".toml")
