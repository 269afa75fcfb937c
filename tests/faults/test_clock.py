"""A clock that jumps: what was computed does not depend on what time it is."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest

from lmprobe.models import cache
from lmprobe.models.cache import file_hash
from lmprobe.sources.counting.corpus import plan
from lmprobe.sources.counting.count import count, count_words


def test_a_count_whose_clock_jumps_back_and_forth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("She is a nurse. He is a cook.\n" * 50)
    words = count_words(attributes=None, tasks=["nurse", "cook"])
    jumps = itertools.cycle([0.0, 4e9, -4e9, 86_400.0])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    result = count(plan(path, part=200), words, checkpoint=tmp_path / "state.json")
    assert result.counts.tolist() == [[0, 50], [50, 0]]
    assert result.seconds >= 0


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMPROBE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_entry_of_the_cache_from_another_time(cached: Path) -> None:
    entry = cache.CacheEntry("tiny", {"a": (1.0,)})
    cache.write("ab" * 32, entry)
    (path,) = cached.rglob("*.json")
    for when in (0.0, 4e9):
        os.utime(path, (when, when))
        assert cache.read("ab" * 32) == entry


def test_weights_that_changed_in_the_same_moment(cached: Path, tmp_path: Path) -> None:
    """A copy sets the time of change; other weights of the same size are still noticed."""
    path = tmp_path / "weights"
    # The hash of a file of this size is remembered.
    path.write_bytes(b"old" * 2_000_000)
    before = path.stat()
    first = file_hash(path)
    assert list(cached.rglob("*.json"))
    assert file_hash(path) == first
    path.write_bytes(b"new" * 2_000_000)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file_hash(path) != first
