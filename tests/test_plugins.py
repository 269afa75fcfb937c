"""`lmprobe.plugins` names everything an extension needs, and every registry is listed in it."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmprobe import plugins, registry
from lmprobe.cli.main import app, main

ROOT = Path(__file__).parents[1] / "lmprobe"


@pytest.mark.parametrize("name", plugins.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(plugins, name) is not None


def test_every_registry_of_the_package_is_listed() -> None:
    """Wherever `Registry(` is called in the package, `plugins` knows of it."""
    made = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Registry":
                kind = node.args[0]
                assert isinstance(kind, ast.Constant)
                made.add(kind.value)
    assert made == {*plugins.REGISTRIES}


def test_ls_lists_every_registry_with_a_description() -> None:
    listed = json.loads(CliRunner().invoke(app, ["ls", "--json"]).stdout)
    for kind in plugins.REGISTRIES:
        rows = {row["name"]: row["description"] for row in listed[kind]}
        assert tuple(rows) == plugins.registry(kind).names()
        assert all(rows.values()), kind


def test_ls_shows_a_plug_in_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_plugin:thing", "lmprobe.attackers")
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [broken] if group == broken.group else []
    )
    done = CliRunner().invoke(app, ["ls", "attackers"])
    assert done.exit_code == 0
    assert 'broken    attackers: "broken" of the package no_such_plugin cannot be' in done.stdout


def test_importing_it_is_light() -> None:
    program = "import lmprobe.plugins, sys; print({'numpy', 'torch', 'rich'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


@pytest.fixture
def command_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package with a command, the way that pip would leave it; return its module."""
    module = tmp_path / "lmprobe_weather.py"
    module.write_text(
        "import typer\n\ndef command(city: str, warm: bool = False) -> None:\n"
        '    """Say what the weather is."""\n    typer.echo(f"{city} {1 / warm}")\n'
    )
    facts = tmp_path / "weather_for_lmprobe-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: weather-for-lmprobe\n")
    entries = "weather = lmprobe_weather:command\nrun = lmprobe_weather:command\n"
    (facts / "entry_points.txt").write_text(f"[lmprobe.commands]\n{entries}")
    monkeypatch.syspath_prepend(tmp_path)
    yield module
    sys.modules.pop("lmprobe_weather", None)


def run_main(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["lmprobe", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_package_adds_a_command(
    command_of_a_package: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_main(monkeypatch, "weather", "Turku", "--warm") == 0
    assert capsys.readouterr().out == "Turku 1.0\n"
    sys.modules.pop("lmprobe_weather")
    assert run_main(monkeypatch, "--help") == 0
    listed = capsys.readouterr().out
    assert "\nCommands of packages\n  weather    From the package weather-for-lmprobe.\n" in listed
    assert "lmprobe_weather" not in sys.modules
    # A command of lmprobe's own cannot be taken over.
    assert listed.count("From the package") == 1
    assert run_main(monkeypatch, "weather", "--help") == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: lmprobe weather [OPTIONS] CITY\n\nSay what the weather is.\n")
    assert "\nOptions\n      --warm, --no-warm" in text


def test_a_command_of_a_package_that_fails_is_one_line(
    command_of_a_package: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_main(monkeypatch, "weather", "Turku") == 2
    said = capsys.readouterr().err
    assert said.startswith("lmprobe: the plug-in weather-for-lmprobe failed in lmprobe_weather, l")
    assert "ZeroDivisionError" in said
    assert said.count("\n") == 1
    sys.modules.pop("lmprobe_weather")
    command_of_a_package.write_text("raise RuntimeError('out of order')\n")
    importlib.invalidate_caches()
    assert run_main(monkeypatch, "weather", "Turku") == 2
    assert "cannot be loaded (RuntimeError: out of order)" in capsys.readouterr().err
