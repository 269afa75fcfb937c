"""Which test files are nearest to a module, by what imports what."""

from __future__ import annotations

import ast
from collections import deque
from pathlib import Path

MOST_FILES = 12
"""A module that everything uses is given to so many test files."""


class Nearness:
    """The graph of imports of a repository."""

    def __init__(self, root: Path) -> None:
        """Read every module of the package and every test file."""
        self._root = root
        modules = sorted((root / "lmprobe").rglob("*.py"))
        self._names = {_module(root, path): path for path in modules}
        self._uses = {path: self._imported(path) for path in modules}
        tests = sorted((root / "tests").rglob("test_*.py"))
        outside = ("browser", "real", "faults", "fuzz")
        self._tests = [path for path in tests if path.relative_to(root).parts[1] not in outside]
        self._distances = {path: self._reached(path) for path in self._tests}

    def tests_of(self, module: Path) -> list[str]:
        """Return the test files to run for a module, nearest first."""
        path = self._root / module
        package = module.parts[1]
        reached = []
        for test, found in self._distances.items():
            name = test.relative_to(self._root)
            mirrored = package in name.parts
            if path in found or mirrored:
                # What a registry loads by name is imported nowhere, but tested in its folder.
                far = found.get(path, 2) + 0.5 * (not mirrored)
                far += 0.1 * (module.stem not in name.stem)
                reached.append((far, len(found), str(name)))
        return [name for _, _, name in sorted(reached)[:MOST_FILES]]

    def _reached(self, test: Path) -> dict[Path, int]:
        """Return every module that a test reaches, with how many imports lie between."""
        found: dict[Path, int] = {}
        waiting = deque((path, 1) for path in self._imported(test))
        while waiting:
            path, distance = waiting.popleft()
            if path not in found:
                found[path] = distance
                waiting.extend((used, distance + 1) for used in self._uses[path])
        return found

    def _imported(self, path: Path) -> list[Path]:
        found = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                found += [f"{node.module}.{name.name}" for name in node.names]
                found.append(node.module)
        return [self._names[name] for name in dict.fromkeys(found) if name in self._names]


def _module(root: Path, path: Path) -> str:
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    return name.removesuffix(".__init__")
