"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmprobe.atomic import replacing, write_bytes, write_text
from lmprobe.errors import InputError


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
