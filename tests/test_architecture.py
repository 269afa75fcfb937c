"""Imports only point up the list of DESIGN's modules; torch stays where it belongs."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "lmprobe"

ORDER = [
    "lazy",
    "errors",
    "registry",
    "io",
    "metrics",
    "results",
    "report",
    "stats",
    "templates",
    "models",
    "sources",
    "probing",
    "leakage",
    "tabular",
    "sweeping",
    "reproduce",
    "integrations",
    "plugins",
    "cli",
    "__main__",
]
MAY_USE_TORCH = {"models", "leakage", "integrations"}
# These only name what others define, and load it when it is asked for.
FACADES = {ROOT / "__init__.py", ROOT / "plugins.py", ROOT / "vision.py"}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path not in FACADES)


def layer(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    result = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            result |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            result |= {f"{node.module}.{name.name}" for name in node.names}
    return result


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_module_has_its_place() -> None:
    assert {layer(path) for path in MODULES} <= {*ORDER}


def test_imports_point_backwards() -> None:
    for path in MODULES:
        used = {name.split(".")[1] for name in imports(path) if name.startswith("lmprobe.")}
        used -= {"__version__"}
        if path == ROOT / "results" / "result.py":
            # `Result.to_html` and the like call the renderers, which are loaded when called.
            used -= {"report"}
        own = ORDER.index(layer(path))
        assert {name for name in used if ORDER.index(name) > own} == set(), named(path)


def test_only_models_leakage_and_integrations_use_torch() -> None:
    for path in MODULES:
        used = {name.split(".")[0] for name in imports(path)} & {"torch", "transformers"}
        assert not used or layer(path) in MAY_USE_TORCH, named(path)


SCRIPTS = sorted([*ROOT.parent.glob("benchmarks/**/*.py"), *ROOT.parent.glob("docs/*.py")])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_import_what_there_is(path: Path) -> None:
    """Benchmarks run by hand only: a name that moved would be noticed too late."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lmprobe"):
            module = importlib.import_module(str(node.module))
            for name in (item.name for item in node.names):
                if not hasattr(module, name):
                    importlib.import_module(f"{node.module}.{name}")
