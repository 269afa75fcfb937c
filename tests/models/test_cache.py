"""The cache: whole files only, damage noticed, nothing outside it touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lmprobe.io.files import cache_folder
from lmprobe.models import cache
from lmprobe.probing.probe import probe
from tests.checkpoints import own_cache

__all__ = ["own_cache"]

KEY = "ab" * 32
ENTRY = cache.CacheEntry("tiny", {"log_probability": (-1.5, -0.1), "pieces": (1, 2)})


def test_what_was_filed_is_read_back(own_cache: Path) -> None:
    assert cache.read(KEY) is None
    cache.write(KEY, ENTRY)
    assert cache.read(KEY) == ENTRY
    with_prior = cache.CacheEntry("tiny", {"a": (0.1 + 0.2,), "b": (-1e-300,)}, threads=2)
    cache.write(KEY, with_prior)
    assert cache.read(KEY) == with_prior
    assert [path.name for path in own_cache.rglob("*") if path.is_file()] == [f"{KEY}.json"]


def test_damage_is_noticed(own_cache: Path) -> None:
    cache.write(KEY, ENTRY)
    (path,) = own_cache.rglob("*.json")
    whole = path.read_text()
    for text in ("", whole[:-5], whole.replace("-1.5", "-1.6"), "[]", "{}", "null", "\x00"):
        path.write_text(text)
        assert cache.read(KEY) is None, text
    path.write_bytes(b"\xff\xfe")
    assert cache.read(KEY) is None
    cache.write("ef" * 32, ENTRY)
    path.write_bytes(next(own_cache.rglob("efef*.json")).read_bytes())
    assert cache.read(KEY) is None, "whole, but the answer to another question"
    path.write_text(whole)
    assert cache.read(KEY) == ENTRY


def test_processes_may_share_the_folder(own_cache: Path) -> None:
    """While two others overwrite an entry again and again, what is read is always whole."""
    cache.write(KEY, ENTRY)
    program = (
        "import sys; from lmprobe.models import cache\n"
        "for n in range(100):\n"
        "    row = tuple(n + k / 7 for k in range(500))\n"
        f"    cache.write({KEY!r}, cache.CacheEntry(sys.argv[1], {{'row': row}}))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, name]) for name in "ab"]
    while any(writer.poll() is None for writer in writers):
        assert cache.read(KEY) is not None
    assert [writer.returncode for writer in writers] == [0, 0]
    entry = cache.read(KEY)
    assert entry is not None
    assert entry.model in ("a", "b")
    assert len([path for path in own_cache.rglob("*") if path.is_file()]) == 1


def test_contents_and_clear(own_cache: Path) -> None:
    cache.write(KEY, ENTRY)
    cache.write("cd" * 32, ENTRY)
    (own_cache / "scores" / "ab" / ".entry.json.x1.lmprobe-tmp").write_text("half")
    (own_cache / "mine.txt").write_text("not the cache's")
    (own_cache / "scores" / "cd" / f"{'cd' * 32}.json").write_text("damaged")
    assert [entry for _, entry in cache.contents()] == [ENTRY, None]
    files, size = cache.clear()
    assert files == 3
    assert size > 0
    assert cache.contents() == []
    assert [path.name for path in own_cache.rglob("*") if path.is_file()] == ["mine.txt"]
    assert cache.clear() == (0, 0)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a warning: the answers are there, and the run goes on."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMPROBE_CACHE", str(tmp_path / "file"))
    options: dict[str, Any] = {"tasks": ["nurse", "cook"]}
    with pytest.warns(cache.CacheWarning, match=r"set LMPROBE_CACHE to a folder .*--no-cache"):
        result = probe("reference:amplified", **options)
    expected = probe("reference:amplified", **options, cache=False)
    assert [row.value for row in result.rows] == [row.value for row in expected.rows]


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of another platform")
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMPROBE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/lmprobe")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "lmprobe"


@pytest.mark.filterwarnings("always::lmprobe.models.cache.CacheWarning")
def test_the_command_goes_on_and_warns_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Callable[..., Any]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMPROBE_CACHE", str(tmp_path / "file"))
    words = ("reference:amplified", "reference:faithful", "--task", "nurse,cook")
    code, out, err = command("compare")(*words)
    assert code == 0
    assert "reference:faithful" in out
    assert err.count("the scores cannot be kept") == 1
