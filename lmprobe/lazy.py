"""Loads the public names of a module when they are first used, each listed once.

The names are those that the module imports under `if TYPE_CHECKING`, where type checkers and
editors see them; reading them from there keeps `import lmprobe` quick and the list in one place.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(
    module: str, file: str, submodules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a module whose source is `file`."""
    homes = type_checking_imports(file)

    def load(name: str) -> Any:
        if name in submodules:
            return importlib.import_module(f"{module}.{name}")
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *homes})

    return load, names


def type_checking_imports(file: str) -> dict[str, str]:
    """Return the module that each name under `if TYPE_CHECKING` is imported from."""
    homes: dict[str, str] = {}
    for statement in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            for line in statement.body:
                if isinstance(line, ast.ImportFrom):
                    homes |= {alias.name: str(line.module) for alias in line.names}
    return homes
