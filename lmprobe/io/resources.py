"""Finds the data files that come with lmprobe: templates, lexicons, base-rate tables.

They lie at the top of a checkout (and so of an editable install) and inside the
package in a wheel; nothing else in lmprobe knows the difference.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from lmprobe import __version__
from lmprobe.errors import DataFileError, did_you_mean

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


_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Return the folder of that name, such as `templates` or `base_rates`."""
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise DataFileError(
        f'the folder "{name}" that belongs to lmprobe is missing beside {_PACKAGE}; '
        "install lmprobe again"
    )


def names(kind: str, suffix: str) -> tuple[str, ...]:
    """Return the names of the shipped files of a kind, without their suffix."""
    return tuple(sorted(path.stem for path in folder(kind).glob(f"*{suffix}")))


def find(name_or_path: str | Path, kind: str, suffix: str) -> Path:
    """Return the file that a name or a path means.

    A word without a suffix or a slash is the name of a shipped file; all else is a path.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and "/" not in text and not text.endswith(suffix):
        shipped = folder(kind) / f"{text}{suffix}"
        if shipped.is_file():
            return shipped
        if not Path(text).is_file():
            what = {"templates": "template set"}.get(kind, kind.rpartition("/")[2].rstrip("s"))
            raise DataFileError(
                f'no {what} called "{text}"; {did_you_mean(text, names(kind, suffix))}; '
                f"or give the path of a {suffix} file"
            )
    path = Path(text)
    if not path.is_file():
        raise DataFileError(f"{path}: no such file")
    return path
