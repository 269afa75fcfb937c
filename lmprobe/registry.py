"""Finds an extension by name: built in, or installed through an entry point.

A built-in extension registers itself in the module, or in a module of the package, that is the
home of its kind, so adding one changes one file. An installed one (a plug-in) is an entry point
in the group `lmprobe.<kind>`. Each registry is defined beside the protocol of what it holds; all
of them are listed in `lmprobe.plugins`.
"""

from __future__ import annotations

import importlib
import pkgutil
import platform
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from typing import Any, Generic, TypeVar

from lmprobe import __version__
from lmprobe.errors import InputError, did_you_mean

T = TypeVar("T")

_loaded: dict[str, EntryPoint] = {}
"""The top-level packages of plug-ins that were loaded."""


class Registry(Generic[T]):
    """The extensions of one kind, such as the sources or the intervals."""

    def __init__(self, kind: str, home: str, removed: Mapping[str, str] | None = None) -> None:
        """Remember where to look; nothing is imported before the first question.

        `removed` names extensions of earlier versions, each with what replaces it.
        """
        self.kind = kind
        self.group = f"lmprobe.{kind}"
        self._home = home
        self._removed = removed or {}
        self._found: dict[str, T] = {}
        self._complete = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers its object under `name`."""

        def add(extension: T) -> T:
            if name in self._found and self._found[name] is not extension:
                raise InputError(f'two {self.kind} are called "{name}"; rename one of them')
            self._found[name] = extension
            return extension

        return add

    def names(self) -> tuple[str, ...]:
        """Return every known name, built-in and installed, in alphabetical order."""
        self._fill()
        return tuple(sorted({*self._found, *installed(self.group)}))

    def get(self, name: str) -> T:
        """Return the extension of that name, or say which names there are."""
        self._fill()
        if name in self._found:
            return self._found[name]
        plugins = installed(self.group)
        if name in plugins:
            self._found[name] = load_plugin(plugins[name])
            return self._found[name]
        self.refuse_removed(name)
        singular = self.kind.removesuffix("s").replace("_", " ")
        raise InputError(f'no {singular} called "{name}"; {did_you_mean(name, self.names())}')

    def refuse_removed(self, name: str) -> None:
        """Raise if the name is that of an extension that was removed, with its replacement."""
        if name in self._removed:
            singular = self.kind.removesuffix("s").replace("_", " ")
            raise InputError(f'the {singular} "{name}" was removed; use {self._removed[name]}')

    def description(self, name: str) -> str:
        """Return the first line of an extension's docstring."""
        lines = (self.get(name).__doc__ or "").strip().splitlines()
        return lines[0] if lines else ""

    def _fill(self) -> None:
        if self._complete:
            return
        home = importlib.import_module(self._home)
        for module in pkgutil.iter_modules(getattr(home, "__path__", ())):
            importlib.import_module(f"{self._home}.{module.name}")
        self._complete = True


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the plug-ins of a group by name; two packages with one name is an error."""
    plugins: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = plugins.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise InputError(
                f'{group.partition(".")[2]}: "{entry.name}" is in two packages, '
                f"{package_of(other)} and {package_of(entry)}; remove one of them"
            )
    return plugins


def load_plugin(entry: EntryPoint) -> Any:
    """Return what an entry point names, or say which package failed and how."""
    _loaded[entry.module.partition(".")[0]] = entry
    try:
        return entry.load()
    except Exception as problem:
        raise InputError(
            f'{entry.group.partition(".")[2]}: "{entry.name}" of the package {package_of(entry)} '
            f"cannot be loaded ({type(problem).__name__}: {problem}); fix or remove the package"
        ) from problem


def plugin_failure(problem: BaseException) -> str | None:
    """Return a line about the plug-in in which an exception was raised, None if in none.

    The innermost frame decides: what lmprobe or a library raises on behalf of a plug-in is
    attributed to the plug-in only if the plug-in called it.
    """
    frames = list(traceback.walk_tb(problem.__traceback__))
    for frame, line in reversed(frames):
        module = str(frame.f_globals.get("__name__", ""))
        entry = _loaded.get(module.partition(".")[0])
        if entry is not None:
            return (
                f"the plug-in {package_of(entry)} failed in {module}, line {line}: "
                f"{type(problem).__name__}: {problem}; report it to its authors"
            )
        if module.partition(".")[0] == "lmprobe":
            return None
    return None


def package_of(entry: EntryPoint) -> str:
    """Return the name of the package that an entry point belongs to."""
    return entry.dist.name if entry.dist else entry.module


_PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "pandas")


def versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """Return the versions of lmprobe, Python and the libraries, without importing any of them."""
    own = {"lmprobe": __version__, "python": platform.python_version()}
    return own | {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    # Once per process: reading it takes as long as counting a small table.
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
