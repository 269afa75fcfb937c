"""Puts the code of a mutant into a process in which the package is already loaded."""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


def inside_functions(original: CodeType, changed: CodeType) -> bool:
    """Return whether two modules differ in bodies of functions alone."""
    pairs = zip(_codes(original), _codes(changed), strict=True)
    return all(_own(old) == _own(new) for old, new in pairs if not _is_function(old))


Place = tuple[str, str, int]
"""Of a function: its file, its name and its first line."""


def functions_below(folder: Path) -> dict[Place, list[FunctionType]]:
    """Return the functions of these modules that live in this process, by place."""
    found: dict[Place, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # what is frozen is not listed
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename.startswith(str(folder)):
            found[_place(function.__code__)].append(function)
    assert found, "no function is found, so that nothing could be changed"
    return found


def replace_functions(
    functions: dict[Place, list[FunctionType]], original: CodeType, changed: CodeType
) -> None:
    """Give the functions of a module their changed code."""
    for old, new in zip(_codes(original), _codes(changed), strict=True):
        if _is_function(old) and old != new:
            for function in functions.get(_place(old), ()):
                function.__code__ = new


def import_changed(path: Path, changed: CodeType) -> None:
    """Let the next import of the module at `path` run the changed code."""
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def changed_or_not(self: Any, name: str) -> CodeType:
        return changed if self.path == str(path) else get_code(self, name)

    loader.get_code = changed_or_not


def compiled(path: Path, tree: ast.Module | None = None) -> CodeType:
    """Return the code of a module, as an import would make it."""
    return compile(tree or path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _own(code: CodeType) -> tuple[object, ...]:
    constants = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
    return code.co_code, constants


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)
