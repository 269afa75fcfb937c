"""lmprobe cache shows what is kept and clears it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.models import cache


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMPROBE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["cache", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_empty_cache(folder: Path) -> None:
    assert "No scores are kept" in run()
    assert json.loads(run("ls", "--json")) == {"folder": str(folder), "models": []}


def test_see_and_clear(folder: Path) -> None:
    cache.write("ab" * 32, cache.CacheEntry("org/tiny", {"log_probability": (-1.0,)}))
    cache.write("ac" * 32, cache.CacheEntry("org/tiny", {"log_probability": (-2.0,)}))
    (folder / "scores" / "ab" / f"{'ad' * 32}.json").write_text("{")
    rows = json.loads(run("--json"))["models"]
    assert [(row["model"], row["templates"]) for row in rows] == [("(damaged)", 1), ("org/tiny", 2)]
    assert "org/tiny" in run()
    assert json.loads(run("clear", "--json"))["removed"] == 3
    assert json.loads(run("--json"))["models"] == []
