"""The versions of what decides the numbers, for the provenance of a result."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from lmprobe import __version__

_PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "pandas")


def versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """Return the versions of lmprobe, Python and the libraries, without importing any of them."""
    known = {"lmprobe": __version__, "python": platform.python_version()}
    return known | {name: _version(name) for name in packages}


@cache
def _version(package: str) -> str:
    # Once per process: reading it takes as long as counting a small table.
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
