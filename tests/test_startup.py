"""The command line starts about as fast as typer itself."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

BARE = """
import typer
app = typer.Typer()

@app.callback()
def top() -> None:
    "Help."

for name in ("one", "two", "three"):
    app.command(name)(lambda count: None)
app()
"""


def fastest(*command: str | Path) -> float:
    """Return the least of several times: the one that other processes disturbed least."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *map(str, command), "--help"], check=True, capture_output=True
        )
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.slow
def test_help_is_not_twice_as_slow_as_a_bare_typer_command(tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text(BARE)
    ours = tmp_path / "ours.py"
    ours.write_text("from lmprobe.cli.main import main\nmain()\n")
    assert fastest(ours) < 2 * fastest(bare)
