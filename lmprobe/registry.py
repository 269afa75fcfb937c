"""Finds an extension by name: built in, or installed through an entry point.

A built-in extension is a module of its kind's package that registers itself, so adding
one is adding a file. An installed one is an entry point in the group `lmprobe.<kind>`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from lmprobe.errors import InputError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """The extensions of one kind, such as the sources or the intervals."""

    def __init__(self, kind: str, package: str) -> None:
        """Remember where to look; nothing is imported before the first question."""
        self.kind = kind
        self.group = f"lmprobe.{kind}"
        self._package = package
        self._found: dict[str, T] = {}
        self._complete = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files its object under `name`."""

        def file(extension: T) -> T:
            if name in self._found and self._found[name] is not extension:
                raise InputError(f'two {self.kind} are called "{name}"; rename one of them')
            self._found[name] = extension
            return extension

        return file

    def names(self) -> tuple[str, ...]:
        """Return every known name, built-in and installed, in alphabetical order."""
        self._fill()
        return tuple(sorted({*self._found, *self._installed()}))

    def get(self, name: str) -> T:
        """Return the extension of that name, or say which names there are."""
        self._fill()
        if name in self._found:
            return self._found[name]
        installed = self._installed()
        if name in installed:
            self._found[name] = self._loaded(installed[name])
            return self._found[name]
        one = self.kind.removesuffix("s")
        raise InputError(f'no {one} called "{name}"; {did_you_mean(name, self.names())}')

    def _loaded(self, entry: importlib.metadata.EntryPoint) -> T:
        try:
            found: T = entry.load()
        except Exception as problem:
            package = f" of the package {entry.dist.name}" if entry.dist else ""
            raise InputError(
                f'{self.kind}: "{entry.name}"{package} cannot be loaded '
                f"({type(problem).__name__}: {problem}); mend or remove the package"
            ) from problem
        return found

    def _fill(self) -> None:
        if self._complete:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self._package}.{module.name}")
        self._complete = True

    def _installed(self) -> dict[str, importlib.metadata.EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}
