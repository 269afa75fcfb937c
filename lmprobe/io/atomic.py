"""Writes a file whole or not at all, and removes what a killed writer left."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lmprobe.errors import InputError

if sys.platform != "win32":
    import fcntl

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
