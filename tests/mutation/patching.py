"""Puts the code of a mutant into a process in which the package is already loaded."""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


def inside_functions(original: CodeType, changed: CodeType) -> bool:
    """Return whether two modules differ in bodies of functions alone."""
    pairs = zip(_codes(original), _codes(changed), strict=True)
    return all(_own(old) == _own(new) for old, new in pairs if not _is_function(old))


def replace_functions(original: CodeType, changed: CodeType) -> int:
    """Give every function that lives in this process its changed code; return how many."""
    pairs = zip(_codes(original), _codes(changed), strict=True)
    new_code = {_place(old): new for old, new in pairs if _is_function(old) and old != new}
    count = 0
    for function in gc.get_objects():
        if type(function) is FunctionType and (code := new_code.get(_place(function.__code__))):
            function.__code__ = code
            count += 1
    return count


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


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)
