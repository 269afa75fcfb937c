"""Starting the command line and importing the package load little."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "datasets", "tokenizers", "safetensors", "scipy", "duckdb"}

# The help of a typer program with one command, with the rich formatting that lmprobe uses too.
BARE = """
import typer
app = typer.Typer()

@app.command()
def run(count: int = 1) -> None:
    "Run."
"""
OURS = "from lmprobe.cli.main import app"
HELP = "from typer.testing import CliRunner\nCliRunner().invoke(app, ['--help'])"


def modules_after(code: str) -> set[str]:
    program = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("code", ["import lmprobe", "import lmprobe.metrics.directional"])
def test_an_import_loads_nothing_heavy(code: str) -> None:
    assert modules_after(code) & HEAVY == set()


def test_help_loads_no_package_that_a_bare_typer_program_does_not() -> None:
    ours = modules_after(f"{OURS}\n{HELP}")
    packages = {name.partition(".")[0] for name in ours - modules_after(f"{BARE}\n{HELP}")}
    assert packages - set(sys.stdlib_module_names) == {"lmprobe"}
    # A command's module is loaded when it is called.
    assert sum(name.startswith("lmprobe") for name in ours) <= 10
