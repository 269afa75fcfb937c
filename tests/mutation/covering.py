"""Which tests run which statements of the core, and how long each test takes.

Statements are known by their first line, so that a map stays useful while a file grows; the tests
of a file that has changed are run again.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.machinery
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutation.mutants import CORE, Mutant

HITS = "__statements_that_ran__"
"""A set among the built-in names, to which the statements of the core add themselves."""


def instrument(root: Path) -> None:
    """Let the modules of the core, which are not loaded yet, note the statements that run.

    A tracing function would be called for every line of every library.
    """
    prefixes = tuple(f"{root}/lmprobe/{package}/" for package in CORE)
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def noting(self: Any, name: str) -> CodeType:
        if self.path.startswith(prefixes):
            return _noting_code(Path(self.path), Path(self.path).relative_to(root))
        return get_code(self, name)

    setattr(builtins, HITS, set())
    loader.get_code = noting


def _noting_code(path: Path, name: Path) -> CodeType:
    source = path.read_text(encoding="utf-8")
    lines, tree = source.splitlines(), ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ast.walk(node):
                for block in ("body", "orelse", "finalbody"):
                    _note(part, block, lambda line: f"{name}: {lines[line - 1].strip()}")
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def _note(node: ast.AST, block: str, name: Callable[[int], str]) -> None:
    """Put a note in front of every statement of a block that has none."""
    statements = getattr(node, block, None)
    if not isinstance(statements, list) or getattr(node, f"{block}_noted", False):
        return
    noted: list[ast.stmt] = []
    for statement in statements:
        if not _is_docstring(statement):
            note = ast.parse(f"{HITS}.add({name(statement.lineno)!r})").body[0]
            noted.append(ast.copy_location(note, statement))
        noted.append(statement)
    setattr(node, block, noted)
    setattr(node, f"{block}_noted", True)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class Recorder:
    """A plug-in of pytest: the statements of the core that each test runs, with its fixtures."""

    def __init__(self) -> None:
        """Record nothing yet."""
        self._fixtures: dict[int, tuple[float, set[str]]] = {}
        self._left_out: set[str] = set()
        self._started_process = False
        sys.addaudithook(self._audit)
        self.found: dict[str, tuple[float, set[str]]] = {}

    def _audit(self, event: str, _: object) -> None:
        if event == "subprocess.Popen":
            self._started_process = True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Remember what a fixture runs: it serves more tests than the first."""
        begun = time.process_time()
        with _noted() as statements:
            made = yield
        self._fixtures[id(fixturedef)] = time.process_time() - begun, statements
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """Record one test from its fixtures to its end."""
        begun, self._started_process = time.process_time(), False
        with _noted() as statements:
            done = yield
        seconds = time.process_time() - begun
        info = getattr(item, "_fixtureinfo", None)
        for definitions in info.name2fixturedefs.values() if info else ():
            for definition in definitions:
                more, its_statements = self._fixtures.get(id(definition), (0.0, set()))
                # Tests of other files come between: it may have to be made again.
                seconds = max(seconds, more)
                statements |= its_statements
        # Another process would run the code as it is, and takes its time.
        if item.nodeid not in self._left_out and not self._started_process:
            self.found[item.nodeid] = seconds, statements
        return done

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Leave out a test that fails, or is skipped, without any change."""
        if report.outcome != "passed":
            self._left_out.add(report.nodeid)


@contextmanager
def _noted() -> Iterator[set[str]]:
    outer = getattr(builtins, HITS)
    inner: set[str] = set()
    setattr(builtins, HITS, inner)
    try:
        yield inner
    finally:
        outer |= inner
        setattr(builtins, HITS, outer)


@dataclass
class CoverageMap:
    """Of every test: the processor time it takes and the statements that it runs."""

    root: Path
    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The tests of a statement, by `path: first line`."""
    checksums: dict[str, str] = field(default_factory=dict)
    """Of each file of tests, what it was when its tests were recorded."""

    @classmethod
    def read(cls, root: Path, path: Path) -> CoverageMap:
        """Read what was recorded; a later record of a file replaces an earlier one."""
        records: dict[str, dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            records[record["file"]] = record
        found = cls(root)
        for record in records.values():
            found._add(record)
        return found

    def _add(self, record: dict[str, Any]) -> None:
        self.checksums[record["file"]] = record["sha256"]
        for test, (seconds, statements) in record["tests"].items():
            self.seconds[test] = seconds
            for number in statements:
                self.tests[record["statements"][number]].add(test)

    def is_known(self, file: str) -> bool:
        """Return whether the tests of this file were recorded as they are now."""
        return self.checksums.get(file) == checksum(self.root / file)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that may notice a mutant, the quickest first.

        Tests of the same package come before others that take up to eight times as long.
        """
        found = self.tests.get(f"{mutant.path}: {mutant.statement}", set())
        if not found:
            # A constant or a default is run by no test, but by the import of the module.
            module = f"{mutant.path}: "
            found = {
                test
                for name, tests in self.tests.items()
                for test in tests
                if name.startswith(module)
            }
        package, module = mutant.path.parts[1], mutant.path.stem
        if not found:
            # The module has no functions, only what others read from it.
            found = {test for test in self.seconds if f"/{package}/" in test}
        return sorted(found, key=lambda test: self._order(test, (f"/{package}/", module)))

    def _order(self, test: str, near: tuple[str, ...]) -> tuple[int, str]:
        """Put quick tests first; those of one file that take about as long share its fixtures."""
        bonus = 3 if any(word in test for word in near) else 0
        return math.ceil(math.log2(self.seconds[test] + 1e-3)) - bonus, test


def record_of(root: Path, file: str, found: dict[str, tuple[float, set[str]]]) -> str:
    """Return one line of the file of the map."""
    numbers: dict[str, int] = {}
    tests = {
        test: (
            round(seconds, 3),
            [numbers.setdefault(name, len(numbers)) for name in sorted(statements)],
        )
        for test, (seconds, statements) in found.items()
    }
    sha256 = checksum(root / file)
    return json.dumps({"file": file, "sha256": sha256, "statements": list(numbers), "tests": tests})


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
