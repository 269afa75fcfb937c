"""The versions of what decides the numbers, for the provenance of a result."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from lmprobe import __version__

_PACKAGES = ("torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "pandas")


def versions() -> dict[str, str]:
    """Return the versions of lmprobe, Python and the libraries, without importing any of them."""
    found = {"lmprobe": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
