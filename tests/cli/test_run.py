"""What `lmprobe run` says at its end: where the files lie, and commands that work."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmprobe.cli.main import app
from lmprobe.cli.run import _leave
from lmprobe.result import ProbeResult


@pytest.mark.parametrize("base", ["labor", "our town's; rm"])
def test_the_gate_it_proposes_works(
    base: str, made: Callable[..., ProbeResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = _leave(made(bases=("uniform", base)), Path("out"))
    told = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert all(len(line) <= 80 for line in lines)
    assert Path(told["report"].split()[0]).is_file()
    program, *words = shlex.split(told["gate"])
    assert program == "lmprobe"
    assert CliRunner().invoke(app, words).exit_code in (0, 1, 3)


def test_python_finds_the_command_line_where_the_shell_does_not() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lmprobe", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("lmprobe ")
