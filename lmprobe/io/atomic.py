"""Writes a file whole or not at all, and removes what a killed writer left."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import platformdirs

from lmprobe.errors import DataFileError, InputError
from lmprobe.io.documents import parse_json

if sys.platform != "win32":
    import fcntl

_NAME = "lmprobe"


def cache_folder() -> Path:
    """Return where scores are kept: $LMPROBE_CACHE, or the platform's folder for caches."""
    return _from_environment("LMPROBE_CACHE") or platformdirs.user_cache_path(_NAME, False)


def base_rates_folder() -> Path:
    """Return the folder of the user's own named tables.

    It is $LMPROBE_BASE_RATES, or `base_rates` in the platform's folder for the data of programs.
    """
    folder = _from_environment("LMPROBE_BASE_RATES")
    return folder or platformdirs.user_data_path(_NAME, False) / "base_rates"


def _from_environment(variable: str) -> Path | None:
    folder = os.environ.get(variable)
    return Path(folder).expanduser() if folder else None


def seal(content: Mapping[str, Any], name: str = "") -> str:
    """Return the text of a file: a checksum of the content and of the name, then the content."""
    return json.dumps({"sha256": _checksum(content, name), **content})


def unseal(text: str, name: str = "") -> dict[str, Any] | None:
    """Return what was sealed under this name, None if it was changed or never was sealed.

    >>> unseal(seal({"a": 1}, "x"), "x")
    {'a': 1}
    >>> unseal(seal({"a": 1}, "x"), "y")
    """
    try:
        content = parse_json(text)
        if content.pop("sha256") != _checksum(content, name):
            return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(content)


def _checksum(content: Mapping[str, Any], name: str) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any], name: str = "") -> None:
    """Write a document with its checksum, whole or not at all."""
    write_text(path, seal(content, name))


def read_sealed(path: Path, name: str = "", *, strict: bool = False) -> dict[str, Any] | None:
    """Return what `write_sealed` wrote under this name; None if it is missing or was changed.

    A file that cannot be read counts as missing, or with `strict` is a `DataFileError`.
    """
    try:
        return unseal(path.read_text(encoding="utf-8", errors="replace"), name)
    except OSError as problem:
        if strict:
            raise DataFileError(f"{path}: {problem.strerror}") from None
        return None


# What the names of temporary files end in; a file of anybody else does not.
_SUFFIX = ".lmprobe-tmp"


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file beside `path` that takes its place when the block succeeds.

    A reader sees the old file or the new one, never half of one; on an error the
    temporary file is removed and the old file stays. An error of the disk is an `InputError`.
    """
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent)
        with _temporary(target) as temporary:
            yield temporary
            # mkstemp makes files that only their owner reads; a report is for everybody.
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
    except OSError as problem:
        raise InputError(f"cannot write {target}: {problem.strerror or problem}") from problem


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Give a new file that is locked until this process is done with it, or gone."""
    exists = False
    while not exists:
        handle, name = tempfile.mkstemp(_SUFFIX, f".{target.name}.", target.parent)
        # Before it was locked, another process may have removed it as a leftover.
        _lock(handle, wait=True)
        exists = os.fstat(handle).st_nlink > 0
        if not exists:
            os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
        os.close(handle)


def remove_leftovers(folder: Path) -> list[int]:
    """Remove temporary files whose writer was killed; return their sizes."""
    sizes = []
    for path in folder.glob(f".*{_SUFFIX}"):
        with suppress(OSError), path.open("rb+") as stream:
            if _lock(stream.fileno(), wait=False):
                size = path.stat().st_size
                path.unlink()
                sizes.append(size)
    return sizes


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file; where the system has no locks, no file counts as a leftover."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_text(path: str | Path, text: str) -> Path:
    """Write `text` to `path` in UTF-8, whole or not at all."""
    return write_bytes(path, text.encode())


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path`, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return Path(path)


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files in UTF-8; none takes its place before all are on the disk."""
    with ExitStack() as stack:
        for path, text in texts.items():
            stack.enter_context(replacing(path)).write_bytes(text.encode())
