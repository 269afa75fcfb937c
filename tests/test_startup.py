"""Starting the command line and importing the package load little."""

from __future__ import annotations

import subprocess
import sys

import pytest

import lmprobe
from tests.checkpoints import own_cache

__all__ = ["own_cache"]

HEAVY = {"torch", "transformers", "datasets", "tokenizers", "safetensors", "scipy", "duckdb"}

# What a probe needs none of if its answers are in the cache; inflect would load typeguard.
NOT_FOR_CACHED_ANSWERS = HEAVY - {"safetensors", "scipy"} | {
    *("scipy.stats", "scipy.optimize", "pandas", "pyarrow", "huggingface_hub", "jinja2"),
    *("lmprobe.sweeping", "lmprobe.report", "lmprobe.leakage", "lmprobe.tabular", "typeguard"),
}

# The help of a typer program with one command, with the rich formatting that lmprobe uses too.
BARE = """
import typer
app = typer.Typer()

@app.command()
def run(count: int = 1) -> None:
    "Run."
"""
OURS = "from lmprobe.cli.main import app"


def modules_after(code: str, *words: str) -> set[str]:
    """Return the modules that are loaded after the code, and a call of its `app` with words."""
    call = f"from typer.testing import CliRunner; print(CliRunner().invoke(app, {words}).exit_code)"
    program = f"{code}\n{call if words else 'print(0)'}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    status, modules = done.stdout.splitlines()
    assert status == "0"
    return set(modules.split())


@pytest.mark.parametrize("code", ["import lmprobe", "import lmprobe.metrics.directional"])
def test_an_import_loads_nothing_heavy(code: str) -> None:
    assert modules_after(code) & HEAVY == set()


def test_help_loads_no_package_that_a_bare_typer_program_does_not() -> None:
    ours = modules_after(OURS, "--help")
    packages = {name.partition(".")[0] for name in ours - modules_after(BARE, "--help")}
    assert packages - set(sys.stdlib_module_names) == {"lmprobe"}
    # A command's module is loaded when it is called.
    assert sum(name.startswith("lmprobe") for name in ours) <= 8


@pytest.mark.usefixtures("own_cache")
def test_a_command_with_cached_answers_loads_what_it_computes_with() -> None:
    lmprobe.probe("reference:amplified", "neutral", "labor", tasks=["nurse", "baker", "lawyer"])
    words = "run reference:amplified -t neutral -b winobias --task nurse,baker,lawyer --json"
    assert modules_after(OURS, *words.split()) & NOT_FOR_CACHED_ANSWERS == set()
