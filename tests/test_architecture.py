"""Imports only point up the list of DESIGN's modules; torch stays where it belongs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "lmprobe"

ORDER = [
    "errors",
    "progress",
    "figure",
    "registry",
    "resources",
    "atomic",
    "tables",
    "labels",
    "tally",
    "association",
    "templates",
    "models",
    "scorers",
    "scores",
    "sources",
    "corpus",
    "metrics",
    "intervals",
    "inference",
    "leakage",
    "baseline",
    "result_file",
    "result",
    "probe",
    "reproduce",
    "report",
    "integrations",
    "cli",
    "__main__",
]
MAY_USE_TORCH = {"models", "scorers", "leakage"}
HEAVY = {"torch", "transformers", "datasets", "tokenizers", "safetensors"}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_every_module_has_its_place(path: Path) -> None:
    assert layer(path) in ORDER


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_point_backwards(path: Path) -> None:
    used = {name.split(".")[1] for name in imports(path) if name.startswith("lmprobe.")}
    used -= {"__version__"}
    own = ORDER.index(layer(path))
    assert {name for name in used if ORDER.index(name) > own} == set()


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_models_scorers_and_leakage_use_torch(path: Path) -> None:
    used = {name.split(".")[0] for name in imports(path)} & {"torch", "transformers"}
    assert not used or layer(path) in MAY_USE_TORCH


@pytest.mark.parametrize(
    "code",
    ["import lmprobe", "from lmprobe.cli.main import app", "import lmprobe.metrics.directional"],
)
def test_start_up_loads_nothing_heavy(code: str) -> None:
    program = f"import sys; {code}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_the_command_line_starts_without_numpy() -> None:
    program = "import sys; from lmprobe.cli.main import app; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
